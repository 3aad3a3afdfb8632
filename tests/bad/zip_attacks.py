"""Members of archives: their names, flags, methods and bytes; and lawful strange ones. What says where they stand:
zip_header_attacks.py. Each in gzip too."""

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from attack import Attack, also_in_gzip, fine, in_the_bytes, refused, unsupported
from forge import (
    FLOATS,
    WEIGHT,
    Part,
    archive,
    deflated,
    first,
    mapping,
    name,
    program,
    storage,
    tensor,
    torch_parts,
    torch_zip,
)

VERSION = Part("r/version", b"3\n")
PICKLE = program(mapping(("weight", WEIGHT)))
PAYLOAD = program(name("os", "system") + b")R")


@dataclass
class Kind:
    """What archives are that lie. It is member 1 that does where none is named: it is stored, and behind it are others."""

    name: str  # of the attacks
    suffix: str
    parts: Callable

    def attack(self, title, data, outcomes):
        return Attack(f"{self.name}-{title}{self.suffix}", data, outcomes)

    def changed(self, index=1, **lies):
        parts = self.parts()
        for field, value in lies.items():
            setattr(parts[index], field, value)
        return archive(parts)

    def with_descriptor(self, end):
        return self.changed(flags=0x808, local_size=0, local_compressed=0, local_crc=0, after=end)


TORCH = Kind("zip", ".pt", torch_parts)  # 0: the pickle, 1: storage 0, 2: version


def descriptor(data=FLOATS, crc=None, size=None, wide=False):
    crc, size = first(crc, zlib.crc32(data)), first(size, len(data))
    return struct.pack("<4sIQQ" if wide else "<4sIII", b"PK\7\x08", crc, size, size)


def beside(kind):
    """Members that no archive may have beside its own."""
    names = [part.name for part in kind.parts()]
    for title, part, said in (
        ("member-twice", Part(names[1], b"\0" * 16), f"two members named '{names[1]}'"),
        ("first-twice", Part(names[0], PAYLOAD), f"two members named '{names[0]}'"),
        ("parent", Part("r/../../etc/cron.d/x", b"x"), "'..' in member name"),
        ("absolute", Part("/etc/passwd", b"x"), "an absolute path as member name"),
        ("drive", Part("C:\\x", b"x"), "in member name"),
        ("backslash", Part("r\\data\\1", b"x"), "a backslash in member name"),
        ("nul", Part("r/data/1\0.txt", b"x"), "a NUL in member name"),
        ("no-name", Part("", b"x"), "a member without a name"),
        ("link", Part("r/link", b"/etc/passwd", attributes=0o120777 << 16), "is a symbolic link"),
        ("device", Part("r/device", attributes=0o020666 << 16), "is a device, pipe or socket"),
        ("pipe", Part("r/pipe", attributes=0o010666 << 16), "is a device, pipe or socket"),
        ("folder-with-bytes", Part("r/folder/", b"x"), "is a folder of 1 bytes"),
        ("escape-in-name", Part("r/\x1b]0;owned\x07/../x", b"x"), "\\x1b]0;owned\\x07"),
        ("right-to-left-in-name", Part("r/\u202egpj.exe/../x", b"x"), "\\u202e"),
    ):
        yield kind.attack(title, archive([*kind.parts(), part]), refused(said))
    said = f"member '{names[1]}' is a folder of {len(kind.parts()[1].data)} bytes"
    yield kind.attack("folder-attribute", kind.changed(attributes=0x10), refused(said))
    extra = b"\1" + struct.pack("<I", zlib.crc32(names[1].encode())) + b"r/data/999"
    second_name = kind.changed(extra=struct.pack("<HH", 0x7075, len(extra)) + extra)
    yield kind.attack("second-name", second_name, unsupported("a second name (Unicode path extra field)"))


def names():
    for title, parts, said in (
        ("case-folded", [*torch_parts(), Part("r/DATA.PKL", PAYLOAD)], "equal but for case"),
        (
            "case-folded-many",
            [*torch_parts(), *(Part("r/data/" + "".join(c.upper() if i >> n & 1 else c for n, c in enumerate("abcdefghijklmn")))
                               for i in range(1 << 14))],
            "equal but for case",
        ),
        ("case-folded-root", [*torch_parts(), Part("R/version", b"3\n")], "equal but for case"),
        ("two-roots", [*torch_parts(), Part("other/data/9", FLOATS)], "lies outside the folder 'r'"),
        (
            "two-pickles",
            [*torch_parts(), Part("other/data.pkl", PAYLOAD)],
            "the archive holds two pickles, 'r/data.pkl' and 'other/data.pkl'",
        ),
        ("pickle-below", [*torch_parts(), Part("r/x/data.pkl", PAYLOAD)], "the archive holds two pickles"),
        ("pickle-deep", [Part("r/x/data.pkl", PICKLE), VERSION], "the archive's pickle is 'r/x/data.pkl'"),
        ("no-version", torch_parts()[:2], "the archive has no member 'r/version'"),
    ):
        yield Attack(f"zip-{title}.pt", archive(parts), refused(said))
    yield Attack(
        "zip-no-pickle.pt",
        archive([Part("r/data/0", FLOATS), VERSION]),
        unsupported("a zip archive without a checkpoint"),
    )
    yield Attack(
        "zip-pickle-in-a-folder-name.pt",
        archive([Part("r/data.pkl/", b""), VERSION]),
        unsupported("a zip archive without a checkpoint"),
    )
    for title, text, outcomes in (
        ("words", b"three", refused("member 'version' says 'three', expected a number")),
        ("nothing", b"", refused("member 'version' says ''")),
        ("zero", b"0\n", unsupported("member 'version' says '0', expected 1 to 10")),
        ("to-come", b"11\n", unsupported("member 'version' says '11'")),
        ("negative", b"-3\n", refused("member 'version' says '-3'")),
        ("enormous", b"9" * 30, unsupported("member 'version' says '999")),
        ("blanks", b"3" + b" " * (1 << 21), fine("weight")),
    ):
        yield Attack(f"zip-version-of-{title}.pt", archive([*torch_parts()[:2], Part("r/version", text)]), outcomes)
    yield Attack("zip-empty.pt", archive([]), unsupported("an empty zip archive"))


def contents():
    yield Attack("zip-bad-crc.pt", TORCH.changed(crc=1, local_crc=1), in_the_bytes("member 'r/data/0'"))
    yield Attack("zip-bad-crc-of-the-pickle.pt", TORCH.changed(0, crc=1, local_crc=1), refused("the bytes have CRC-32"))
    yield Attack("zip-bad-crc-of-version.pt", TORCH.changed(2, crc=1, local_crc=1), refused("member 'r/version'"))
    damaged = bytearray(deflated(bytes(range(256)) * 64))
    damaged[len(damaged) // 2] ^= 0x40
    parts = torch_parts(program(mapping(("w", tensor(storage(elements=4096), (4096,))))), {"0": b""})
    parts[1] = Part(
        "r/data/0", bytes(damaged), method=8, size=16384, local_size=16384, crc=zlib.crc32(bytes(range(256)) * 64)
    )
    yield Attack("zip-bad-deflate.pt", archive(parts), in_the_bytes("r/data/0"))
    for title, data, size, said in (
        ("deflate-cut", deflated(FLOATS * 50)[:-3], 800, "the deflate stream is cut off"),
        ("deflate-longer", deflated(FLOATS * 51), 800, "inflates to more than 800 bytes"),
        ("deflate-shorter", deflated(FLOATS * 49), 800, "inflates to 784 bytes"),
        ("deflate-of-nothing", b"\3\0", 800, "inflates to 0 bytes"),
    ):
        parts = torch_parts(program(mapping(("w", tensor(storage(elements=200), (200,))))), {"0": b""})
        parts[1] = Part("r/data/0", data, method=8, size=size, local_size=size, crc=5)
        yield Attack(f"zip-{title}.pt", archive(parts), in_the_bytes(said))
    many = bytes(1 << 20)
    bomb = [
        Part("r/data.pkl", PICKLE),
        Part("r/data/0", FLOATS, method=8, compressed=16, size=16 * 1033, local_size=16 * 1033),
        VERSION,
    ]
    yield Attack("zip-ratio.pt", archive(bomb), refused("claims to grow from 16 to 16528 bytes"))
    big = program(mapping(("w", tensor(storage(elements=1 << 26), (1 << 26,)))))
    packed = deflated(many * 256)
    yield Attack(
        "zip-deflated-zeros.pt",
        archive(
            [
                Part("r/data.pkl", big),
                Part("r/data/0", packed, method=8, size=1 << 28, local_size=1 << 28, crc=zlib.crc32(many * 256)),
                VERSION,
            ]
        ),
        fine(),
    )
    yield Attack(
        "zip-byteorder-word.pt",
        archive([*torch_parts(), Part("r/byteorder", b"\x1b[31mmiddle")]),
        refused("member 'byteorder' says '\\x1b[31mmiddle'"),
    )
    yield Attack(
        "zip-byteorder-bomb.pt",
        archive([*torch_parts(), Part("r/byteorder", b"l" * ((64 << 20) + 1), deflate=True)]),
        refused("holds 67108865 bytes or more, expected at most 67108864"),
    )
    yield Attack(
        "zip-storage-short.pt", torch_zip(PICKLE, {"0": FLOATS[:12]}), refused("member 'r/data/0' holds 12 bytes")
    )
    yield Attack(
        "zip-storage-long.pt", torch_zip(PICKLE, {"0": FLOATS * 2}), refused("member 'r/data/0' holds 32 bytes")
    )
    yield Attack(
        "zip-storage-missing.pt",
        torch_zip(PICKLE, {}),
        refused("the pickle names storage '0', which the archive does not hold"),
    )
    for title, key in (("parent", "../../x"), ("absolute", "/etc/passwd"), ("empty", ""), ("escape", "\x1b[2J\x07")):
        shown = key.replace("\x1b", "\\x1b").replace("\x07", "\\x07")
        yield Attack(
            f"zip-storage-key-{title}.pt",
            torch_zip(program(tensor(storage(key))), {}),
            refused(f"the pickle names storage '{shown}', which the archive does not hold"),
        )


def controls():
    plain = torch_parts()
    yield Attack("zip-plain.pt", archive(plain), fine("weight"))
    yield Attack("zip-deflated.pt", archive([Part(p.name, p.data, deflate=True) for p in plain]), fine("weight"))
    yield Attack("zip-reversed.pt", archive(plain[::-1]), fine("weight"))
    yield Attack("zip-64.pt", archive(plain, zip64=True), fine("weight"))
    yield Attack(
        "zip-64-open.pt",
        archive(plain, zip64=True, count=65535, directory_size=0xFFFFFFFF, directory_offset=0xFFFFFFFF),
        fine("weight"),
    )
    yield Attack("zip-comment.pt", archive(plain, comment=b"made by hand"), fine("weight"))
    yield Attack(
        "zip-after.pt", archive(plain, after=b"\n<!-- signed -->"), fine("weight", "16 bytes follow the archive")
    )
    yield Attack("zip-gap.pt", archive([plain[0], Part("r/data/0", FLOATS, gap=bytes(100)), plain[2]]), fine("weight"))
    yield Attack("zip-folders.pt", archive([Part("r/"), *plain, Part("r/code/")][1:]), fine("weight"))
    for title, end in (
        ("", descriptor()),
        ("-wide", descriptor(wide=True)),
        ("-unsigned", descriptor()[4:]),
        ("-unsigned-wide", descriptor(wide=True)[4:]),
    ):
        yield Attack(f"zip-descriptor{title}.pt", TORCH.with_descriptor(end), fine("weight"))
    yield Attack(
        "zip-no-crc.pt",
        archive([Part(p.name, p.data, crc=0) for p in plain]),
        fine("weight", "the archive has no checksums"),
    )
    yield Attack("zip-unused-storage.pt", archive([*plain, Part("r/data/77", FLOATS)]), fine("weight"))
    yield Attack("zip-padding.pt", TORCH.changed(local_extra=struct.pack("<HH", 0x4246, 40) + b"Z" * 40), fine("weight"))
    yield Attack("zip-root-escape.pt", archive(torch_parts(root="\x1b[31mr\x07")), fine("weight"))
    yield Attack("zip-old-version-place.pt", archive([*plain[:2], Part("r/.data/version", b"2\n")]), fine("weight"))
    yield Attack("zip-version-10.pt", archive([*plain[:2], Part("r/version", b" +10 and more")]), fine("weight"))
    yield Attack("zip-big-endian.pt", archive([*plain, Part("r/byteorder", b"big")]), fine("weight"))
    yield Attack("zip-alignment-word.pt", archive([*plain, Part("r/.storage_alignment", b"-1e99")]), fine("weight"))
    yield Attack(
        "zip-many-members.pt",
        archive([*plain, *(Part(f"r/extra/{i}") for i in range(70_000))], zip64=True, count=65535),
        fine("weight"),
    )


def attacks():
    for group in (beside(TORCH), names(), contents(), controls()):
        yield from also_in_gzip(group)
