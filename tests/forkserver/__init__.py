"""Runs a program many times for what main() takes: it is loaded and linked once. forkserver.cpp is the other side."""

import atexit
import os
import selectors
import signal
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

MOST_WORDS, MOST_BYTES = 1000, 64 * 1024  # of arguments: a part of what the server takes
PIPE = 64 * 1024  # bytes that a pipe holds before anyone reads


def library_of(program):
    """What is preloaded; None where that is not built."""
    path = Path(program).resolve().parent.parent / "lib/libckpt_forkserver.so"
    return path if path.exists() else None


def takes(args):
    """Whether a request has room for them."""
    return len(args) <= MOST_WORDS and sum(map(len, args)) <= MOST_BYTES


class ForkServer:
    """A program that waits before its main(), with what was in `environment` read until there. One run at a time."""

    def __init__(self, program, library, environment, preload=()):
        self._socket, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            variables = {"LD_PRELOAD": ":".join(map(str, [*preload, library])), "CKPT_FORK_SERVER": str(its.fileno())}
            self._process = subprocess.Popen([str(program)], env={**environment, **variables}, pass_fds=[its.fileno()],
                                             stdin=subprocess.DEVNULL)
        self._program = str(program)

    def start(self, args, environment, descriptors, cwd=None, memory=None):
        """Starts main() with these arguments, environment and three descriptors. Returns the number of the process."""
        strings = [cwd or os.getcwd(), self._program, *args, *(f"{name}={value}" for name, value in environment.items())]
        header = struct.pack("=QII", memory or 0, 1 + len(args), len(environment))
        socket.send_fds(self._socket, [header + b"".join(os.fsencode(text) + b"\0" for text in strings)], descriptors)
        return self._answer()

    def wait(self):
        """The exit status of what was started last; negative: the signal that ended it."""
        self._socket.send(b"w")
        return os.waitstatus_to_exitcode(self._answer())

    def end(self):
        """What it and its runs took is then counted as this process's children's."""
        self._socket.close()
        self._process.wait()

    def _answer(self):
        answer = self._socket.recv(8)
        if len(answer) != 8:
            raise RuntimeError(f"the fork server of {self._program} has ended: exit {self._process.wait()}")
        return struct.unpack("=q", answer)[0]


_of_thread = threading.local()


def of_thread(program, environment, preload=()):
    """This thread's server of a program; None where there can be none."""
    known = _of_thread.__dict__.setdefault("servers", {})
    key = (str(program), tuple(map(str, preload)), tuple(sorted(environment.items())))
    if key not in known:
        library = library_of(program)
        known[key] = library and ForkServer(program, library, environment, preload)
        if library:
            atexit.register(known[key].end)
    return known[key]


def run(server, args, environment, stdin=b"", cwd=None, memory=None, timeout=None):
    """As subprocess.run(capture_output=True): exit status, both outputs. Raises subprocess.TimeoutExpired."""
    (given, to_given), (from_out, out), (from_err, err) = os.pipe(), os.pipe(), os.pipe()
    try:
        process = server.start(args, environment, [given, out, err], cwd, memory)
    finally:
        for descriptor in (given, out, err):
            os.close(descriptor)
    said = {from_out: bytearray(), from_err: bytearray()}
    is_late = not _talk(to_given, memoryview(stdin), said, timeout)
    if is_late:
        os.kill(process, signal.SIGKILL)
    status = server.wait()
    out, err = (bytes(text) for text in said.values())
    if is_late:
        raise subprocess.TimeoutExpired(args, timeout, out, err)
    return status, out, err


def _talk(to_given, stdin, said, timeout):
    """Gives the input and takes the outputs to their ends. False where that takes too long. Closes all."""
    deadline = time.monotonic() + timeout if timeout else None
    with selectors.PollSelector() as waiting:
        for descriptor in said:
            waiting.register(descriptor, selectors.EVENT_READ)
        os.set_blocking(to_given, False)
        waiting.register(to_given, selectors.EVENT_WRITE)
        is_late = False
        while waiting.get_map() and not is_late:
            ready = waiting.select(deadline and max(0, deadline - time.monotonic()))
            is_late = not ready
            for key, _ in ready:
                if key.fd == to_given:
                    try:
                        stdin = stdin[os.write(to_given, stdin) if stdin else 0 :]
                    except BrokenPipeError:
                        stdin = stdin[:0]
                    is_done = not stdin
                else:
                    part = os.read(key.fd, PIPE)
                    said[key.fd] += part
                    is_done = not part
                if is_done:
                    waiting.unregister(key.fd)
                    os.close(key.fd)
        for descriptor in list(waiting.get_map()):
            os.close(descriptor)
    return not is_late
