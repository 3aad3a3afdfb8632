"""What the attacks on `ckpt scan` are made of: a payload, and what must be said of a file."""

import struct

from attack import Attack, Outcome
from forge import call, mapping, name, npy, npz, number, program, text, torch_zip

SYSTEM = name("os", "system")
ECHO = text("echo this must never run > ran")
CALL = call(SYSTEM, ECHO)
OLD = b"cos\nsystem\n(S'echo this must never run > ran'\ntR."  # in protocol 0
EVIL = program(CALL)
GOOD = program(mapping(("w", number(1))))
WHOLE = torch_zip()
# A module of a torch.package, and a pickle that loads it under a known name.
MODULE = b"import os\nos.system('echo this must never run > ran')\nclass Namespace: pass\n"
OF_MODULE = b"\x80\2cargparse\nNamespace\n)\x81."


def hit(title, data, said="dangerous: os.system"):
    yield Attack(f"scan-{title}", data, {"scan": Outcome(1, said)})


def harmless(title, data, said=": safe"):
    yield Attack(f"scan-good-{title}", data, {"scan": Outcome(0, said)})


def hidden_objects(title, descr):
    """An array of objects, whose pickle goes on for longer than numbers are followed."""
    evil = b"\x80\2" + b"N0" * 40_000 + program(CALL)[2:]
    line = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}\n"
    yield from hit(f"{title}.npy", npy(line, evil))
    yield from hit(f"{title}.npz", npz(npy(line, evil)))


def unjudged(title, data, said):
    yield Attack(f"scan-{title}", data, {"scan": Outcome(3, said)})


def plain(title, code, said="dangerous: os.system", protocol=2):
    yield from hit(f"{title}.pkl", program(code, protocol), said)


def short(value):
    return b"\x8c" + bytes([len(value)]) + value


def octets(data):
    return b"B" + struct.pack("<I", len(data)) + data
