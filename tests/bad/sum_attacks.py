"""Small files whose every part is within bounds, and whose parts together are not: archives in archives that share their
bytes, compression in compression, values and names without number."""

import gzip
import io
import os
import struct
import zlib

from attack import Attack, Outcome, refused, unsupported
from forge import Part, archive, call, many, name, number, program, safetensors, storage
from scan_cases import unjudged
from tar_attacks import BLOCK, header
from work_attacks import REBUILD, Memo, pickled

MIB = 1 << 20
GZIP = b"\x1f\x8b\x08" + bytes(6) + b"\xff"


def flushed(data):
    """Deflated so that other blocks may follow."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush(zlib.Z_FULL_FLUSH)


def bomb(first, mebibytes, last=b""):
    """A gzip member of `first`, so many MiB of zeros, and `last`."""
    crc, zeros = zlib.crc32(first), bytes(MIB)
    for _ in range(mebibytes):
        crc = zlib.crc32(zeros, crc)
    size = (len(first) + mebibytes * MIB + len(last)) & 0xFFFFFFFF
    body = flushed(first) + flushed(zeros) * mebibytes + flushed(last) + b"\3\0"
    return GZIP + body + struct.pack("<II", zlib.crc32(last, crc), size)


def in_one_tar(member, count):
    """In gzip: so many equal members."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
        for i in range(count):
            file.write(header(b"m%05d.bin" % i, len(member)) + member + bytes(-len(member) % BLOCK))
        file.write(bytes(2 * BLOCK))
    return packed.getvalue()


def tars():
    # Each header claims all that follows it, and one block that is not there: no reader takes the tar, and any may take
    # a member, in which it is the same again.
    count = 30
    within = b"".join(header(b"n%04d" % i, (count - i + 5) * BLOCK) for i in range(count))
    yield from unjudged("tar-within-itself.tar", within, "a member of 17920 bytes")
    yield from unjudged("tar-within-itself.tar.gz", gzip.compress(within, mtime=0), "a member of 17920 bytes")

    # Each member is a gzip header and a stored block that ends where one bomb for all of them begins.
    members, shared = 60, flushed(bytes(MIB)) * 600 + b"\3\0" + bytes(8)
    all_of_them = b""
    for i in range(members):
        skipped = 2 * BLOCK * (members - i) - BLOCK - len(GZIP) - 5
        begin = GZIP + b"\0" + struct.pack("<HH", skipped, skipped ^ 0xFFFF)
        all_of_them += header(b"n%04d" % i, 1 << 30) + begin + bytes(BLOCK - len(begin))
    yield from unjudged("tar-of-one-bomb.tar", all_of_them + shared, f"a member of {1 << 30} bytes")

    yield from unjudged("bombs-in-a-tar.tar.gz", in_one_tar(bomb(b"PK\3\4", 300), 100), "inflates past")
    size, title = 300 * MIB, b"a/x"
    crc = 0
    for _ in range(300):
        crc = zlib.crc32(bytes(MIB), crc)
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 0x21, crc, size, size, len(title), 0) + title
    entry = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 0x21, crc, size, size, len(title), 0, 0, 0, 0, 0, 0) + title
    end = entry + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(entry), len(local) + size, 0)
    yield Attack("sum-archives-in-a-tar.tar.gz", in_one_tar(bomb(local, 300, end), 120), unsupported("tar archive"))


def pickles():
    noise = os.urandom(960_000)  # which makes the file large enough for a pickle of 60 MB
    yield Attack("sum-of-lists.pt", pickled(program(b"]" * 60_000_000), {"0": noise}), refused("values"))
    memo = Memo()
    kind = memo.keep(REBUILD)
    arguments = memo.keep(b"(" + storage(elements=len(noise) // 4) + number(0) + many(number(1)) + many(number(1)) + b"\x89"
                          + call(name("collections", "OrderedDict")) + b"t")
    short = [b"h" + fetched[1:2] for fetched in (kind, arguments)]
    code = program(memo.code + b"](" + (b"".join(short) + b"R") * 8_000_000 + b"e")
    yield Attack("sum-of-tensors.pt", pickled(code, {"0": noise}), refused("tensors of its"))
    names = b"".join(name("os", f"f{i}" + "\x1b" * 1_000_000) + b"0" for i in range(63))
    long_names = archive([Part("r/data.pkl", program(names + b"N"), deflate=True), Part("r/version", b"3\n")])
    said = Outcome(1, "os.f62")
    yield Attack("sum-of-long-names.pt", long_names, {"scan": said, "scan --json FILE": said, "scan --sarif FILE": said})


def headers():
    ones = ",".join("1" * 63)
    wide = ",".join(f'"{i}":{{"dtype":"U8","shape":[0,{ones}],"data_offsets":[0,0]}}' for i in range(260_000))
    packed = gzip.compress(safetensors(f"{{{wide}}}", b""), mtime=0)
    yield Attack("sum-of-dimensions.safetensors.gz", gzip.compress(packed, mtime=0), refused("a header of", verify=1))
    entries = ",".join(f'"{i}":""' for i in range(1_000_000))
    file = safetensors(f'{{"__metadata__":{{{entries}}}}}', b"")
    yield Attack("sum-of-metadata.safetensors", file, refused("entries of metadata"))


def attacks():
    yield from tars()
    yield from pickles()
    yield from headers()
