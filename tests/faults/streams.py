"""A full disk, limits, pipes, standard streams that are closed; what failed on standard output is no checkpoint."""

import contextlib
import errno
import gzip
import io
import os
import subprocess
import zipfile

from driver import BASE, Case, Trouble, read_log

# Runs on a RAM disk of its own, which goes with the process: ROOM in KiB, the old target's file, ckpt and its words.
FULL_DISK = """
mount -t tmpfs -o size="$1"k,mode=755 none "$2" || exit 77
cp "$3" "$2/target" || exit 78
shift 3
ulimit -c 0
"$@"
status=$?
cmp -s "$OLD" "$0/target" && echo old; cmp -s "$NEW" "$0/target" && echo new
ls -A "$0"
exit $status
"""


def plain(program, args, **more):
    """A run without the interposer."""
    done = subprocess.run(
        [program.ckpt, *map(str, args)],
        env=environment(),
        capture_output="stdout" not in more,
        timeout=60,
        check=False,
        **more,
    )
    return done


def environment(**more):
    return {**BASE, **more}


def full_disk(suite, program, files, folders, named=False):
    name = "a full disk" + (", by a named temporary" if named else "")
    with folders.temporary() as folder:
        (folder / "disk").mkdir()
        source, old, new = files / "large.pt", files / "small.pt", folder / "new.pt"
        plain(program, ["convert", source, new])
        trouble, seen = Trouble(), {0: 0, 6: 0}
        extra = {"LD_PRELOAD": program.interposer, "CKPT_FAULTS": "tmpfile:1+:fail=95"} if named else {}
        for room in [8, 12, 16, 64, 256, 512, *range(580, 620, 4), 700]:
            words = [
                "unshare",
                "-rm",
                "sh",
                "-c",
                FULL_DISK,
                folder / "disk",
                room,
                folder / "disk",
                old,
                "env",
                *(f"{key}={value}" for key, value in extra.items()),
                program.ckpt,
                "convert",
                source,
                folder / "disk/target",
            ]
            done = subprocess.run(
                [str(word) for word in words],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
                env=environment(OLD=str(old), NEW=str(new)),
            )
            if done.returncode == 77 or "unshare" in done.stderr:
                return suite.skip(name, f"no small RAM disk can be mounted: {done.stderr.strip()}")
            program.count("disks filled")
            expected = ["new", "target"] if done.returncode == 0 else ["old", "target"]
            said = done.returncode == 0 or "cannot write: No space left on device" in done.stderr
            if done.returncode not in seen or done.stdout.split("\n")[-3:-1] != expected or not said:
                trouble.add(f"with {room} KiB: status {done.returncode}\n{done.stdout}{done.stderr}")
            seen[done.returncode] = seen.get(done.returncode, 0) + 1
        if not seen[0] or not seen[6]:
            trouble.add(f"both ends should occur: {seen}")
        return suite.check(name, not trouble.found, trouble)


def size_limit(suite, program, scenario, folders):
    """`ulimit -f`: the signal that comes with it must not end the process half-way."""
    with folders.temporary() as folder:
        case = Case(program, scenario, folder / "case")
        case.dry_run()
        case.reset()
        done = subprocess.run(
            ["sh", "-c", 'ulimit -f 8; exec "$0" "$@"', program.ckpt, *map(str, case.args)],
            env=environment(TMPDIR=str(case.folder / "tmp")),
            capture_output=True,
            text=True,
            check=False,
        )
        good = done.returncode == 6 and case.state() == ("old", []) and "cannot write: File too large" in done.stderr
        suite.check("a limit on the size of files", good, f"{done} {case.state()}")


def closing_fails(program, args, folder):
    """A run at whose end standard output is closed, which fails with EIO."""
    preloaded = environment(LD_PRELOAD=program.interposer, CKPT_FAULTS="finish:1:fail=5")
    words = [str(word) for word in (program.ckpt, *args)]
    with open(folder / "output", "wb") as out:
        return subprocess.run(words, env=preloaded, stdout=out, stderr=subprocess.PIPE, timeout=60, check=False)


def standard_streams(suite, program, files, folders):
    source = files / "small.pt"
    with folders.temporary() as folder:
        whole = plain(program, ["convert", source, "-"])
        suite.check("whole on standard output", whole.returncode == 0 and whole.stdout, str(whole))

        read_end, write_end = os.pipe()
        os.close(read_end)
        done = plain(program, ["convert", source, "-"], stdout=write_end, stderr=subprocess.PIPE)
        suite.check("a pipe whose reader has gone", done.returncode == 6 and b"Broken pipe" in done.stderr, str(done))
        done = plain(program, ["inspect", source], stdout=write_end, stderr=subprocess.PIPE)
        suite.check("inspect | head says nothing", done.returncode == 6 and not done.stderr, str(done))
        os.close(write_end)

        with open("/dev/full", "wb") as full:
            for words in (
                ["convert", source, "-"],
                ["inspect", source],
                ["inspect", "--json", source],
                ["verify", source],
                ["digest", source],
                ["formats"],
                ["--help"],
                ["--version"],
            ):
                done = plain(program, words, stdout=full, stderr=subprocess.PIPE)
                good = done.returncode == 6 and b"standard output: " in done.stderr and b"No space left" in done.stderr
                suite.check(f"{words[0]} to a full device", good, str(done))

        for words in (["convert", source, "-"], ["inspect", source]):
            failed = closing_fails(program, words, folder)
            good = failed.returncode == 6 and b"ckpt: standard output: Input/output error" in failed.stderr
            suite.check(f"{words[0]}: standard output that fails when it is closed", good, str(failed))

        target = folder / "target.pt"
        for redirection, status, words in (
            (">&-", 6, ["convert", source, "-"]),
            (">&-", 6, ["inspect", source]),
            ("<&-", 3, ["convert", "-", target]),
            (f"<{folder}", 3, ["convert", "-", target]),
            ("</dev/null", 3, ["convert", "-", target]),
        ):
            done = redirected(program, words, redirection)
            said = done.returncode == 6 or done.stderr.startswith(b"ckpt: standard input: ")
            suite.check(
                f"{words[0]} {redirection.replace(str(folder), 'FOLDER')}",
                done.returncode == status and said and not target.exists(),
                str(done),
            )
        closed_streams(suite, program, source, target)
        waiting_input(suite, program, source, whole.stdout, folder)
        waiting_output(suite, program)
        failing_waits(suite, program, source)


def redirected(program, words, redirection, **more):
    return subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {redirection}', program.ckpt, *map(str, words)],
        env=environment(**more),
        capture_output=True,
        timeout=60,
        check=False,
    )


def closed_streams(suite, program, source, target):
    """What is said must not land in a file that got a standard stream's number."""
    for with_null in (True, False):
        for redirection in (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            # The first open of each closed stream is of /dev/null.
            first_opens = range(1, 2 * redirection.count("&-"), 2)
            faults = "" if with_null else ",".join(f"open:{n}:fail={errno.ENOENT}" for n in first_opens)
            # A prefix without a dot and a key without it: a warning and a note, one before and one after the writing.
            words = ["convert", source, target, "--strip-prefix=mod"]
            plain_run = plain(program, words)
            wanted = target.read_bytes()
            target.unlink()
            more = {"LD_PRELOAD": program.interposer, "CKPT_FAULTS": faults} if faults else {}
            done = redirected(program, words, redirection, **more)
            content = target.read_bytes() if target.exists() else None
            target.unlink(missing_ok=True)
            where = " where there is no /dev/null" if faults else ""
            suite.check(
                f"convert {redirection}{where}",
                plain_run.returncode == 0 and content == wanted,
                f"{done}\n{content and len(content)} bytes, expected {len(wanted)}",
            )


def waiting_input(suite, program, source, expected, folder):
    """A standard input that is non-blocking and slow is waited for."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    process = subprocess.Popen(
        [program.ckpt, "convert", "-", "-"],
        stdin=read_end,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(TMPDIR=str(folder)),
    )
    os.close(read_end)
    data = source.read_bytes()
    try:
        for at in range(0, len(data), 512):
            os.write(write_end, data[at : at + 512])
            os.sched_yield()
    except BrokenPipeError:
        pass
    os.close(write_end)
    out, err = process.communicate(timeout=60)
    suite.check("a slow, non-blocking standard input", process.returncode == 0 and out == expected, err.decode())


def waiting_output(suite, program):
    """A standard output that is non-blocking and slow gets all of what is printed."""
    words = ["scan", "--help"]
    whole = plain(program, words).stdout
    read_end, write_end = os.pipe()
    fill(write_end)
    process = subprocess.Popen([program.ckpt, *words], stdout=write_end, stderr=subprocess.PIPE, env=environment())
    os.close(write_end)
    got = b""
    while part := os.read(read_end, 256):
        got += part
    os.close(read_end)
    _, err = process.communicate(timeout=60)
    suite.check("a slow, non-blocking standard output", process.returncode == 0 and got.lstrip(b"x") == whole, err.decode())


def fill(pipe):
    os.set_blocking(pipe, False)
    with contextlib.suppress(BlockingIOError):  # when it is full
        while True:
            os.write(pipe, b"x" * 512)


def failing_waits(suite, program, source):
    """A wait for such a stream that fails is told, not tried for ever."""
    preloaded = environment(LD_PRELOAD=program.interposer, CKPT_FAULTS=f"poll:1:fail={errno.ENOMEM}")
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    done = subprocess.run([program.ckpt, "verify", "-"], stdin=read_end, capture_output=True, env=preloaded, timeout=60)
    said = done.returncode == 3 and done.stderr.startswith(b"ckpt: standard input: cannot read: Cannot allocate memory")
    suite.check("a wait for standard input that fails", said, done)
    fill(write_end)
    for words in (["convert", source, "-"], ["scan", "--help"]):
        done = subprocess.run([program.ckpt, *words], stdout=write_end, stderr=subprocess.PIPE, env=preloaded, timeout=60)
        said = done.returncode == 6 and b"ckpt: standard output: " in done.stderr and b"Cannot allocate memory" in done.stderr
        suite.check(f"{words[0]}: a wait for standard output that fails", said, done)
    os.close(read_end)
    os.close(write_end)


def is_checkpoint(data):
    """Whether Python would take it for a whole archive."""
    try:
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.testzip() is None
    except (OSError, EOFError, zipfile.BadZipFile):
        return False


def failing_output(suite, program, files, folders, source, options):
    """What stands on standard output after a failure is taken for a checkpoint by nobody."""
    name = f"convert {source} - {' '.join(options)}".rstrip()
    with folders.temporary() as folder:
        trouble, data = Trouble(), (files / source).read_bytes()
        (folder / "in").write_bytes(data)
        (folder / "tmp").mkdir()
        args = ["convert", folder / "in", "-", *options, "--no-sandbox"]  # the process itself shrinks its input
        whole = program.run(args, folder, log=folder / "log")
        legacy = "legacy" in source
        if whole.status != 0 or not (legacy or is_checkpoint(whole.out)):
            trouble.add("the stream without faults is no archive", whole)
        calls, _ = read_log(folder / "log")
        for call in (call for call in calls if call.kind in ("write", "pread")):
            for action in ("fail=5", "kill") if call.kind == "write" else ("fail=5", "shrink", "kill"):
                (folder / "in").write_bytes(data)
                outcome = program.run(args, folder, f"{call.kind}:{call.number}:{action}")
                program.count("outputs broken off on standard output")
                what = f"{call.kind} {call.number} {action}"
                expected = -9 if action == "kill" else 6 if call.kind == "write" else 3
                (folder / "part").write_bytes(outcome.out)
                if outcome.status != expected:
                    trouble.add(f"{what}: status {outcome.status}, expected {expected}", outcome)
                if outcome.out and (not legacy and is_checkpoint(outcome.out)):
                    trouble.add(f"{what}: {len(outcome.out)} of {len(whole.out)} bytes pass for a whole archive")
                if plain(program, ["verify", folder / "part"]).returncode == 0:
                    trouble.add(f"{what}: {len(outcome.out)} of {len(whole.out)} bytes pass verify")
        suite.check(name, not trouble.found, trouble)


def quiet(suite, program, files, folders):
    """--quiet says nothing where all is well, and everything where it is not."""
    source = files / "small.pt"
    with folders.temporary() as folder:
        for words in (
            ["--quiet", "convert", source, folder / "out"],
            ["convert", source, folder / "out", "--quiet"],
            ["convert", "-", "-", "--quiet"],
            ["--quiet", "convert", source, "-"],
        ):
            done = plain(program, words, stdin=open(source, "rb"))
            to_stream = words[-1] == "-" or words[2] == "-"
            good = done.returncode == 0 and not done.stderr and bool(done.stdout) == to_stream
            suite.check(f"{' '.join(map(str, words)).replace(str(folder), '')}", good, str(done)[:600])
        with open("/dev/full", "wb") as full:
            done = plain(program, ["--quiet", "convert", source, "-"], stdout=full, stderr=subprocess.PIPE)
        suite.check(
            "--quiet tells a failure",
            done.returncode == 6 and done.stderr.startswith(b"ckpt: standard output"),
            str(done),
        )
