"""Every call of a conversion fails once; every allocation too; the input changes under every read."""

import errno
import itertools
import os

from driver import MODE, Case, Trouble, read_log

# What a call of each kind can fail with. tmpfile: the file system has no unnamed files, or no room. birth: all of a run's
# fail, or none (folders.without_births).
ERRORS = {
    "list": [errno.EMFILE, errno.EACCES],
    "folder": [errno.EMFILE, errno.EACCES, errno.EIO],
    "thread": [errno.EAGAIN],
    "sandbox": [errno.EMFILE, errno.EACCES, errno.EIO],
    "open": [errno.EMFILE, errno.EACCES],
    "tmpfile": [errno.EOPNOTSUPP, errno.EISDIR],
    "read": [errno.EIO],
    "pread": [errno.EIO, errno.ESTALE],
    "reread": [errno.EIO],
    "write": [errno.ENOSPC, errno.EIO, errno.EDQUOT],
    "sync": [errno.EIO, errno.ENOSPC],
    "rename": [errno.EIO, errno.EACCES],
    "link": [errno.EIO, errno.EMLINK],
    "unlink": [errno.EIO],
    "mkdir": [errno.EACCES, errno.ENOSPC],
    "close": [errno.EIO],
    "finish": [errno.EIO],
    "stat": [errno.EIO, errno.EACCES],
    "birth": [],
    "chmod": [errno.EPERM],
    "chown": [errno.EPERM],
    "attribute": [errno.EOPNOTSUPP, errno.EIO],
    "readlink": [errno.EIO],
    "access": [errno.EACCES],
    "seek": [errno.EIO],
    "dup": [errno.EMFILE],
    "poll": [errno.ENOMEM],
    "random": [errno.EAGAIN, errno.ENOSYS],
}
# These have another way, or nothing hangs on them any more: the conversion must succeed.
TOLERATED = {"thread", "sandbox", "list", "tmpfile", "close", "chown", "attribute", "access", "unlink", "random"}
INTERRUPTED = ("sandbox", "list", "open", "read", "pread", "reread", "write", "sync")
PARTIAL = ("read", "pread", "reread", "write")


def side(case, call):
    """Whose fault a failing call is: `input`, `output` or `spool`."""
    if call.subject.startswith(str(case.folder / "tmp")):
        return "spool"
    if case.scenario.pipe and call.subject.startswith(("pipe:", "standard input")):
        return "input"
    if call.subject != str(case.source) and not call.subject.startswith(f"{case.source}/"):
        return "output"
    # In place both have one name: a file that is opened is the input, and so is one that is looked at for the first time.
    of_output = call.function in ("stat", "lstat", "readlink") and (call.kind, call.number) != ("stat", 1)
    return "output" if case.scenario.in_place and of_output else "input"


def judge(case, outcome, expected_status, file, reason, targets, trouble, what):
    """Compares one faulty run with what it must be."""
    target, others = case.state()
    if outcome.status != expected_status:
        trouble.add(f"{what}: status {outcome.status}, expected {expected_status}", outcome)
    elif target not in targets:
        trouble.add(f"{what}: the target is {target}, expected {' or '.join(targets)}", outcome)
    elif others:
        trouble.add(f"{what}: left behind {others}", outcome)
    elif not case.source_is_whole():
        trouble.add(f"{what}: the input was changed", outcome)
    elif expected_status == 0 and outcome.out != case.new_out:
        trouble.add(f"{what}: says something else than without the fault", outcome)
    elif expected_status != 0:
        said = error_line(outcome)
        if not said.startswith(f"ckpt: {file}") or reason not in said:
            trouble.add(f"{what}: the message should name {file} and say {reason!r}", outcome)


def error_line(outcome):
    """Notes and warnings may stand before it."""
    lines = (line for line in outcome.err.split("\n") if line.startswith("ckpt: "))
    return next((line for line in lines if not line.startswith(("ckpt: note: ", "ckpt: warning: "))), "")


def before(case):
    return "old" if case.old is not None else "none"


def last_close(calls):
    """Of the output, before it gets its name: what some file systems say only then is an error like any other."""
    before = itertools.takewhile(lambda call: call.kind not in ("link", "rename"), calls)
    closing = [call for call in before if call.kind == "close"]
    return closing[-1] if len(closing) < sum(call.kind == "close" for call in calls) else None


def first_closes(calls):
    """Of each temporary that is not read back: the same."""
    closes = [call for call in calls if call.kind == "close" and (".ckpt-" in call.subject or "(deleted)" in call.subject)]
    return list({call.subject: call for call in reversed(closes)}.values())


def judge_failing_call(case, call, number, trouble, is_tolerated):
    what = f"{call.kind} {call.number} ({call.function} {call.subject}) fails: {os.strerror(number)}"
    outcome = case.run(f"{call.kind}:{call.number}:fail={number}")
    case.program.count("calls that failed")
    unreadable_folder = call.subject == str(case.out_folder) and call.kind == "open" and number == errno.EACCES
    protected = call.kind == "access" and call.subject == str(case.target)  # as it says that the old target is
    if (is_tolerated and not protected) or unreadable_folder:
        if call.kind == "unlink":
            case.remove_spooled()  # what cannot be removed stays
        # A list of rights that cannot be told may grant the group less than the mode does.
        is_untold = call.function == "lgetxattr" and case.old is not None and number not in (errno.ENODATA, errno.EOPNOTSUPP)
        return judge(case, outcome, 0, "", "", [f"new, mode {MODE & ~0o070:o}" if is_untold else "new"], trouble, what)
    where = "output" if protected else side(case, call)
    given = "standard input" if case.scenario.pipe else case.source
    file = given if where in ("input", "spool") else case.target
    # Once the target has its name only its folder's fsync can fail.
    synced_folder = call.kind == "sync" and call.subject == str(case.out_folder)
    targets = ["new"] if synced_folder or call.kind == "finish" else [before(case)]
    if call.kind == "finish":
        file = "standard output"
    expected = 6 if where == "output" else 3
    judge(case, outcome, expected, file, os.strerror(number), targets, trouble, what)


def failing_calls(suite, program, scenario, folders):
    """Each call of each kind fails once, with each errno; is interrupted once; moves only a part of its bytes."""
    with folders.temporary() as folder:
        case = Case(program, scenario, folder / "case")
        calls = case.dry_run()
        closing = last_close(calls)
        for kind in sorted({call.kind for call in calls}):
            trouble = Trouble()
            for call in (call for call in calls if call.kind == kind):
                for number in ERRORS[kind]:
                    judge_failing_call(case, call, number, trouble, kind in TOLERATED and call is not closing)
                if kind in INTERRUPTED and call.function != "mkostemp":
                    outcome = case.run(f"{kind}:{call.number}:fail={errno.EINTR}")
                    program.count("calls interrupted or cut short")
                    judge(
                        case, outcome, 0, "", "", ["new"], trouble, f"{kind} {call.number} ({call.subject}) interrupted"
                    )
                if kind in PARTIAL:
                    outcome = case.run(f"{kind}:{call.number}:short")
                    program.count("calls interrupted or cut short")
                    judge(
                        case, outcome, 0, "", "", ["new"], trouble, f"{kind} {call.number} ({call.subject}) cut short"
                    )
            suite.check(f"{scenario.name}: every {kind} fails", not trouble.found, trouble)
        constant_trouble(suite, case, calls)


def constant_trouble(suite, case, calls):
    """What does not stop: every read and write moves half, or nothing at all."""
    name = case.scenario.name
    trouble = Trouble()
    for kind in sorted({call.kind for call in calls} & set(PARTIAL)):
        outcome = case.run(f"{kind}:1+:short")
        case.program.count("calls interrupted or cut short")
        judge(case, outcome, 0, "", "", ["new"], trouble, f"every {kind} is cut short")
    outcome = case.run("write:1+:none")
    case.program.count("calls that failed")
    file = "standard input" if case.scenario.pipe else case.target
    judge(case, outcome, 3 if case.scenario.pipe else 6, file, "", [before(case)], trouble, "no write takes a byte")
    for number in range(1, 1 + sum(call.kind == "pread" for call in calls)):
        outcome = case.run(f"pread:{number}:none")
        case.program.count("calls that failed")
        judge(case, outcome, 3, case.source, "", [before(case)], trouble, f"pread {number} finds the file's end")
    suite.check(f"{name}: calls that move less than asked", not trouble.found, trouble)


def failing_allocations(suite, program, scenario, folders, part=0, parts=1):
    """Each allocation fails once; every fourth time also with all after it. `part` of `parts` shares them out."""
    with folders.temporary() as folder:
        case = Case(program, scenario, folder / "case")
        case.dry_run()
        numbers = spread(case.allocations)[part::parts]
        for suffix in ("", "+"):
            trouble = Trouble()
            for number in numbers[::4] if suffix else numbers:
                outcome = case.run(f"alloc:{number}{suffix}:fail=12")
                program.count("allocations that failed")
                what = f"allocation {number}{suffix} of {case.allocations} fails"
                target, others = case.state()
                said = "memory" in error_line(outcome)
                if outcome.status not in (0, 5):
                    trouble.add(f"{what}: status {outcome.status}, expected 5", outcome)
                elif target not in (["new"] if outcome.status == 0 else [before(case), "new"]):
                    trouble.add(f"{what}: the target is {target}", outcome)
                elif others or not case.source_is_whole():
                    trouble.add(f"{what}: left behind {others}", outcome)
                elif outcome.status == 5 and not said:
                    trouble.add(f"{what}: no word of memory", outcome)
                elif outcome.status == 0 and outcome.out != case.new_out:
                    trouble.add(f"{what}: says something else than without the fault", outcome)
            which = "allocations, each with all after it," if suffix else "every allocation"
            suite.check(f"{scenario.name}: {which} fails ({part})", not trouble.found, trouble)


def spread(count, every=2000):
    """All numbers up to `every`, then ever fewer of them."""
    numbers, at = [], 1
    while at <= count:
        numbers.append(at)
        at += 1 + max(0, at - every) // 100
    return numbers


def changing_input(suite, program, scenario, folders):
    """Before each read of the input somebody shrinks, grows or overwrites it: an error, or what it was before."""
    with folders.temporary() as folder:
        case = Case(program, scenario, folder / "case")
        reads = [call for call in case.dry_run() if call.kind == "pread"]
        for how in ("shrink", "grow", "overwrite"):
            trouble, refused = Trouble(), 0
            for call in reads:
                outcome = case.run(f"pread:{call.number}:{how}")
                program.count("inputs changed while read")
                what = f"{how} before read {call.number}"
                target, others = case.state()
                refused += outcome.status == 3
                if outcome.status not in (0, 3) or others:
                    trouble.add(f"{what}: status {outcome.status}, left {others}", outcome)
                elif target != ("new" if outcome.status == 0 else before(case)):
                    trouble.add(f"{what}: status {outcome.status}, but the target is {target}", outcome)
                elif outcome.status == 3 and not error_line(outcome).startswith(f"ckpt: {case.source}: "):
                    trouble.add(f"{what}: the message does not name the file", outcome)
            if not refused:
                trouble.add(f"{how}: never noticed")
            suite.check(f"{scenario.name}: {how} while it is read", not trouble.found, trouble)


def reading_fails(suite, program, command, source, folders, every=10):
    """A command that only reads: each failing call is told with status 3, one failing allocation of `every` with 5."""
    name = f"{' '.join(map(str, command))} {source.name}"
    with folders.temporary() as folder:
        (folder / "tmp").mkdir()
        args, log = [*command, source], folder / "log"
        whole = program.run(args, folder, log=log)
        calls, allocations = read_log(log)
        trouble = Trouble() if whole.status == 0 else Trouble([f"without faults: {whole}"])
        for call in (call for call in calls if ERRORS[call.kind]):
            outcome = program.run(args, folder, f"{call.kind}:{call.number}:fail=5")
            program.count("calls that failed")
            what = f"{call.kind} {call.number} ({call.function} {call.subject}) fails"
            said = outcome.err.startswith((f"ckpt: {source}: ", f"ckpt: {source}/")) and os.strerror(errno.EIO) in outcome.err
            if call.kind in TOLERATED:
                if outcome.status != 0 or outcome.out != whole.out:
                    trouble.add(f"{what}: status {outcome.status}", outcome)
            elif call.kind == "finish":
                if outcome.status != 6 or not outcome.err.startswith("ckpt: standard output: "):
                    trouble.add(f"{what}: status {outcome.status}, expected 6", outcome)
            elif outcome.status != 3 or not said:
                trouble.add(f"{what}: status {outcome.status}, expected 3 and a message", outcome)
        for number in spread(allocations)[::every]:
            outcome = program.run(args, folder, f"alloc:{number}:fail=12")
            program.count("allocations that failed")
            # OpenSSL does not say why it refuses.
            said = outcome.status == 5 and any(f in outcome.err for f in ("memory", "OpenSSL refused"))
            said = said and outcome.err.startswith("ckpt: ")
            if not said and (outcome.status != 0 or outcome.out != whole.out):
                trouble.add(f"allocation {number} fails: status {outcome.status}, expected 5", outcome)
        suite.check(name, not trouble.found, trouble)
