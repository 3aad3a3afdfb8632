"""What others write: gzip, numpy, safetensors, GGUF, and the PNG and IDX files of test sets."""

import gzip
import io
import json
import math
import random
import struct
import zipfile
import zlib

import forge
from forge import safetensors


def gzip_named(data):
    """A header with everything in it: extra field, name, comment, checksum of the header."""
    head = b"\x1f\x8b\x08\x1e" + bytes(4) + b"\x00\xff" + struct.pack("<H", 4) + b"ab\0\0" + b"name\0" + b"comment\0"
    body = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = body.compress(data) + body.flush()
    return head + struct.pack("<H", zlib.crc32(head) & 0xFFFF) + packed + struct.pack("<II", zlib.crc32(data), len(data))


def gzips():
    text = b"".join(b"%d " % i for i in range(400))
    for level in (0, 1, 6, 9):
        yield f"level{level}", gzip.compress(text, level, mtime=0)
    yield "empty", gzip.compress(b"", mtime=0)
    yield "members", gzip.compress(text[:700], mtime=0) + gzip.compress(b"", mtime=0) + gzip.compress(text[700:], mtime=0)
    yield "padded", gzip.compress(text, mtime=0) + bytes(100)
    yield "trailing", gzip.compress(text, mtime=0) + b"what is this?"
    yield "twice", gzip.compress(gzip.compress(text, mtime=0), mtime=0)
    yield "named", gzip_named(text)
    yield "long", gzip.compress(bytes(700_000) + text, mtime=0)
    parts = [text[:700], text[700:701], text[701:]]
    members = [forge.gzip_member(part) for part in parts]
    records = forge.gzip_records(members, map(len, parts))
    yield "index", b"".join(members) + forge.gzip_index(records)
    yield "index-of-two-as-one", b"".join(members) + forge.gzip_index(
        [(records[0][0] + records[1][0], len(parts[1]), zlib.crc32(members[0] + members[1])), records[2]])


def npy(descr, shape, data=b"", fortran=False, version=1):
    return forge.npy(f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape}}} \n", data, version)


def arrays():
    """numpy's files: each dtype and version, and zips of them."""
    items = struct.pack("<4f", 0, 1, 2, 3)
    codes = ["|b1", "|u1", "<u2", ">u4", "<u8", "|i1", ">i2", "<i4", ">i8", "<f2", ">f4", "<f8", ">c8", "<c16", "=f4", "f8"]
    singles = [(f"{code[-2:]}-{i}", npy(code, (16 // int(code.strip("<>|=")[1:]),), items)) for i, code in enumerate(codes)]
    singles += [(f"version{v}", npy("<f4", (2, 2), items, version=v)) for v in (1, 2, 3)]
    singles += [("fortran", npy("<f4", (2, 2), items, fortran=True)), ("scalar", npy("<f8", (), items[:8]))]
    singles += [("empty", npy("<f4", (0, 3))), ("objects", npy("|O", (1,), b"\x80\x04N.")), ("two", npy("|u1", (1,), b"a") * 2)]
    singles += [("records", npy([("x", "<f4"), ("y", "<i4")], (1,), items[:8])), ("cut", npy("<f4", (4,), items[:15]))]
    yield from singles
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", compression) as z:
            for name, data in singles[:4] + [singles[19]]:
                z.writestr(f"{name}.npy", data)
            z.writestr("notes.txt", b"hello")
        yield f"zip{compression}", target.getvalue()


def safetensors_files():
    """Each dtype, metadata, views, and indexes of shards."""
    bits = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8}
    bits |= {"F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32}
    bits |= {"F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64}

    def info(dtype, shape, begin):
        size = math.prod(shape) * bits[dtype] // 8
        return {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + size]}

    data = bytes(range(64))
    for dtype in bits:
        size = 8 * bits[dtype] // 8
        yield dtype, safetensors(json.dumps({"w": info(dtype, [2, 4], 0)}), data[:size])
    two = {"w": info("F32", [2, 3], 0), "b é": info("U8", [], 24), "e": info("I64", [0, 3], 25)}
    yield "three", safetensors(json.dumps(two) + "  \n", data[:25])
    views = {"t": {"of": "w", "shape": [3, 2], "stride": [1, 3], "offset": 0}, "again": {"of": "w"}}
    views["row"] = {"of": "w", "shape": [2], "stride": [2], "offset": 3}
    for name, metadata in (
        ("metadata", {"format": "pt", "license": "w", "\u20ac": "\n\\"}),
        ("views", {"ckpt.views": json.dumps(views), "again": "w"}),
        ("removed", {"head.weight": "a.weight"}),
    ):
        header = {"__metadata__": metadata, "w": two["w"], "a.weight": info("F32", [1], 24)}
        yield name, safetensors(json.dumps(header), data[:28])
    yield "hole", safetensors(json.dumps({"w": info("U8", [4], 4)}), data[:8])
    yield "empty", safetensors("{}", b"")
    index = {"metadata": {"total_size": 32}, "weight_map": {"a": "m-00001-of-00002.bin", "b": "m-00002-of-00002.bin"}}
    yield "index", json.dumps(index, indent=2).encode()
    yield "index-plain", json.dumps({"weight_map": {"a": "m.safetensors"}}).encode()
    yield "header", json.dumps(two).encode()


def ggufs():
    """GGUF: each type of tensor and of value, both byte orders, the three versions."""

    def text(value, order, word):
        return struct.pack(order + word, len(value)) + value

    for version, order, word in ((1, "<", "I"), (2, "<", "Q"), (3, "<", "Q"), (3, ">", "Q")):
        formats = ["B", "b", "H", "h", "I", "i", "f", "?", None, None, "Q", "q", "d"]
        values = [text(b"k%d" % i, order, word) + struct.pack(f"{order}I{f}", i, 1) for i, f in enumerate(formats) if f]
        values.append(text(b"text", order, word) + struct.pack(order + "I", 8) + text(b"hello", order, word))
        for kind, item in ((4, struct.pack(order + "I", 7)), (8, text(b"a", order, word))):
            array = struct.pack(f"{order}I{word}", kind, 20) + item * 20
            values.append(text(b"a%d" % kind, order, word) + struct.pack(order + "I", 9) + array)
        values.append(text(b"general.alignment", order, word) + struct.pack(order + "II", 4, 16))
        tensors, data = b"", b""
        kinds = [(0, 1, 4), (1, 1, 2), (2, 32, 18), (8, 32, 34), (12, 256, 144), (24, 1, 1), (28, 1, 8), (30, 1, 2)]
        for kind, block, size in kinds:
            tensors += text(b"t%d" % kind, order, word) + struct.pack(f"{order}I2{word}", 2, block, 2)
            tensors += struct.pack(order + "IQ", kind, len(data))
            data += bytes(range(2 * size % 251)) * (2 * size // (2 * size % 251))
            data += bytes(-len(data) % 16)
        head = b"GGUF" + struct.pack(f"{order}I2{word}", version, len(kinds), len(values)) + b"".join(values) + tensors
        yield f"gguf{version}{'le' if order == '<' else 'be'}", head + bytes(-len(head) % 16) + data
        none = b"GGUF" + struct.pack(f"{order}I2{word}", version, 0, 1) + values[0]
        yield f"gguf{version}{'le' if order == '<' else 'be'}-no-tensors", none


def pngs():
    """Every colour type and depth, plain and interlaced, of noise and of nothing."""
    depths = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
    adam7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    rng = random.Random(3)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    for colour, depth in ((colour, depth) for colour in depths for depth in depths[colour]):
        for interlaced, (width, height) in ((0, (9, 5)), (1, (5, 11)), (0, (300, 2))):
            rows = b""
            for x, y, dx, dy in adam7 if interlaced else [(0, 0, 1, 1)]:
                bits = len(range(x, width, dx)) * channels[colour] * depth
                for _ in range(y, height, dy) if bits else ():
                    rows += bytes([rng.randrange(5)]) + bytes(rng.randrange(256) for _ in range((bits + 7) // 8))
            header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
            extra = chunk(b"PLTE", bytes(range(30))) + chunk(b"tRNS", bytes(3)) if colour == 3 else b""
            yield (
                f"{colour}.{depth}.{width}",
                b"\x89PNG\r\n\x1a\n"
                + chunk(b"IHDR", header)
                + chunk(b"gAMA", struct.pack(">I", 45455))
                + extra
                + chunk(b"IDAT", zlib.compress(rows))
                + chunk(b"IEND", b""),
            )


def idx_files():
    """Of each number of dimensions, cut, too long, of another type, and in gzip."""
    for shape in ((7,), (2, 3), (3, 4, 5), (1, 2, 2, 2), (0, 28, 28)):
        elements = bytes(i % 256 for i in range(math.prod(shape)))
        whole = bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + elements
        yield f"{len(shape)}", whole
        yield f"{len(shape)}.cut", whole[:-1]
        yield f"{len(shape)}.more", whole + b"x"
        yield f"{len(shape)}.gz", gzip.compress(whole, mtime=0)
    yield "floats", bytes([0, 0, 13, 1]) + struct.pack(">If", 1, 1.5)
    yield "huge", bytes([0, 0, 8, 3]) + struct.pack(">3I", *[0xFFFFFFFF] * 3)
