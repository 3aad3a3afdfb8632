"""Where input and output stand: the same file by every name, links, folders that refuse; modes and owners; others who
write the same target."""

import itertools
import os
import random
import stat
import subprocess
from collections import Counter

from driver import NAMED, Trouble, read_log
from streams import environment, plain

NOBODY = 65534


def temporaries(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def same_file(suite, program, files, folders):
    """IN and OUT are one file, by whatever name: it is replaced, whole, and where it is a link, it stays one."""
    source = files / "large.pt"
    with folders.temporary() as folder:
        wanted = folder / "wanted.pt"
        plain(program, ["strip-prefix", source, wanted])

        def names(place):
            (place / "inner").mkdir()
            (place / "model.pt").write_bytes(source.read_bytes())
            (place / "link").symlink_to("model.pt")
            (place / "absolute").symlink_to(place / "model.pt")
            (place / "chain").symlink_to("inner/middle")
            (place / "inner/middle").symlink_to("../link")
            (place / "by-folder").symlink_to("inner/..")
            os.link(place / "model.pt", place / "hard")
            return {
                "its name": ("model.pt", "model.pt"),
                "another spelling": ("model.pt", "inner/../model.pt"),
                "a doubled slash": ("./model.pt", ".//model.pt"),
                "its absolute name": ("model.pt", place / "model.pt"),
                "a symbolic link as OUT": ("model.pt", "link"),
                "a symbolic link as IN": ("link", "model.pt"),
                "a link on both sides": ("link", "absolute"),
                "a chain of links": ("model.pt", "chain"),
                "a folder that is a link": ("model.pt", "by-folder/model.pt"),
                "--in-place": ("model.pt", None),
                "--in-place by a link": ("link", None),
                "--in-place by a chain": ("chain", None),
            }

        first = folder / "first"
        first.mkdir()
        for title in [*names(first), "a hard link as OUT", "--in-place, with a hard link beside it"]:
            place = folder / str(abs(hash(title)))
            place.mkdir()
            pairs = names(place)
            pairs["a hard link as OUT"] = ("model.pt", "hard")
            pairs["--in-place, with a hard link beside it"] = ("model.pt", None)
            given, out = pairs[title]
            links = {path for path in place.rglob("*") if path.is_symlink()}
            words = ["strip-prefix", given, out] if out else ["strip-prefix", "--in-place", given]
            done = plain(program, words, cwd=place)
            changed, kept = ("hard", "model.pt") if out == "hard" else ("model.pt", "hard")
            good = (
                done.returncode == 0
                and (place / changed).read_bytes() == wanted.read_bytes()
                and (place / kept).read_bytes() == source.read_bytes()
                and not temporaries(place)
                and links == {path for path in place.rglob("*") if path.is_symlink()}
            )
            suite.check(f"one file by {title}", good, str(done))


def bad_places(suite, program, files, folders):
    """Targets that cannot be: status 6, a message that names OUT, and nothing made or changed."""
    source = files / "small.pt"
    with folders.temporary() as folder:
        (folder / "loop").symlink_to("pool")
        (folder / "pool").symlink_to("loop")
        (folder / "folder").mkdir()
        (folder / "to-folder").symlink_to("folder")
        (folder / "file").write_bytes(b"here")
        (folder / "dangling-far").symlink_to("absent/target.pt")
        os.mkfifo(folder / "fifo")
        for out, reason in (
            ("loop", "Too many levels of symbolic links"),
            ("folder", "Is a directory"),
            ("to-folder", "Is a directory"),
            ("file/target.pt", "Not a directory"),
            ("absent/target.pt", "No such file or directory"),
            ("folder/", "Is a directory"),
            ("dangling-far", "No such file or directory"),
            ("fifo", "is a device, a pipe or a socket"),
            ("new/", "Is a directory"),
            ("x" * 300, "File name too long"),
            ("/dev/full", "is a device"),
        ):
            before = listing(folder)
            done = plain(program, ["convert", source, out], cwd=folder)
            shown = done.stderr.decode().split("\n")[0]
            good = done.returncode == 6 and shown.startswith(f"ckpt: {out}: ") and reason in shown
            suite.check(f"OUT is {out[:20]}", good and listing(folder) == before, f"{done}\n{listing(folder)}")
        (folder / "dangling").symlink_to("folder/made.pt")
        done = plain(program, ["convert", source, "dangling"], cwd=folder)
        suite.check(
            "OUT is a dangling link: its file is made",
            done.returncode == 0 and (folder / "folder/made.pt").exists() and (folder / "dangling").is_symlink(),
            str(done),
        )
        (folder / "bare").mkdir()
        for given, reason in (
            ("loop", "Too many levels of symbolic links"),
            ("bare", "is a folder without a checkpoint"),
            ("absent", "No such file or directory"),
            ("file/x", "Not a directory"),
        ):
            done = plain(program, ["convert", given, "out.pt"], cwd=folder)
            shown = done.stderr.decode().split("\n")[0]
            good = done.returncode == 3 and shown.startswith(f"ckpt: {given}: ") and reason in shown
            suite.check(f"IN is {given}", good and not (folder / "out.pt").exists(), str(done))
        as_nobody(suite, program, source, folder)


def listing(folder):
    return sorted((str(path), path.lstat().st_mode, path.lstat().st_size) for path in folder.rglob("*"))


def as_nobody(suite, program, source, folder):
    """Root may write anywhere: what a folder refuses is tried as another user."""
    place = folder / "locked"
    place.mkdir()
    old = place / "old.pt"
    old.write_bytes(b"old")
    old.chmod(0o666)
    place.chmod(0o555)
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    for path in (folder, *folder.parents) if who else ():
        path.chmod(path.stat().st_mode | 0o011)
        if path.name.startswith("ckpt-test-"):  # what is above that is not ours
            break
    reachable = (
        subprocess.run([program.ckpt, "--version"], capture_output=True, check=False, **who)
        if readable(program.ckpt, who) and readable(folder, who)
        else None
    )
    if reachable is None or reachable.returncode != 0:
        return suite.skip("a folder that refuses", "another user cannot run the program, or reach the folder")
    data = source.read_bytes()

    def run(*arguments):
        how = {"input": data, "capture_output": True, "env": environment(TMPDIR="/tmp"), **who}
        return subprocess.run([program.ckpt, *arguments], check=False, **how)

    def kept():
        return old.read_bytes() == b"old" and list(place.iterdir()) == [old]

    for out in ("new.pt", "old.pt"):
        done = run("convert", "-", place / out)
        good = done.returncode == 6 and b"Permission denied" in done.stderr
        suite.check(f"a folder that refuses {out}", good and kept(), str(done))
    place.chmod(0o777)
    old.chmod(0o444)
    for more in ((), ("--dry-run",)):
        done = run("convert", "-", old, *more)
        good = done.returncode == 6 and b"cannot replace" in done.stderr and b"chmod u+w" in done.stderr
        suite.check(f"a file that may not be written to {' '.join(more)}", good and kept(), str(done))
    closed = folder / "closed"
    closed.mkdir()
    (closed / "model.pt").write_bytes(data)
    closed.chmod(0o444)
    done = run("scan", closed)
    good = done.returncode == 3 and b"model.pt: unreadable" in done.stdout and b"Permission denied" in done.stdout
    suite.check("a folder whose files cannot be looked at", good, str(done))
    closed.chmod(0o755)
    secret = folder / "secret.pt"
    secret.write_bytes(data)
    secret.chmod(0o000)
    done = run("inspect", secret)
    good = done.returncode == 3 and b"Permission denied" in done.stderr
    return suite.check("an input that may not be read", good, str(done))


def readable(path, who):
    try:
        return subprocess.run(["test", "-x", path], check=False, **who).returncode == 0
    except OSError:
        return False


def modes(suite, program, files, folders):
    """An old target's permission bits and owner stay, its set-uid bit does not; a new one's are the umask's."""
    source = files / "small.pt"
    for faults in ("", NAMED):
        how = " by a named temporary" if faults else ""
        preload = {"LD_PRELOAD": program.interposer, "CKPT_FAULTS": faults} if faults else {}

        def convert(out, umask=0o022, **more):
            return subprocess.run(
                [program.ckpt, "convert", source, out],
                env=environment(**preload),
                umask=umask,
                capture_output=True,
                check=False,
                **more,
            )

        with folders.temporary() as folder:
            # Only root may write to a file whose mode says that nobody may.
            for mode in (0o644, 0o600, 0o666, 0o755, 0o640, 0o4755, 0o2755, 0o1644, *([0o444] if os.geteuid() == 0 else [])):
                target = folder / f"{mode:o}.pt"
                target.write_bytes(b"old")
                target.chmod(mode)
                done = convert(target)
                got = stat.S_IMODE(target.stat().st_mode)
                suite.check(
                    f"mode {mode:o} of an old target{how}",
                    done.returncode == 0 and got == mode & 0o777,
                    f"{done}\nis {got:o}",
                )
            for umask in (0o022, 0o077, 0o007, 0o000, 0o277):
                target = folder / f"new{umask:o}.pt"
                done = convert(target, umask)
                got = stat.S_IMODE(target.stat().st_mode)
                suite.check(
                    f"umask {umask:o}{how}", done.returncode == 0 and got == 0o666 & ~umask, f"{done}\nis {got:o}"
                )
            owners(suite, convert, folder, how)
            during_writing(suite, program, source, folder / "private.pt", faults, how)


def owners(suite, convert, folder, how):
    if os.geteuid() != 0:
        return suite.skip(f"the owner of an old target{how}", "only root may give files away")
    target = folder / "owned.pt"
    target.write_bytes(b"old")
    os.chown(target, NOBODY, NOBODY)
    target.chmod(0o6640)
    done = convert(target)
    now = target.stat()
    got = (now.st_uid, now.st_gid, stat.S_IMODE(now.st_mode))
    return suite.check(
        f"the owner of an old target{how}", done.returncode == 0 and got == (NOBODY, NOBODY, 0o640), f"{done}\n{got}"
    )


def during_writing(suite, program, source, target, faults, how):
    """While it is written, what replaces a private file is private."""
    target.write_bytes(b"old")
    target.chmod(0o600)
    both = ",".join(filter(None, [faults, "chmod:1:kill"]))
    subprocess.run(
        [program.ckpt, "convert", source, target],
        env=environment(LD_PRELOAD=program.interposer, CKPT_FAULTS=both),
        capture_output=True,
        check=False,
        umask=0,
    )
    loose = [path for path in target.parent.glob(".ckpt-*") if stat.S_IMODE(path.stat().st_mode) != 0o600]
    suite.check(
        f"what replaces a private file is private{how}", not loose and target.read_bytes() == b"old", str(loose)
    )


def races(suite, program, files, folders, number, no_clobber, named, rounds):
    """Several write one target at once: it is whole and one of theirs; with --no-clobber, which merge does not have to be
    told, just one of them succeeds."""
    name = f"{number} at once{', --no-clobber' if no_clobber else ''}{', by named temporaries' if named else ''}"
    chance, trouble = random.Random(name), Trouble()
    preload = {"LD_PRELOAD": program.interposer, "CKPT_FAULTS": NAMED} if named else {}
    with folders.temporary() as folder:
        words, possible = [], []
        for i in range(number):
            merges = no_clobber and i == 1
            options = [] if merges else [f"--add-prefix=p{i}.", *(["--no-clobber"] if no_clobber else [])]
            words.append(["merge" if merges else "convert", files / "large.pt", folder / "target.pt", *options])
            plain(program, [*words[-1][:2], folder / f"{i}.pt", *options])
            possible.append((folder / f"{i}.pt").read_bytes())
            (folder / f"{i}.pt").unlink()
        for round_number in range(rounds):
            target = folder / "target.pt"
            target.unlink(missing_ok=True)
            if not no_clobber and round_number % 2:
                target.write_bytes(b"old")
            order = chance.sample(range(number), number)
            running = {
                i: subprocess.Popen(
                    [program.ckpt, *map(str, words[i])],
                    env=environment(**preload),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                )
                for i in order
            }
            said = {i: process.communicate()[1].decode() for i, process in running.items()}
            program.count("races onto one target")
            winners = [i for i, process in running.items() if process.returncode == 0]
            others = {process.returncode for process in running.values()} - {0}
            content = target.read_bytes()
            late = {2, 6} if "merge would replace" in said[1] else {6}  # it was there when merge looked
            if no_clobber and (len(winners) != 1 or others - late or content != possible[winners[0]]):
                trouble.add(f"winners {winners}, others' status {others}\n{said}")
            if not no_clobber and (others or content not in possible):
                trouble.add(
                    f"status {others}, the target is {'one of theirs' if content in possible else 'a mixture'}\n{said}"
                )
            if len(list(folder.iterdir())) != 1:
                trouble.add(f"left behind: {[path.name for path in folder.iterdir()]}")
        suite.check(name, not trouble.found, trouble)


def taken_names(suite, program, files, folders):
    """Processes of two containers may have one number: a temporary name that is taken is no reason to fail."""
    with folders.temporary() as folder:
        for title, old, faults in (
            ("made", False, NAMED + ",open:3:fail=17"),
            ("linked", True, "link:2:fail=17,link:3:fail=17"),
        ):
            target = folder / f"{title}.pt"
            if old:
                target.write_bytes(b"old")
            done = plain_with(program, faults, ["convert", files / "small.pt", target])
            good = done.returncode == 0 and target.read_bytes() != b"old" and not temporaries(folder)
            suite.check(f"another's temporary has the name that was to be {title}", good, str(done))


def nothing_replaced_on_simple_file_systems(suite, program, files, folders):
    """Ones that cannot be asked to replace nothing and know no links, as some that are mounted by FUSE."""
    without = NAMED + ",rename:1:fail=22,link:1:fail=1"
    for words in (["merge"], ["convert", "--no-clobber"]):
        for title, faults, wanted in (("", without, 0), (", and a rename that fails", without + ",rename:2:fail=5", 6)):
            with folders.temporary() as folder:
                done = plain_with(program, faults, [*words, files / "large.pt", folder / "out.pt"])
                left = ["out.pt"] if wanted == 0 else []
                good = done.returncode == wanted and [path.name for path in folder.iterdir()] == left
                suite.check(f"{' '.join(words)} where files have no second name{title}", good, str(done))
                if wanted == 0:
                    suite.check("… writes a whole file", plain(program, ["verify", folder / "out.pt"]).returncode == 0)


def closed_before_it_is_replaced(suite, program, files, folders):
    """SMB replaces no file that somebody has open, and has lost both where one tried."""
    for name in ("large.pt", "large.pt.gz", "large_legacy.pt"):
        for words in ("convert --in-place IN", "convert IN IN --to cpu", "merge IN IN --clobber", "average OTHER IN IN --clobber"):
            with folders.temporary() as folder:
                given, other, log = folder / name, folder / f"other-{name}", folder / "log"
                for path in (given, other):
                    path.write_bytes((files / name).read_bytes())
                names = {"IN": str(given), "OTHER": str(other)}
                done = program.run_alone([names.get(word, word) for word in words.split()], folder, log=log)
                calls, _ = read_log(log)
                before = itertools.takewhile(lambda call: call.kind not in ("link", "rename"), calls)
                open_ = Counter(call.kind for call in before if call.subject == str(given))
                closed = done.status == 0 and open_["open"] == open_["close"] > 0
                suite.check(f"{words}, {name}: closed before it is replaced", closed, f"{done}\n{open_}")


def leftover_on_nfs(suite, program, files, folders):
    """Where only what may be written to is locked (EBADF), what a killed run has left is removed all the same."""
    with folders.temporary() as folder:
        left = folder / ".ckpt-1-1.tmp"
        left.write_bytes(b"left")
        os.utime(left, (1, 1))
        first = program.run_alone(["convert", files / "small.pt", folder / "out.pt"], folder, log=folder / "log")
        locks = [call for call in read_log(folder / "log")[0] if call.function == "flock" and call.subject == str(left)]
        suite.check("a leftover is locked once", first.status == 0 and len(locks) == 1, f"{first}\n{locks}")
        left.write_bytes(b"left")
        os.utime(left, (1, 1))
        fault = f"{locks[0].kind}:{locks[0].number}:fail=9"
        done = program.run_alone(["convert", files / "small.pt", folder / "out.pt"], folder, fault)
        suite.check("… and opened again where that asks for writing", done.status == 0 and not left.exists(), str(done))


def mounts_with_modes_of_their_own(suite, program, files, folders):
    """FAT and SMB may have one mode for all files, which nobody can change: that is no reason to fail."""
    for mode, wanted in ((0o600, 0), (0o640, 6)):
        with folders.temporary() as folder:
            target = folder / "out.pt"
            target.write_bytes(b"old")
            target.chmod(mode)
            done = plain_with(program, "chmod:1:fail=1", ["convert", files / "small.pt", target])
            good = done.returncode == wanted and (target.read_bytes() == b"old") == (wanted != 0)
            suite.check(f"no mode can be set, of a file that is to have {mode:o}", good, str(done))


def plain_with(program, faults, words):
    return subprocess.run(
        [program.ckpt, *map(str, words)],
        capture_output=True,
        check=False,
        env=environment(LD_PRELOAD=program.interposer, CKPT_FAULTS=faults),
    )
