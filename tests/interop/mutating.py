"""Real checkpoints, changed at random where it hurts: in the pickle, with sizes and checksums put right around it, so
that the change gets as deep as it can."""

import io
import pickletools
import random
import re
import struct
import zipfile

import torch

NAMES = (
    b"torch FloatStorage",
    b"torch LongStorage",
    b"torch HalfStorage",
    b"torch ByteStorage",
    b"torch.storage UntypedStorage",
    b"torch._utils _rebuild_tensor_v2",
    b"torch._utils _rebuild_tensor",
    b"torch._utils _rebuild_parameter",
    b"torch._utils _rebuild_tensor_v3",
    b"collections OrderedDict",
    b"torch Size",
    b"torch float32",
    b"torch int64",
    b"torch device",
    b"builtins set",
    b"collections Counter",
)
BARE = b"()]}012NRabdelostu.\x81\x85\x86\x87\x88\x89Q"
NUMBERS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 24, 64, 127, 128, 255, 256, 32767, 65535, (1 << 31) - 1, -1, -2)


def seeds():
    """Small, and with all that a pickle of torch can hold."""
    torch.manual_seed(7)
    shared = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    return [
        model.state_dict(),
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "lr": 0.125, "best": None},
        {"a": shared, "t": shared.t(), "row": shared[1], "column": shared[:, 2], "tied": shared},
        [
            torch.ones(2, dtype=d)
            for d in (
                torch.float64,
                torch.float16,
                torch.bfloat16,
                torch.int64,
                torch.int8,
                torch.bool,
                torch.complex64,
            )
        ],
        (
            {"empty": torch.zeros(0, 3), "scalar": torch.tensor(1.5), 7: torch.nn.Parameter(torch.ones(2))},
            "words",
            b"bytes",
            1 << 70,
            (1, 2.5, True),
        ),
        torch.arange(6.0).expand(2, 6),
    ]


def saved(obj, legacy):
    out = io.BytesIO()
    torch.save(obj, out, _use_new_zipfile_serialization=not legacy)
    # A legacy file's keys are addresses in memory: here they are numbers, so that each run makes the same mutants.
    keys = {}
    return re.sub(
        rb"X[\x0d-\x10]\0\0\0(\d{13,16})",
        lambda m: b"X\2\0\0\0" + keys.setdefault(m[1], b"%d" % (10 + len(keys))),
        out.getvalue(),
    )


def pickle_ends(data, count):
    """Where each of the first `count` pickles ends."""
    ends, stream = [], io.BytesIO(data)
    for _ in range(count):
        for _ in pickletools.genops(stream):
            pass
        ends.append(stream.tell())
    return ends


class Mutator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        objects = seeds()
        self.zips = [self.members(saved(obj, False)) for obj in objects]
        self.legacy = [self.sections(saved(obj, True)) for obj in objects]
        self.ops = {}
        self.donors = [z["data.pkl"] for z in self.zips]

    def members(self, data):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {info.filename.partition("/")[2]: archive.read(info) for info in archive.infolist()}

    def sections(self, data):
        ends = [0, *pickle_ends(data, 5), len(data)]
        return [data[a:b] for a, b in zip(ends, ends[1:])]

    def starts(self, code):
        """Offsets of the instructions; only of pickles that are still whole."""
        if code not in self.ops:
            try:
                self.ops[code] = [at for _, _, at in pickletools.genops(code)]
            except Exception:
                self.ops[code] = []
        return self.ops[code]

    def span(self, code, longest=1):
        """[begin, end) of some instructions."""
        starts = [*self.starts(code), len(code)]
        if len(starts) < 3:
            return 0, 0
        first = self.random.randrange(1, len(starts) - 1)
        return starts[first], starts[min(first + self.random.randint(1, longest), len(starts) - 1)]

    def pickled(self, code):
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            code = self.random.choice(
                (
                    self.flip,
                    self.byte,
                    self.number,
                    self.number,
                    self.number,
                    self.word,
                    self.word,
                    self.drop,
                    self.double,
                    self.swap,
                    self.splice,
                    self.bare,
                    self.name,
                )
            )(code)
        return code

    def flip(self, data):
        if not data:
            return data
        at = self.random.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 1 << self.random.randrange(8)]) + data[at + 1 :]

    def byte(self, data):
        if not data:
            return data
        at = self.random.randrange(len(data))
        return data[:at] + self.random.randbytes(1) + data[at + 1 :]

    def number(self, code):
        widths = {b"K": 1, b"M": 2, b"J": 4, b"h": 1, b"q": 1}
        places = [at for at in self.starts(code) if code[at : at + 1] in widths]
        if not places:
            return code
        at = self.random.choice(places)
        width = widths[code[at : at + 1]]
        value = self.random.choice(NUMBERS) % (1 << 8 * width)
        return code[: at + 1] + value.to_bytes(width, "little") + code[at + 1 + width :]

    def word(self, code):
        """Another text in place of one, with its length put right."""
        places = [at for at in self.starts(code) if code[at : at + 1] == b"X"]
        if not places:
            return code
        at = self.random.choice(places)
        size = struct.unpack_from("<I", code, at + 1)[0]
        new = self.random.choice(
            (
                b"0",
                b"1",
                b"2",
                b"9",
                b"cpu",
                b"cuda:0",
                b"meta",
                b"storage",
                b"",
                b"a",
                b"../0",
                b"weight",
                "\u202e".encode(),
                b"module.weight",
            )
        )
        return code[: at + 1] + struct.pack("<I", len(new)) + new + code[at + 5 + size :]

    def drop(self, code):
        begin, end = self.span(code, 3)
        return code[:begin] + code[end:]

    def double(self, code):
        begin, end = self.span(code, 8)
        return code[:end] + code[begin:end] + code[end:]

    def swap(self, code):
        begin, end = self.span(code)
        inner = self.starts(code[:end] + b".")
        return code[:begin] + code[end : end + 1] + code[begin:end] + code[end + 1 :] if inner else code

    def splice(self, code):
        donor = self.random.choice(self.donors)
        begin, end = self.span(donor, 12)
        at, _ = self.span(code)
        return code[:at] + donor[begin:end] + code[at:]

    def bare(self, code):
        begin, end = self.span(code)
        return code[:begin] + bytes([self.random.choice(BARE)]) + code[begin if self.random.random() < 0.5 else end :]

    def name(self, code):
        places = [at for at in self.starts(code) if code[at : at + 1] == b"c"]
        if not places:
            return code
        at = self.random.choice(places)
        end = code.index(b"\n", code.index(b"\n", at) + 1) + 1
        return code[:at] + b"c" + self.random.choice(NAMES).replace(b" ", b"\n") + b"\n" + code[end:]

    def mutant(self):
        """The bytes of one more file."""
        return self.zip_mutant() if self.random.random() < 0.6 else self.legacy_mutant()

    def zip_mutant(self):
        members = dict(self.random.choice(self.zips))
        data = [name for name in members if name.startswith("data/")]
        kind = self.random.random()
        if kind < 0.82:
            members["data.pkl"] = self.pickled(members["data.pkl"])
        elif kind < 0.88:
            name = self.random.choice(data)
            members[name] = self.random.choice((self.flip, lambda b: b[:-1], lambda b: b + b"\0" * 4))(members[name])
        elif kind < 0.92:
            members.pop(self.random.choice(list(members)))
        elif kind < 0.94:
            members["byteorder"] = self.random.choice((b"big", b"little", b"middle", b""))
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, content in members.items():
                archive.writestr(zipfile.ZipInfo(f"archive/{name}", (1980, 1, 1, 0, 0, 0)), content)
        return self.flip(out.getvalue()) if kind >= 0.94 else out.getvalue()

    def legacy_mutant(self):
        sections = list(self.random.choice(self.legacy))
        kind = self.random.random()
        if kind < 0.75:
            sections[3] = self.pickled(sections[3])
        elif kind < 0.85:
            sections[4] = self.pickled(sections[4])
        elif kind < 0.93:
            sections[5] = self.random.choice((self.flip, lambda b: b[:-1], lambda b: b + b"\0" * 4))(sections[5])
        else:
            at = self.random.randrange(1, 4)
            sections[at] = self.flip(sections[at])
        return b"".join(sections)
