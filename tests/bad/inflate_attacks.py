"""Compressed bytes that are inflated again and again: storages that are read here and there, headers that lead to the same ones,
small streams of much text."""

import gzip
import struct
import zlib

from attack import Attack, Outcome
from forge import Part, archive, call, many, name, number, program, storage, text
from work_attacks import DONE, ORDERED, REBUILD, Memo

AGAIN = "its compressed bytes would be inflated more than 128 times over"
END = b"\3\0"  # an empty last block


def repeated(piece, times):
    """Deflated once."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return (packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)) * times + END


def views_of(packed, size, shapes):
    """A storage of `size` bytes, all 0, deflated, and its views: (shape, stride, offset) each."""
    memo = Memo()
    held, kind, hooks = memo.keep(storage(elements=size // 4)), memo.keep(REBUILD), memo.keep(call(ORDERED))
    made = {}

    def kept(values):
        if values not in made:
            made[values] = memo.keep(many(*map(number, values)))
        return made[values]

    views = []
    for i, (shape, stride, offset) in enumerate(shapes):
        of = [held, number(offset), kept(shape), kept(stride), b"\x89", hooks]
        views.append(text(f"t{i}") + kind + many(*of) + b"R")
    code = program(memo.code + b"}(" + b"".join(views) + b"u")
    crc = zlib.crc32(bytes(size % (1 << 20)))
    for _ in range(size >> 20):
        crc = zlib.crc32(bytes(1 << 20), crc)
    big = Part("r/data/0", packed, method=8, crc=crc, size=size, compressed=len(packed))
    return archive([Part("r/data.pkl", code, deflate=True), big, Part("r/version", b"3\n")])


def views_of_zeros(size, shapes, between=b""):
    """The same of whole MiB. `between`: what stands behind the first of them in the deflated stream."""
    data = repeated(bytes(1 << 20), size >> 20)
    first = (len(data) - len(END)) // (size >> 20)
    return views_of(data[:first] + between + data[first:], size, shapes)


def views():
    size = 48 << 20
    elements = size // 4
    # Each lies at both ends.
    ends = [((2,), (elements - 301,), i) for i in range(300)]
    yield "views-of-both-ends.pt", views_of_zeros(size, ends), {
        "digest FILE": DONE,
        "verify FILE --finite": Outcome(0, ": ok ("),
        "stats FILE": DONE,
        "diff FILE FILE": DONE,
    }
    size = 320 << 20
    turned = [((size // 256, 64), (1, size // 256), 0)]
    yield "a-turned-storage.pt", views_of_zeros(size, turned), {"digest FILE": DONE}
    few = "too many views lie across their storages, expected at most 8388608"
    for name, size, outcomes in (
        ("8000-columns.pt", 320 << 20, {"verify FILE --finite": Outcome(1, few)}),
        ("8000-short-columns.pt", 32 << 20, {"digest FILE": Outcome(3, AGAIN), "shard FILE OUT": DONE}),
    ):
        columns = [((size // 65_536 - 1,), (65_536 // 4,), i) for i in range(8000)]
        yield name, views_of_zeros(size, columns), outcomes
    size = 64 << 20
    elements = size // 4
    yield "20000-long-views.pt", views_of_zeros(size, [((2,), (elements - 20_001,), i) for i in range(20_000)]), {
        "verify FILE --finite": Outcome(0, ": ok ("),
        "stats FILE": DONE,
        "digest FILE": Outcome(3, AGAIN),
    }
    # Between their ends lie 4 MB that stand for nothing: empty blocks of ten bits.
    four_blocks = sum(2 << 10 * i for i in range(4)).to_bytes(5, "little")
    size = 2 << 20
    ends = [((2,), (size // 4 - 20_001,), i) for i in range(20_000)]
    yield "views-across-nothing.pt", views_of_zeros(size, ends, four_blocks * 800_000), {
        "digest FILE": Outcome(3, AGAIN),
        "stats FILE": DONE,
    }


def header(extra=0, name_size=0, method=0):
    return struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, method, 0, 0x21, 0, 0, 0, name_size, extra)


def headers():
    """Headers of members that no directory lists, which overlap."""
    yield "headers-of-long-names.pt", header(name_size=65_535) * 66_000, {"scan": Outcome(3, "no end of central directory")}
    bomb = repeated(b"(0" * (1 << 19), 40)
    # Each leads to an empty block further on.
    lead = b"".join(header((1500 - i) * 35 - 30, method=8) + b"\0\0\0\xff\xff" for i in range(1500))
    yield "headers-with-blocks-before-a-bomb.pt", (lead + bomb[:3000]) * 40 + bomb, {
        "scan": Outcome(3, "no end of central directory"),
    }


def tiny_blocks():
    """Of thirteen bytes that stand for as many zeros, each with Huffman codes of its own."""
    blocks = bytes.fromhex("04c081000000000010ffd50080") * (1 << 16)
    size, count = len(blocks) + 4, 1000
    packed = blocks + struct.pack("<BHH", 0, 4, 0xFFFB) + bytes(4) + END
    ends = [((2,), (size // 4 - count - 1,), i) for i in range(count)]
    yield "views-of-tiny-blocks.pt", views_of(packed, size, ends), {"digest FILE": DONE}
    lead = b"".join(header((999 - i) * 30, method=8) for i in range(1000))
    yield "headers-before-tiny-blocks.pt", (lead + blocks[: 13 * 10_000] + b"\7" * 4) * 4, {"scan": Outcome(3, "no end of central directory")}


def indexes():
    one_key = b'{"weight_map":{' + b'"":"",' * 300_000 + b'"z":""}}'
    twice = Outcome(1, "tensor '' comes twice")
    yield "an-index-of-one-key.safetensors.index.json.gz", gzip.compress(one_key, 9, mtime=0), {"verify FILE": twice}


def attacks():
    for group in (views, headers, tiny_blocks, indexes):
        for title, data, outcomes in group():
            yield Attack(title, data, outcomes)
