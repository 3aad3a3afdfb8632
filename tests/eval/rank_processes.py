"""Several processes of `ckpt eval` at once, each a rank, and how each of them ends."""

import random
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta

import torch
from harness import environment

HANGS = 120  # seconds that no run of these needs; whoever takes them hangs
BOUND = 30  # seconds after which a run must have ended that has lost a rank


def free_port():
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return one.getsockname()[1]


class Ended:
    """How one rank ended, as harness.Result says it."""

    def __init__(self, process):
        self.process, self.ended = process, None
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        try:
            self.out, said = self.process.communicate(timeout=HANGS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.out, said = self.process.communicate()
            said += b"\n(it hung)"
        self.ended = time.monotonic()
        self.code, self.err = self.process.returncode, said.decode("utf-8", "backslashreplace")

    def wait(self):
        self._reader.join()
        return self

    @property
    def text(self):
        return self.out.decode("utf-8", "backslashreplace")

    def __str__(self):
        return f"exit {self.code}\n{self.text[:1500]}{self.err}"


class World:
    """Processes of `ckpt eval` that know of each other by variables alone."""

    def __init__(self, t, size, *args, slurm=False, others=None):
        """`others`: arguments by rank, in place of `args`."""
        self.port, self.size, self.ranks = free_port(), size, []
        job = random.randrange(1 << 30)
        for rank in range(size):
            variables = {"RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "localhost", "MASTER_PORT": self.port}
            if slurm:
                variables = {"SLURM_PROCID": rank, "SLURM_STEP_NUM_TASKS": size, "SLURM_LOCALID": rank,
                             "SLURM_STEP_NODELIST": "localhost", "SLURM_JOB_ID": job}  # fmt: skip
            words = (others or {}).get(rank, args)
            if words is None:
                continue
            process = subprocess.Popen(
                [t.ckpt.path, "eval", *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, env=environment(**{k: str(v) for k, v in variables.items()}))  # fmt: skip
            self.ranks.append(Ended(process))

    def wait(self):
        return [rank.wait() for rank in self.ranks]

    def met(self):
        """Waits until every rank has joined."""
        store = torch.distributed.TCPStore("localhost", self.port, is_master=False, timeout=timedelta(seconds=BOUND))
        joined = torch.distributed.PrefixStore("ckpt/0", store)
        limit = time.monotonic() + BOUND
        # A beat that another rank has only asked after is there too, and 0.
        while any(joined.add(f"beat/{rank}", 0) == 0 for rank in range(self.size)):
            if time.monotonic() > limit:
                raise TimeoutError("the ranks did not meet")
            time.sleep(0.02)


def torchrun(t, size, *args):
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(size), "--master-port", str(free_port()),
         "--no-python", t.ckpt.path, "eval", *map(str, args)],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=HANGS, env=environment(), check=False)  # fmt: skip
    done.code, done.out = done.returncode, done.stdout
    done.text, done.err = (data.decode("utf-8", "backslashreplace") for data in (done.stdout, done.stderr))
    return done
