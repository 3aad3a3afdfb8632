"""What an attack is: a file, and what each command must make of it."""

import gzip as _gzip
from dataclasses import dataclass, field

import forge


@dataclass
class Outcome:
    """`exit` and, in what the command prints, `text` and `(at byte AT)`. `lacks`: what it must not print."""

    exit: int
    text: str = ""
    at: int | None = None
    lacks: str = ""


@dataclass
class Attack:
    name: str
    data: bytes | dict  # of a folder: its files by name
    outcomes: dict = field(default_factory=dict)  # by command, or by its whole line: "diff FILE FILE"
    alone: bool = False  # no other command runs on it

    def __post_init__(self):
        assert all(outcome.text for outcome in self.outcomes.values() if outcome.exit), f"{self.name}: refused without a word"


def refused(text, at=None, verify=1):
    """By every command; a fault to verify, which knows the format."""
    return {"inspect": Outcome(3, text, at), "verify": Outcome(verify, text, at), "convert": Outcome(3, text, at)}


def unsupported(text, at=None):
    """By every command, verify too: it cannot judge what it cannot read."""
    return refused(text, at, verify=3)


def in_the_bytes(text, at=None):
    """What only reading the tensors' bytes can find: inspect does not."""
    return {"inspect": Outcome(0), "verify": Outcome(1, text, at), "convert": Outcome(3, text, at)}


def dangerous(name, at=None):
    """Read and shown, for reading runs nothing; not written."""
    calls = f"calls for {name}"
    return {
        "inspect": Outcome(0, f"{name} (at byte"),
        "verify": Outcome(0, f"{calls} (dangerous)" + (f", at byte {at}" if at is not None else "")),
        "convert": Outcome(4, calls),
    }


def fine(inspect="", verify=": ok (", convert=""):
    """A control: strange, lawful, read."""
    return {"inspect": Outcome(0, inspect), "verify": Outcome(0, verify), "convert": Outcome(0, convert)}


def moved(outcomes, by):
    """The same with each offset `by` bytes further on."""
    return {
        command: Outcome(o.exit, o.text, None if o.at is None else o.at + by, o.lacks)
        for command, o in outcomes.items()
    }


def everywhere(name, code, outcomes):
    """A hostile object pickle in a torch zip, in a legacy file, and in both in gzip. Offsets count from its first byte,
    as in a zip they do; the place of a dangerous name is looked for in the zip alone."""
    zip_file, legacy = forge.torch_zip(code), forge.legacy(code)
    in_legacy = moved(outcomes, legacy.index(code))
    yield Attack(f"{name}.pt", zip_file, outcomes)
    yield Attack(f"{name}-legacy.pt", legacy, in_legacy)
    yield Attack(f"{name}.pt.gz", _gzip.compress(zip_file, 1, mtime=0), outcomes)
    yield Attack(f"{name}-legacy.pt.gz", _gzip.compress(legacy, 1, mtime=0), in_legacy)


def also_in_gzip(attacks):
    """Each, and the same in gzip to `verify` alone: it says the same."""
    for attack in attacks:
        yield attack
        said = {"verify": attack.outcomes["verify"]}
        yield Attack(f"{attack.name}.gz", _gzip.compress(attack.data, 1, mtime=0), said, alone=True)


def one(name, code, outcomes):
    """The same in a torch zip alone."""
    yield Attack(f"{name}.pt", forge.torch_zip(code), outcomes)
