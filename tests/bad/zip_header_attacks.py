"""Archives whose headers, descriptors and directory contradict each other, that hide, that overlap, that lie about sizes
and ends."""

import struct

from attack import also_in_gzip, refused, unsupported
from forge import Part, archive, encoded, program, torch_zip
from zip_attacks import TORCH, descriptor


def start_of_the_second(parts):
    """Where its local header is."""
    return len(archive(parts[:1])) - 22 - 46 - len(encoded(parts[0].name))


def disagreements(kind):
    """Where directory and local header differ, readers differ: what one checks, another would load."""
    parts = kind.parts()
    at, liar, size = start_of_the_second(parts), parts[1].name, len(parts[1].data)
    for title, lies, said, where in (
        ("name", {"local_name": "r/other"}, f"another name in the local header of member '{liar}'", at + 30),
        ("name-length", {"local_name": f"{liar}0"}, f"another name in the local header of member '{liar}'", at + 30),
        ("method", {"local_method": 8}, f"method 8 in the local header of member '{liar}'", at + 8),
        ("flags", {"local_flags": 0x800}, f"flags 2048 in the local header of member '{liar}'", at + 6),
        ("crc", {"local_crc": 7}, f"CRC-32 7 in the local header of member '{liar}'", at + 14),
        ("size", {"local_size": size - 1}, f"size {size - 1} in the local header of member '{liar}'", at + 22),
        (
            "compressed-size",
            {"local_compressed": size - 1},
            f"compressed size {size - 1} in the local header of member '{liar}'",
            at + 18,
        ),
        (
            "open-size",
            {"local_size": 0, "local_compressed": 0},
            f"size 0 in the local header of member '{liar}'",
            at + 22,
        ),
        ("offset", {"offset": at + 1}, f"no local header of member '{liar}'", at + 1),
        ("offset-to-another", {"offset": 0}, "overlaps", 0),
        ("offset-to-the-directory", {"offset": 1 << 31}, f"no local header of member '{liar}'", 1 << 31),
    ):
        yield kind.attack(f"local-{title}", kind.changed(**lies), refused(said, where))
    yield kind.attack(
        "local-name-of-the-first",
        kind.changed(0, local_name="r/evil.pkl"),
        refused(f"another name in the local header of member '{parts[0].name}'", 30),
    )
    yield kind.attack("disk", kind.changed(disk=1), unsupported(f"member '{liar}' lies on disk 1"))
    for title, flags, said in (
        ("encrypted", 1, "is encrypted"),
        ("strong-encryption", 0x41, "is encrypted"),
        ("masked", 0x2000, "is encrypted"),
        ("patch", 0x20, "has flags 32"),
        ("unknown", 0x8000, "has flags 32768"),
    ):
        yield kind.attack(title, kind.changed(flags=flags), refused(said))
    for method in (1, 9, 12, 14, 93, 95, 99):
        yield kind.attack(f"method-{method}", kind.changed(method=method), refused(f"is compressed by method {method}"))


def places(kind):
    parts, other = kind.parts(), "r/data/1"
    at, liar, size = start_of_the_second(parts), parts[1].name, len(parts[1].data)
    nested = archive([Part(other, b"x" * 16)])[: 30 + len(other) + 16]
    inner = at + 30 + len(liar)
    shell = [parts[0], Part(liar, nested), *parts[2:], Part(other, b"x" * 16, offset=inner)]
    yield kind.attack("member-in-a-member", archive(shell), refused(f"member '{other}' overlaps '{liar}'", inner))
    same = archive([*parts[:2], Part(other, parts[1].data, offset=at), *parts[2:]])
    yield kind.attack("members-share-bytes", same, refused("overlaps"))
    for title, lies, said in (
        (
            "size-past-the-end",
            {"size": 1 << 30, "compressed": 1 << 30, "local_size": 1 << 30, "local_compressed": 1 << 30},
            "reaches into the directory",
        ),
        (
            "size-into-the-next",
            {key: size + 24 for key in ("size", "compressed", "local_size", "local_compressed")},
            f"overlaps '{liar}'",
        ),
        ("stored-in-two-sizes", {"size": size + 4, "local_size": size + 4}, f"is stored in {size} bytes"),
        (
            "all-ones-without-zip64",
            {"size": 0xFFFFFFFF, "compressed": 0xFFFFFFFF},
            "a size, offset or disk of all ones",
        ),
        ("extra-too-long", {"extra": struct.pack("<HH", 0x4246, 500) + b"Z" * 8}, "an extra field of 500 bytes"),
        (
            "zip64-too-short",
            {"size": 0xFFFFFFFF, "extra": struct.pack("<HHI", 1, 4, size)},
            "a ZIP64 extra field of 4 bytes",
        ),
        (
            "zip64-twice",
            {"size": 0xFFFFFFFF, "compressed": 0xFFFFFFFF, "extra": struct.pack("<HHQQ", 1, 16, size, size) * 2},
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
            f"no local header of member '{liar}'",
        ),
    ):
        yield kind.attack(title, kind.changed(**lies), refused(said))
    true = descriptor(parts[1].data)
    for title, end, said in (
        ("crc", descriptor(parts[1].data, crc=1), f"CRC-32 1 in the data descriptor of member '{liar}'"),
        ("size", descriptor(parts[1].data, size=12), f"no data descriptor behind member '{liar}'"),
        ("signature", b"PK\7\7" + true[4:], f"no data descriptor behind member '{liar}'"),
        ("missing", bytes(16), f"no data descriptor behind member '{liar}'"),
        ("no-room", b"", f"no data descriptor behind member '{liar}'"),
    ):
        yield kind.attack(f"descriptor-{title}", kind.with_descriptor(end), refused(said))


def ends(kind):
    parts = kind.parts()
    whole, count = archive(parts), len(parts)
    end = len(whole) - 22
    directory = end - sum(46 + len(p.name) for p in parts)
    last = end - 46 - len(parts[-1].name)
    one_more = f"bytes for {count + 1} members", directory
    if (count + 1) * 46 <= end - directory:
        one_more = f"no directory record, expected member {count + 1} of {count + 1}", end
    for title, shape, said, at in (
        ("count-65535", {"count": 65535}, "bytes for 65535 members", directory),
        ("count-one-more", {"count": count + 1}, *one_more),
        ("count-one-less", {"count": count - 1}, "bytes after the last record of the directory", last),
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
        ("zip64-count", {"zip64": (1 << 40, 100, 0)}, f"the end record gives the number of members as {count}", None),
        ("zip64-offset", {"zip64": (count, end - directory, 1)}, "the end record gives the directory's offset", None),
        ("zip64-size", {"zip64": (count, 1 << 62, directory)}, "the end record gives the directory's size", None),
        ("zip64-count-open", {"zip64": (1 << 62, end - directory, directory), "count": 65535}, "members", None),
    ):
        if title == "zip64-count-open":
            yield kind.attack(
                title,
                archive(parts, **shape),
                refused("an archive of 4611686018427387904 members, expected at most 16777216"),
            )
            continue
        yield kind.attack(title, archive(parts, **shape), refused(said, at))
    yield kind.attack("split", archive(parts, disk=1), unsupported("a zip archive split over several disks", end + 4))
    yield kind.attack(
        "count-here",
        archive(parts, count_here=1),
        unsupported("a zip archive split over several disks", end + 4),
    )
    lying_comment = archive(parts, comment_size=500)
    yield kind.attack(
        "comment-past-the-end",
        lying_comment,
        refused("an archive comment of 500 bytes reaches past the end of the file", end + 20),
    )
    yield kind.attack("no-end", whole[:end], refused("no end of central directory", end))
    yield kind.attack("cut", whole[: end // 2], refused("no end of central directory", end // 2))
    yield kind.attack("only-magic", b"PK\3\4", refused("no end of central directory", 4))
    yield kind.attack(
        "end-too-far", whole + bytes(70_000), refused("no end of central directory", len(whole) + 70_000)
    )
    locator = archive(parts, zip64=True)
    at = locator.index(b"PK\6\7")
    elsewhere = locator[: at + 8] + struct.pack("<Q", 0) + locator[at + 16 :]
    yield kind.attack("locator-elsewhere", elsewhere, refused("the ZIP64 locator points to byte 0", at + 8))
    record = locator.index(b"PK\6\6")
    longer = locator[: record + 4] + struct.pack("<Q", 1 << 40) + locator[record + 12 :]
    yield kind.attack("record-size", longer, refused("a ZIP64 end record of 1099511627776 bytes", record + 4))


def of(kind):
    for group in (disagreements, places, ends):
        yield from group(kind)


def attacks():
    yield from also_in_gzip(of(TORCH))
