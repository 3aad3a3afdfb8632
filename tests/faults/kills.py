"""SIGKILL, and the signals that a process may catch, at each call that changes something and at random moments."""

import errno
import itertools
import os
import random
import signal
import subprocess
import time
import zlib

from driver import TEMPORARY, Case, Trouble

CAUGHT = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU)
# After these everything is as it was.
LOOKING = {"sandbox", "list", "folder", "thread", "read", "pread", "reread", "stat", "birth", "readlink", "access", "seek", "dup",
           "random"}


def worth_ending_at(calls):
    """All that write, name or sync, and of those that only look one in ten."""
    looking = itertools.count()
    return [call for call in calls if call.kind not in LOOKING or next(looking) % 10 == 0]


def may_leave_temporary(case, others):
    """Only SIGKILL may leave a name: of a file system without unnamed files, or at the instant between the linking of
    the temporary name and its renaming over an old file."""
    possible = case.scenario.named or case.old is not None
    return not others or (possible and len(others) == 1 and TEMPORARY.fullmatch(others[0]))


def count_outcome(case, target):
    case.program.count("runs ended with the new target in place" if target == "new" else "runs ended before there was a new target")


def judge_kill(case, outcome, trouble, what):
    target, others = case.state()
    count_outcome(case, target)
    before = "old" if case.old is not None else "none"
    if outcome.status != -signal.SIGKILL:
        trouble.add(f"{what}: status {outcome.status}", outcome)
    elif target not in (before, "new") or not case.source_is_whole():
        trouble.add(f"{what}: the target is {target}")
    elif not may_leave_temporary(case, others):
        trouble.add(f"{what}: left {others}")
    return bool(others)


def next_run_succeeds(case, trouble, what):
    """What a killed run left stands in nobody's way."""
    outcome = case.program.run(case.args, case.folder, case.scenario.base_faults)
    taken = case.scenario.command[-1] == "--no-clobber" and outcome.status == 6
    if case.state()[0] != "new" or not (outcome.status == 0 or taken):
        trouble.add(f"{what}: the next run fails", outcome)


def next_run_tidies_up(case, trouble, what):
    """… and once it is an hour old, whoever writes there removes it and says so."""
    left = [path for path in case.out_folder.iterdir() if TEMPORARY.fullmatch(path.name)]
    for path in left:
        os.utime(path, (1, 1))
    if case.scenario.command[-1] == "--no-clobber":
        case.target.unlink(missing_ok=True)
    outcome = case.program.run(case.args, case.folder, case.scenario.base_faults)
    if not left or any(path.exists() or path.name not in outcome.err for path in left):
        trouble.add(f"{what}: {[path.name for path in left]} stay, or nothing is said of them", outcome)
    case.program.count("temporaries of killed runs removed later")


def killed_at_calls(suite, program, scenario, folders):
    with folders.temporary() as folder:
        case = Case(program, scenario, folder / "case")
        trouble, left = Trouble(), 0
        for call in worth_ending_at(case.dry_run()):
            for how in ("kill", "kill-after"):
                what = f"{how} at {call.kind} {call.number} ({call.subject})"
                killed_left = judge_kill(case, case.run(f"{call.kind}:{call.number}:{how}"), trouble, what)
                program.count("kills at a chosen call")
                if killed_left:
                    left += 1
                    if not scenario.in_place:
                        next_run_succeeds(case, trouble, what)
                        next_run_tidies_up(case, trouble, what)
        suite.check(f"{scenario.name}: killed at each call that changes something", not trouble.found, trouble)
        suite.check(
            f"{scenario.name}: the name that SIGKILL may leave",
            left > 0 or not scenario.named,
            "no run left one: these kills do not reach it",
        )


def life_of(case):
    """Seconds that a run takes, once it is started."""
    seconds = 0
    for _ in range(5):
        case.start()
        begin = time.perf_counter()
        case.program.wait(case.folder)
        seconds += time.perf_counter() - begin
    return seconds / 5


def ended_at_random(case, name, kills):
    """Kills, and three times as many signals, at moments spread over the life of a run: (signal, what, outcome) of each.
    Status 0: it was done before."""
    life, chance = life_of(case), random.Random(name)
    for i in range(4 * kills):
        number = CAUGHT[i % len(CAUGHT)] if i % 4 else signal.SIGKILL
        delay = chance.uniform(0, life)
        pid = case.start()
        time.sleep(delay)
        os.kill(pid, number)
        outcome = case.program.wait(case.folder)
        ended = "kills at random moments" if number == signal.SIGKILL else "signals at random moments"
        case.program.count(ended if outcome.status else "runs done before they were ended")
        yield number, f"{number.name} after {delay * 1000:.2f} ms", outcome


def at_random(suite, program, scenario, folders, kills):
    with folders.temporary() as folder:
        case = Case(program, scenario, folder / "case")
        case.dry_run()
        trouble, met = Trouble(), 0
        for number, what, outcome in ended_at_random(case, scenario.name, kills):
            met += outcome.status != 0
            if outcome.status == 0:
                if case.state() != ("new", []):
                    trouble.add(f"{what}, done before: {case.state()}")
            elif number == signal.SIGKILL:
                judge_kill(case, outcome, trouble, what)
            else:
                judge_signal(case, outcome, number, trouble, what)
        suite.check(f"{scenario.name}: killed and interrupted at random", met and not trouble.found, trouble)


def judge_signal(case, outcome, number, trouble, what):
    target, others = case.state()
    count_outcome(case, target)
    before = "old" if case.old is not None else "none"
    if outcome.status != -number:
        trouble.add(f"{what}: status {outcome.status}, expected {-number}", outcome)
    elif target not in (before, "new") or others or not case.source_is_whole():
        trouble.add(f"{what}: the target is {target}, left {others}")


def signals_for(kind, turn):
    """All where a file is synced or gets its name, else one of them in turn."""
    return CAUGHT if kind in ("link", "rename", "sync", "unlink") else (CAUGHT[turn % len(CAUGHT)],)


def signals_at_calls(suite, program, scenario, folders):
    with folders.temporary() as folder:
        case = Case(program, scenario, folder / "case")
        trouble, turn = Trouble(), zlib.crc32(scenario.name.encode())  # another signal at such a call of another command
        places = [(call.kind, call.number) for call in worth_ending_at(case.dry_run())]
        places += [("alloc", number) for number in range(1, case.allocations + 1, 25)]
        for at, (kind, number) in enumerate(places):
            for caught in signals_for(kind, turn + at):
                outcome = case.run(f"{kind}:{number}:signal={int(caught)}")
                program.count("signals at a chosen call")
                judge_signal(case, outcome, caught, trouble, f"{caught.name} at {kind} {number}")
        suite.check(f"{scenario.name}: a signal at each call that changes something", not trouble.found, trouble)


def ignored_signal(suite, program, scenario, folders):
    """What the caller has ignored (nohup) stays ignored."""
    with folders.temporary() as folder:
        case = Case(program, scenario, folder / "case")
        case.dry_run()
        case.reset()
        done = subprocess.run(
            ["sh", "-c", 'trap "" HUP INT; exec "$0" "$@"', program.ckpt, *map(str, case.args)],
            env=program.environment(case.folder / "tmp", "write:1:signal=1,sync:1:signal=2"),
            capture_output=True,
            check=False,
        )
        suite.check(
            f"{scenario.name}: ignored signals stay ignored",
            done.returncode == 0 and case.state() == ("new", []),
            f"{done} {case.state()}",
        )


def failing_cleanup(suite, program, scenario, folders):
    """A temporary that cannot even be removed: the first error is told, and the target stands."""
    with folders.temporary() as folder:
        case = Case(program, scenario, folder / "case")
        case.dry_run()
        outcome = case.run("write:1:fail=28,unlink:1+:fail=5")
        target, others = case.state()
        good = outcome.status == 6 and target == ("old" if case.old is not None else "none") and len(others) <= 1
        good = good and os.strerror(errno.ENOSPC) in outcome.err
        suite.check(f"{scenario.name}: its temporary cannot be removed", good, f"{outcome} {target} {others}")
