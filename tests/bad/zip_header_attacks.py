"""Archives whose headers, descriptors and directory contradict each other, that hide, that overlap, that lie about sizes
and ends."""

import struct

from attack import Attack, refused, unsupported
from forge import FLOATS, Part, archive, program, torch_parts, torch_zip
from zip_attacks import PICKLE, changed, descriptor, with_descriptor


def disagreements():
    """Where directory and local header differ, readers differ: what one checks, another would load."""
    at = len(archive(torch_parts()[:1])) - 22 - 46 - len("r/data.pkl")  # of storage 0's local header
    for title, lies, said, where in (
        ("name", {"local_name": "r/data/1"}, "another name in the local header of member 'r/data/0'", at + 30),
        ("name-length", {"local_name": "r/data/00"}, "another name in the local header of member 'r/data/0'", at + 30),
        ("method", {"local_method": 8}, "method 8 in the local header of member 'r/data/0'", at + 8),
        ("flags", {"local_flags": 0x800}, "flags 2048 in the local header of member 'r/data/0'", at + 6),
        ("crc", {"local_crc": 7}, "CRC-32 7 in the local header of member 'r/data/0'", at + 14),
        ("size", {"local_size": 15}, "size 15 in the local header of member 'r/data/0'", at + 22),
        (
            "compressed-size",
            {"local_compressed": 15},
            "compressed size 15 in the local header of member 'r/data/0'",
            at + 18,
        ),
        (
            "open-size",
            {"local_size": 0, "local_compressed": 0},
            "size 0 in the local header of member 'r/data/0'",
            at + 22,
        ),
        ("offset", {"offset": at + 1}, "no local header of member 'r/data/0'", at + 1),
        ("offset-to-another", {"offset": 0}, "overlaps", 0),
        ("offset-to-the-directory", {"offset": 1 << 31}, "no local header of member 'r/data/0'", 1 << 31),
    ):
        yield Attack(f"zip-local-{title}.pt", changed(**lies), refused(said, where))
    yield Attack(
        "zip-local-name-of-the-pickle.pt",
        changed(0, local_name="r/evil.pkl"),
        refused("another name in the local header of member 'r/data.pkl'", 30),
    )
    yield Attack("zip-disk.pt", changed(disk=1), unsupported("member 'r/data/0' lies on disk 1"))
    for title, flags, said in (
        ("encrypted", 1, "is encrypted"),
        ("strong-encryption", 0x41, "is encrypted"),
        ("masked", 0x2000, "is encrypted"),
        ("patch", 0x20, "has flags 32"),
        ("unknown", 0x8000, "has flags 32768"),
    ):
        yield Attack(f"zip-{title}.pt", changed(flags=flags), refused(said))
    for method in (1, 9, 12, 14, 93, 95, 99):
        yield Attack(f"zip-method-{method}.pt", changed(method=method), refused(f"is compressed by method {method}"))


def places():
    pair = [Part("r/data/0", FLOATS), Part("r/data/1", FLOATS)]
    first, second = torch_parts()[0], Part("r/version", b"3\n")
    nested = archive([Part("r/data/1", b"x" * 16)])[: 30 + 8 + 16]
    shell = [first, Part("r/data/0", nested), second]
    inner = 30 + len(first.name) + len(PICKLE) + 30 + len("r/data/0")
    overlapping = archive([*shell, Part("r/data/1", b"x" * 16, offset=inner)])
    yield Attack("zip-member-in-a-member.pt", overlapping, refused("member 'r/data/1' overlaps 'r/data/0'", inner))
    same = archive(
        [
            first,
            pair[0],
            Part("r/data/1", FLOATS, offset=30 + len(first.name) + len(PICKLE), local_name="r/data/1"),
            second,
        ]
    )
    yield Attack("zip-members-share-bytes.pt", same, refused("overlaps"))
    for title, lies, said in (
        (
            "size-past-the-end",
            {"size": 1 << 30, "compressed": 1 << 30, "local_size": 1 << 30, "local_compressed": 1 << 30},
            "reaches into the directory",
        ),
        (
            "size-into-the-next",
            {"size": 40, "compressed": 40, "local_size": 40, "local_compressed": 40},
            "overlaps 'r/data/0'",
        ),
        ("stored-in-two-sizes", {"size": 20, "local_size": 20}, "is stored in 16 bytes"),
        (
            "all-ones-without-zip64",
            {"size": 0xFFFFFFFF, "compressed": 0xFFFFFFFF},
            "a size, offset or disk of all ones",
        ),
        ("extra-too-long", {"extra": struct.pack("<HH", 0x4246, 500) + b"Z" * 8}, "an extra field of 500 bytes"),
        (
            "zip64-too-short",
            {"size": 0xFFFFFFFF, "extra": struct.pack("<HHI", 1, 4, 16)},
            "a ZIP64 extra field of 4 bytes",
        ),
        (
            "zip64-twice",
            {"size": 0xFFFFFFFF, "compressed": 0xFFFFFFFF, "extra": struct.pack("<HHQQ", 1, 16, 16, 16) * 2},
            "a second ZIP64 extra field",
        ),
        (
            "zip64-size-2-63",
            {"size": 0xFFFFFFFF, "compressed": 0xFFFFFFFF, "extra": struct.pack("<HHQQ", 1, 16, 1 << 63, 1 << 63)},
            "reaches into the directory",
        ),
        (
            "zip64-size-most",
            {
                "size": 0xFFFFFFFF,
                "compressed": 0xFFFFFFFF,
                "extra": struct.pack("<HHQQ", 1, 16, (1 << 64) - 1, (1 << 64) - 1),
            },
            "reaches into the directory",
        ),
        (
            "zip64-offset-most",
            {"offset": 0xFFFFFFFF, "extra": struct.pack("<HHQ", 1, 8, (1 << 64) - 20)},
            "no local header of member 'r/data/0'",
        ),
    ):
        yield Attack(f"zip-{title}.pt", changed(**lies), refused(said))
    for title, end, said in (
        ("crc", descriptor(crc=1), "CRC-32 1 in the data descriptor of member 'r/data/0'"),
        ("size", descriptor(size=12), "no data descriptor behind member 'r/data/0'"),
        ("signature", b"PK\7\7" + descriptor()[4:], "no data descriptor behind member 'r/data/0'"),
        ("missing", bytes(16), "no data descriptor behind member 'r/data/0'"),
        ("no-room", b"", "no data descriptor behind member 'r/data/0'"),
    ):
        yield Attack(f"zip-descriptor-{title}.pt", with_descriptor(end), refused(said))


def ends():
    parts, whole = torch_parts(), torch_zip()
    end = len(whole) - 22
    directory = end - sum(46 + len(p.name) for p in parts)
    for title, shape, said, at in (
        ("count-65535", {"count": 65535}, "bytes for 65535 members", directory),
        ("count-one-more", {"count": 4}, "bytes for 4 members", directory),
        ("count-one-less", {"count": 2}, "bytes after the last record of the directory", end - 46 - 9),
        ("count-zero", {"count": 0}, "bytes after the last record of the directory", directory),
        ("directory-offset", {"directory_offset": 5}, "bytes at byte 5", end + 12),
        ("directory-offset-past", {"directory_offset": 1 << 31}, "bytes at byte 2147483648", end + 12),
        ("directory-size", {"directory_size": 10}, "a directory of 10 bytes", end + 12),
        ("directory-size-4-gib", {"directory_size": 0xFFFFFFFE}, "a directory of 4294967294 bytes", end + 12),
        (
            "before-and-shifted",
            {"before": b"PK\3\4" + b"\0" * 26},
            "30 bytes before the first member of the archive",
            0,
        ),
        ("tail-in-the-directory", {"directory_tail": b"x" * 7}, "7 bytes after the last record of the directory", None),
        ("end-in-the-comment", {"comment": b"hidden: " + torch_zip(program(b"N"))}, "a directory of", None),
        ("end-in-the-comment-alone", {"comment": b"PK\5\6" + bytes(18)}, "a directory of 0 bytes at byte 0", None),
        ("ends-many", {"after": whole[end:] * 3}, "a directory of", None),
        ("zip64-count", {"zip64": (1 << 40, 100, 0)}, "the end record gives the number of members as 3", None),
        ("zip64-offset", {"zip64": (3, end - directory, 1)}, "the end record gives the directory's offset", None),
        ("zip64-size", {"zip64": (3, 1 << 62, directory)}, "the end record gives the directory's size", None),
        ("zip64-count-open", {"zip64": (1 << 62, end - directory, directory), "count": 65535}, "members", None),
    ):
        if title == "zip64-count-open":
            yield Attack(
                f"zip-{title}.pt",
                archive(parts, **shape),
                refused("an archive of 4611686018427387904 members, expected at most 16777216"),
            )
            continue
        yield Attack(f"zip-{title}.pt", archive(parts, **shape), refused(said, at))
    yield Attack("zip-split.pt", archive(parts, disk=1), unsupported("a zip archive split over several disks", end + 4))
    yield Attack(
        "zip-count-here.pt",
        archive(parts, count_here=1),
        unsupported("a zip archive split over several disks", end + 4),
    )
    lying_comment = archive(parts, comment_size=500)
    yield Attack(
        "zip-comment-past-the-end.pt",
        lying_comment,
        refused("an archive comment of 500 bytes reaches past the end of the file", end + 20),
    )
    yield Attack("zip-no-end.pt", whole[:end], refused("no end of central directory", end))
    yield Attack("zip-cut.pt", whole[: end // 2], refused("no end of central directory", end // 2))
    yield Attack("zip-only-magic.pt", b"PK\3\4", refused("no end of central directory", 4))
    yield Attack(
        "zip-end-too-far.pt", whole + bytes(70_000), refused("no end of central directory", len(whole) + 70_000)
    )
    locator = archive(parts, zip64=True)
    at = locator.index(b"PK\6\7")
    elsewhere = locator[: at + 8] + struct.pack("<Q", 0) + locator[at + 16 :]
    yield Attack("zip-locator-elsewhere.pt", elsewhere, refused("the ZIP64 locator points to byte 0", at + 8))
    record = locator.index(b"PK\6\6")
    longer = locator[: record + 4] + struct.pack("<Q", 1 << 40) + locator[record + 12 :]
    yield Attack("zip-record-size.pt", longer, refused("a ZIP64 end record of 1099511627776 bytes", record + 4))


def attacks():
    for group in (disagreements, places, ends):
        yield from group()
