"""Names that would steer a terminal or pose as others: keys, members, globals, devices and files, in every command and
message, through a pipe and on a terminal. Nothing of them may come out raw."""

import contextlib
import os
import pty
import re
import select
import signal
import unicodedata
import zipfile

import forkserver
import harness
from torchfile import Call, Tensor, save_legacy, save_zip, state_dict

NASTY = {
    "escape": "red\x1b[35;5;7m",
    "title": "\x1b]0;PWNED\x07",
    "clear": "\x1b[2J\x1b[H",
    "newline": "line\nckpt: forged",
    "return": "over\rwritten",
    "bell": "\x07\x08\x7f",
    "nul": "a\x00b",
    "c1": "csi\x9b31m",
    "right-to-left": "\u202egnp.exe\u202c",
    "isolate": "\u2066x\u2069",
    "mark": "\u200f\u061c",
    "invisible": "zero\u200bwidth\ufeff",
    "separator": "\u2028\u2029",
    "tag": "\U000e0041",
    "surrogate": "lone\ud800end",
}
# What ckpt itself sends to a terminal: colours, of which none is in the names above.
OWN_COLOUR = re.compile(rb"\x1b\[(?:0|1|2|[0-9]|3[0-7]|9[0-7])?(?:;(?:0|1|2|3[0-7]|9[0-7]))*m")
ALLOWED = {"\n", "\t"}


def raw(output, terminal):
    """What in it should have been escaped; none where all is well."""
    if terminal:
        output = OWN_COLOUR.sub(b"", output).replace(b"\r\n", b"\n")
    try:
        text = output.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8: {error}"
    for at, c in enumerate(text):
        if c not in ALLOWED and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs", "Co"):
            return f"U+{ord(c):04X} in …{text[max(0, at - 40) : at + 20]!r}…"
    return None


def make_files(folder):
    """Files that hold nasty names in every place where a name may stand; a command that trips over each."""
    keys = {name: Tensor([2]) for name in NASTY.values()}
    save_zip(folder / "keys.pt", state_dict(keys))
    save_zip(folder / "prefixed.pt", state_dict({f"module.{name}": Tensor([2]) for name in NASTY.values()}))
    collide = {"a": Tensor([2])}
    for name in NASTY.values():
        collide |= {f"module.{name}": Tensor([1]), name: Tensor([1])}
    save_zip(folder / "collide.pt", state_dict(collide))
    save_zip(folder / "nested.pt", {name: state_dict({"w": Tensor([1])}) for name in NASTY.values()})
    save_zip(
        folder / "devices.pt", state_dict({f"t{i}": Tensor([1], device=name) for i, name in enumerate(NASTY.values())})
    )
    save_zip(folder / "outside.pt", state_dict({name: Tensor([1], stride=[9], offset=9) for name in NASTY.values()}))
    words = {n: v for n, v in NASTY.items() if n not in ("newline", "surrogate")}
    for verdict, module in (("dangerous", "os"), ("unknown", "lab\x1b[2J\u202e")):
        save_zip(folder / f"{verdict}.pt", {"w": Tensor([1]), **{n: Call(module, v, 1) for n, v in words.items()}})
    save_zip(
        folder / "members.pt",
        state_dict({"w": Tensor([2])}),
        extra=[(f"data/{value}", b"x") for name, value in words.items() if name != "nul"],
    )
    save_legacy(folder / "legacy.pt", state_dict(keys))
    bytes_ = (folder / "legacy.pt").read_bytes()
    (folder / "invalid.pt").write_bytes(
        bytes_.replace(b"line\nckpt", b"\xff\xfe\xc3(\xc0\x80\xed"[:9].ljust(9, b"\xf8"))
    )
    with zipfile.ZipFile(folder / "root.pt", "w") as archive:
        for member, content in (("data.pkl", b"\x80\x02}."), ("version", b"3\n"), ("version\x1b[2J", b"")):
            archive.writestr(zipfile.ZipInfo(f"ro\x1b[35;5;7mot\u202e/{member}", (1980, 1, 1, 0, 0, 0)), content)
    save_zip(folder / "whole.pt", state_dict({"module.w": Tensor([2])}))
    for at, name in enumerate([n.encode("utf-8", "surrogatepass") for n in NASTY.values()] + [b"\xff\xfe\xc3("]):
        if b"\0" in name:
            continue
        content = (folder / "whole.pt").read_bytes()
        for suffix, data in ((b".pt", content), (b".cut.pt", content[:300]), (b".gz", content[:50])):
            with open(os.path.join(os.fsencode(folder), b"file %d " % at + name + suffix), "wb") as file:
                file.write(data)


COMMANDS = [
    "inspect",
    "inspect --json",
    "inspect --keys=*",
    "verify",
    "verify --json",
    "digest",
    "digest --json",
    "digest --root=auto",
    "convert FILE OUT --strip-prefix",
    "convert FILE OUT --to cpu --protocol 5",
    "convert FILE OUT --map cuda=cpu",
    "strip-prefix FILE OUT",
    "add-prefix FILE OUT",
    "convert --in-place FILE",
    "strip-prefix FILE OUT --prefix=zero",
    "convert FILE OUT --format torch-legacy",
    "diff FILE whole.pt",
    "diff FILE whole.pt --json",
    "check FILE --like whole.pt",
    "check whole.pt --like FILE",
    "stats",
    "stats --json",
    "average FILE FILE OUT",
    "average whole.pt FILE OUT",
    "extract FILE w -o OUT",
    "shard FILE OUT --dry-run",
    "merge FILE OUT",
    "merge FILE whole.pt OUT",
    "recover FILE OUT",
    "recover FILE OUT --json",
    "scan",
    "scan --json",
    "scan --sarif",
    "convert FILE OUT --dry-run",
    "verify --finite",
    "eval FILE --data whole.pt",  # where there is no libtorch, it says so
]


def commands_of(program):
    listed = harness.Ckpt(program.ckpt)("--help").text
    known = set(re.findall(r"^  ([a-z-]+) ", listed, re.M))
    return [command.split() for command in COMMANDS if command.split()[0] in known]


def on_terminal(program, words, cwd):
    """What a run writes to a terminal that is its standard input, output and error."""
    server = forkserver.of_thread(program.ckpt, harness.environment())
    env = {key: value for key, value in harness.environment(TERM="xterm-256color").items() if key != "NO_COLOR"}
    master, slave = pty.openpty()
    process = server.start(words, env, [slave] * 3, cwd)
    os.close(slave)
    output = b""
    while True:
        ready, _, _ = select.select([master], [], [], 30)
        if not ready:
            os.kill(process, signal.SIGKILL)
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other end has gone
            break
        output += piece
    os.close(master)
    return server.wait(), output


def shown_names(suite, program, folders, command):
    """One command over all the files, through pipes and on a terminal."""
    ckpt = harness.Ckpt(program.ckpt)
    with folders.temporary() as folder:
        make_files(folder)
        wrong = []
        paths = sorted(os.listdir(os.fsencode(folder)))
        for path in paths[::15] if command[0] == "eval" else paths:  # which loads libtorch each time
            file = b"./" + path
            data = open(os.path.join(os.fsencode(folder), path), "rb").read()
            words = [{"FILE": file, "OUT": b"./" + path + b".out"}.get(word, word) for word in command]
            if "FILE" not in command:
                words.append(file)
            done = ckpt(*words, cwd=folder, timeout=60)
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                os.unlink(os.path.join(os.fsencode(folder), path + b".out"))  # which some commands do not replace
            status, screen = on_terminal(program, words, folder)
            program.count("outputs searched for raw names", 3)
            for where, output, terminal in (
                ("stdout", done.out, False),
                ("stderr", done.err_bytes, False),
                ("terminal", screen, True),
            ):
                if found := raw(output, terminal):
                    wrong.append(f"{path!r}: {where}: {found}")
            if done.code not in range(7) or status != done.code and "--in-place" not in command:
                wrong.append(f"{path!r}: status {done.code}, on a terminal {status}\n{done.err_bytes!r}")
            with open(os.path.join(os.fsencode(folder), path), "wb") as back:
                back.write(data)
        suite.check(f"{' '.join(command)}: no raw name", not wrong, "\n".join(wrong[:8]))


def shown_words(suite, program, folders):
    """Words of the command line come back in messages."""
    ckpt = harness.Ckpt(program.ckpt)
    with folders.temporary() as folder:
        make_files(folder)
        wrong = []
        for value in NASTY.values():
            word = value.encode("utf-8", "surrogatepass").replace(b"\0", b"")
            for words in (
                [word],
                [b"--" + word],
                [b"inspect", b"--" + word, b"whole.pt"],
                [b"inspect", word],
                [b"convert", b"whole.pt", b"out", b"--to", word],
                [b"convert", b"whole.pt", b"no/" + word],
                [b"convert", b"whole.pt", b"out", b"--map", word + b"=cpu"],
                [b"convert", b"whole.pt", word],
                [b"convert", b"whole.pt", b"out", b"--format", word],
                [b"digest", b"whole.pt", b"--root", word],
                [b"convert", b"whole.pt", b"out", b"--gzip=" + word],
                [b"convert", b"whole.pt", b"a", word],
                [b"strip-prefix", b"whole.pt", b"out", b"--prefix", word],
                [b"add-prefix", b"whole.pt", b"out", b"--prefix", word],
                [b"inspect", b"whole.pt", b"--keys", word],
                [b"extract", b"whole.pt", word, b"-o", b"out"],
                [b"recover", b"whole.pt", word + b".out"],
                [b"merge", b"whole.pt", word, b"out"],
            ):
                done = ckpt(*words, cwd=folder, timeout=60)
                program.count("outputs searched for raw names", 2)
                if found := raw(done.out, False) or raw(done.err_bytes, False):
                    wrong.append(f"{words}: {found}")
        suite.check("words of the command line: none raw", not wrong, "\n".join(wrong[:8]))


def seen_to_find(suite):
    """The search itself: it must find what is raw."""
    missed = [
        name
        for name, value in NASTY.items()
        if name != "surrogate" and not (raw(value.encode(), False) or "\n" in value)
    ]
    coloured = raw(b"\x1b[1mname\x1b[0m\r\n", True)
    suite.check(
        "the search for raw names finds them",
        not missed and coloured is None and raw(b"\xed\xa0\x80", False),
        f"{missed} {coloured}",
    )
