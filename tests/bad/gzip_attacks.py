"""gzip around a torch zip and a legacy file: cut, damaged, lying, nested, blown up."""

import gzip
import struct
import zlib

from attack import Attack, Outcome, fine, refused, unsupported
from forge import (
    Part,
    archive,
    deflated,
    gzip_index,
    gzip_member,
    gzip_records,
    legacy,
    mapping,
    program,
    storage,
    tensor,
    torch_zip,
)


def member(data, flags=0, fields=b"", crc=None, size=None, method=8, body=None, level=9):
    trailer = struct.pack(
        "<II", zlib.crc32(data) if crc is None else crc, (len(data) if size is None else size) & 0xFFFFFFFF
    )
    return (
        struct.pack("<2sBBIBB", b"\x1f\x8b", method, flags, 0, 0, 255)
        + fields
        + (deflated(data, level) if body is None else body)
        + trailer
    )


def zeros(count, level=9):
    """A gzip member of so many zeros, without holding them."""
    packer, crc, block = zlib.compressobj(level, zlib.DEFLATED, -15), 0, bytes(1 << 20)
    out = bytearray(struct.pack("<2sBBIBB", b"\x1f\x8b", 8, 0, 0, 0, 255))
    for _ in range(count >> 20):
        out += packer.compress(block)
        crc = zlib.crc32(block, crc)
    return bytes(out) + packer.flush() + struct.pack("<II", crc, count & 0xFFFFFFFF)


def of_either(title, make, outcomes):
    """`make` of a torch zip's and of a legacy file's bytes."""
    yield Attack(f"gzip-{title}.pt.gz", make(torch_zip()), outcomes)
    yield Attack(f"gzip-{title}-legacy.pt.gz", make(legacy()), outcomes)


def members():
    for data, kind in ((torch_zip(), ""), (legacy(), "-legacy")):
        whole = member(data)
        trailer = len(whole) - 8
        yield Attack(
            f"gzip-bad-crc{kind}.pt.gz", member(data, crc=7), refused("gzip member 1: its bytes have CRC-32", trailer)
        )
        yield Attack(
            f"gzip-bad-size{kind}.pt.gz",
            member(data, size=len(data) + 1),
            refused(f"gzip member 1: it inflates to {len(data)} bytes", trailer + 4),
        )
        yield Attack(
            f"gzip-size-of-4-gib{kind}.pt.gz",
            member(data, size=0xFFFFFFFF),
            refused(f"gzip member 1: it inflates to {len(data)} bytes", trailer + 4),
        )
        for title, at in (("in-the-stream", trailer // 2), ("before-the-end", trailer - 1)):
            yield Attack(
                f"gzip-cut-{title}{kind}.pt.gz", whole[:at], refused("gzip member 1: the deflate stream is cut off", at)
            )
        for title, at in (("before-the-trailer", trailer), ("in-the-crc", trailer + 2), ("in-the-size", trailer + 6)):
            yield Attack(
                f"gzip-cut-{title}{kind}.pt.gz", whole[:at], refused("gzip member 1: the trailer is cut off", at)
            )
        half = len(data) // 2
        two = member(data[:half]), member(data[half:])
        yield Attack(
            f"gzip-second-bad-crc{kind}.pt.gz",
            two[0] + member(data[half:], crc=7),
            refused("gzip member 2: its bytes have CRC-32"),
        )
        yield Attack(
            f"gzip-second-cut{kind}.pt.gz",
            two[0] + two[1][:-20],
            refused(
                "gzip member 2: ",
            ),
        )
        yield Attack(
            f"gzip-second-missing{kind}.pt.gz",
            two[0],
            refused("the pickle ends" if kind else "no end of central directory"),
        )
        yield Attack(
            f"gzip-second-header-cut{kind}.pt.gz",
            two[0] + two[1][:5],
            refused("gzip member 2: the header is cut off", len(two[0]) + 5),
        )
        yield Attack(
            f"gzip-second-lone-byte{kind}.pt.gz",
            two[0] + b"\x1f",
            refused("gzip member 2: the header is cut off", len(two[0]) + 1),
        )
        yield Attack(
            f"gzip-second-method{kind}.pt.gz",
            two[0] + member(data[half:], method=7),
            unsupported("gzip member 2: compression method 7", len(two[0]) + 2),
        )
        yield Attack(
            f"gzip-second-reserved{kind}.pt.gz",
            two[0] + member(data[half:], flags=0x80),
            refused("gzip member 2: reserved flags are set", len(two[0]) + 3),
        )
        yield Attack(
            f"gzip-junk-between{kind}.pt.gz",
            two[0] + b"junk" + two[1],
            refused("the pickle ends" if kind else "no end of central directory"),
        )
        yield Attack(f"gzip-swapped{kind}.pt.gz", two[1] + two[0], unsupported("expected a PyTorch checkpoint"))
        yield Attack(
            f"gzip-bad-stream{kind}.pt.gz",
            member(data, body=b"\xff" * 100),
            refused("gzip member 1: a deflate block has an invalid header"),
        )
        yield Attack(f"gzip-no-stream{kind}.pt.gz", member(data, body=b""), refused("gzip member 1: "))
        yield Attack(f"gzip-lookback{kind}.pt.gz", member(data, body=b"\x63\x02\x00\x00"), refused("gzip member 1: "))


def headers():
    wrong = "the header is cut off"
    for title, flags, fields, outcome in (
        ("extra-lies", 4, struct.pack("<H", 0xFFFF) + b"abc", refused(f"gzip member 1: {wrong}")),
        ("extra-cut", 4, None, refused(f"gzip member 1: {wrong}", 11)),
        ("name-without-end", 8, b"name", None),
        ("comment-without-end", 16, b"c", None),
        ("header-crc", 2, b"\0\0", refused("gzip member 1: the header has CRC-16")),
    ):
        if title == "extra-cut":
            yield Attack(f"gzip-{title}.pt.gz", struct.pack("<2sBBIBB", b"\x1f\x8b", 8, 4, 0, 0, 255) + b"\1", outcome)
        elif outcome is None:
            head = struct.pack("<2sBBIBB", b"\x1f\x8b", 8, flags, 0, 0, 255) + fields + b"x" * 100
            yield Attack(f"gzip-{title}.pt.gz", head, refused(f"gzip member 1: {wrong}", len(head)))
        else:
            yield from of_either(title, lambda data: member(data, flags, fields)[: 10 + 5 + 20_000], outcome)
    reserved = member(torch_zip(), flags=0x20)
    yield Attack("gzip-reserved.pt.gz", reserved, unsupported("this is a gzip file with a broken header"))
    yield Attack(
        "gzip-method.pt.gz", member(torch_zip(), method=7), unsupported("this is a gzip file with a broken header")
    )
    yield Attack("gzip-magic-only.pt.gz", b"\x1f\x8b", unsupported("this is a gzip file with a broken header"))
    yield Attack(
        "gzip-header-only.pt.gz",
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
        refused("gzip member 1: the deflate stream is cut off", 10),
    )
    yield Attack("gzip-header-cut.pt.gz", b"\x1f\x8b\x08\0\0\0", refused("gzip member 1: the header is cut off", 6))


def layers():
    inner = gzip.compress(torch_zip(), mtime=0)
    twice = gzip.compress(inner, mtime=0)
    yield Attack("gzip-thrice.pt.gz", gzip.compress(twice, mtime=0), refused("gzip within gzip within gzip", verify=3))
    yield Attack(
        "gzip-seven-times.pt.gz",
        gzip.compress(gzip.compress(gzip.compress(gzip.compress(gzip.compress(twice))))),
        refused("gzip within gzip within gzip", verify=3),
    )
    yield Attack(
        "gzip-inner-bad-crc.pt.gz",
        gzip.compress(member(torch_zip(), crc=7)),
        refused("gzip member 1: its bytes have CRC-32"),
    )
    yield Attack("gzip-of-nothing.pt.gz", gzip.compress(b""), unsupported("the file is empty"))
    yield Attack("gzip-of-text.pt.gz", gzip.compress(b"hello, hello"), unsupported("this is text: 'hello, hello'"))
    gib = zeros(1 << 30)
    yield Attack("gzip-of-zeros.pt.gz", gib, unsupported("nothing but zeros"))
    yield Attack("gzip-of-zip-and-zeros.pt.gz", member(torch_zip()) + gib, refused("no end of central directory"))
    # Some 100 KiB that inflate to 128 MiB of gzip that inflate to 128 GiB.
    yield Attack(
        "gzip-bomb-in-gzip.pt.gz",
        gzip.compress(member(torch_zip()) + gib * 128, mtime=0),
        refused("inflates past"),
    )
    # Deflated members multiply what gzip has blown up already.
    elements = 3 << 28
    code = program(mapping(("w", tensor(storage(elements=elements), (elements,)))))
    claim = Part("r/data/0", bytes(4 * elements // 1032 + 1), method=8, size=4 * elements, local_size=4 * elements)
    whole = archive([Part("r/data.pkl", code), claim, Part("r/version", b"3\n")])
    yield Attack(
        "gzip-of-deflated-3-gib.pt.gz",
        gzip.compress(whole, mtime=0),
        refused("the archive's compressed members claim 3221225472 bytes"),
    )
    yield Attack(
        "gzip-bomb-after-legacy.pt.gz",
        gzip.compress(member(legacy()) + gib * 128, mtime=0),
        refused("inflates past"),
    )


def indexes():
    """What stands at the end of a file may not be true of it."""
    for data, kind in ((torch_zip(), ""), (legacy(), "-legacy")):
        sizes = [100, 150, len(data) - 250]
        members = [gzip_member(data[:100]), gzip_member(data[100:250]), gzip_member(data[250:])]
        whole, records = b"".join(members), gzip_records(members, sizes)

        def lying(change, behind=b""):
            return whole + behind + gzip_index([change(i, *record) for i, record in enumerate(records)])

        bare = lying(lambda i, *record: record)
        by_the_index = refused("expected what the file's index says")
        by_the_index["verify"] = Outcome(1, "file's index says")  # as all that reads by it will find
        yield Attack(f"gzip-index{kind}.pt.gz", bare, fine("weight"))
        yield Attack(f"gzip-index-cut{kind}.pt.gz", bare[:-1], refused("the trailer is cut off"))
        yield Attack(f"gzip-index-and-more{kind}.pt.gz", bare + members[0], fine("weight", "bytes follow" if kind else ""))
        moved = lying(lambda i, size, inflated, crc: (size + (i == 0) - (i == 1), inflated, crc))
        yield Attack(f"gzip-index-moved{kind}.pt.gz", moved, by_the_index)
        shifted = lying(lambda i, size, inflated, crc: (size, inflated + (i == 0) - (i == 1), crc))
        yield Attack(f"gzip-index-shifted{kind}.pt.gz", shifted, by_the_index)
        # By the index one file, by the bytes another one.
        other = whole + gzip_index([(len(whole), len(data), zlib.crc32(whole))])
        yield Attack(f"gzip-index-of-one{kind}.pt.gz", other, by_the_index)


def many_faults():
    """Each member has one of its own to be told of, and none is to be compared with all the others."""
    data, count = legacy(), 100_000
    first = gzip_member(data)

    def indexed(others, crc):
        return gzip_index([(len(first), len(data), zlib.crc32(first)), *[(len(others), 1, crc)] * count])

    wrong, right = member(b"a", crc=7), member(b"a")
    outcomes = refused("gzip member 2: its bytes have CRC-32")
    yield Attack("gzip-many-faults.pt.gz", first + wrong * count, outcomes)
    yield Attack("gzip-many-faults-by-index.pt.gz", first + wrong * count + indexed(wrong, zlib.crc32(wrong)), outcomes)
    outcomes = {**fine("weight"), "verify": Outcome(1, f"{count - 100} more gzip members are wrong")}
    yield Attack("gzip-many-faults-of-the-index.pt.gz", first + right * count + indexed(right, 0), outcomes)


def controls():
    for data, kind in ((torch_zip(), ""), (legacy(), "-legacy")):
        fields = struct.pack("<H", 5) + b"extra" + b"name\0" + b"comment\0"
        head = struct.pack("<2sBBIBB", b"\x1f\x8b", 8, 4 + 8 + 16 + 2, 0, 0, 255) + fields
        checked = fields + struct.pack("<H", zlib.crc32(head) & 0xFFFF)
        yield Attack(f"gzip-all-fields{kind}.pt.gz", member(data, 4 + 8 + 16 + 2, checked), fine("weight"))
        yield Attack(
            f"gzip-byte-a-member{kind}.pt.gz",
            b"".join(member(data[i : i + 1]) for i in range(len(data))),
            fine("weight"),
        )
        yield Attack(
            f"gzip-empty-members{kind}.pt.gz", member(b"") * 1000 + member(data) + member(b"") * 1000, fine("weight")
        )
        yield Attack(f"gzip-padding{kind}.pt.gz", member(data) + bytes(10_000), fine("weight"))
        yield Attack(
            f"gzip-trailing{kind}.pt.gz",
            member(data) + b"what is this?",
            fine("weight", "13 bytes follow the gzip stream"),
        )
        yield Attack(f"gzip-twice{kind}.pt.gz", member(member(data)), fine("weight"))
        yield Attack(f"gzip-stored{kind}.pt.gz", member(data, level=0), fine("weight"))
        yield Attack(f"gzip-suffix-missing{kind}.pt", member(data), fine("weight"))


def attacks():
    for group in (members, headers, layers, indexes, many_faults, controls):
        yield from group()
