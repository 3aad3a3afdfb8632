#!/usr/bin/env python3
"""Pictures as eval/datasets reads them, beside Pillow: at most one grey level apart, and how many are equal.

    tests/eval/pictures.py --program build/release/bin/ckpt_picture_tensor

Random pictures of every colour type, depth and many sizes, those of the shared folder where it is at hand, and files
that are no whole PNG. Needs Pillow and numpy.
"""

import argparse
import io
import struct
import subprocess
import sys
import tempfile
import warnings
import zlib
from pathlib import Path

import numpy
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

SHARED = harness.ROOT.parent / "shared"
RANDOM_PICTURES = 300
SHAPES = {(56, 24): "rgb", (28, 28): "grey"}
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
MEMORY = 256 << 20  # of address space; a hostile file may not take more


def chunk(kind, data, crc=None):
    crc = zlib.crc32(kind + data) if crc is None else crc
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)


def header(width, height, depth, colour, interlaced=0):
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced))


def png(*chunks):
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + chunk(b"IEND", b"")


def passes(width, height, interlaced):
    """Columns and rows of each pass, as slices."""
    if not interlaced:
        return [(slice(0, width), slice(0, height))]
    starts = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    return [(slice(x, width, dx), slice(y, height, dy)) for x, y, dx, dy in starts if x < width and y < height]


def packed(row, depth):
    """A row of samples as bytes."""
    if depth == 16:
        return row.astype(">u2").tobytes()
    if depth == 8:
        return row.astype(numpy.uint8).tobytes()
    bits = numpy.unpackbits(row.astype(numpy.uint8)[:, None], axis=1)[:, -depth:]
    return numpy.packbits(bits).tobytes()


def random_picture(random, number):
    """A PNG, and what it is in words. Smooth, noisy and two-valued ones, since the last two overshoot most."""
    colour = (0, 2, 3, 4, 6)[number % 5]
    depth = int(random.choice(DEPTHS[colour]))
    interlaced = int(random.integers(2))
    width, height = (int(n) for n in random.choice([1, 2, 3, 8, 23, 24, 28, 56, 57, 90, 150, 400], 2))
    highest = (1 << depth) - 1
    shape = (height, width, CHANNELS[colour])
    samples = random.integers(0, highest + 1, shape)
    kind = ("noise", "edges", "smooth")[number // 5 % 3]
    if kind == "edges":
        samples = numpy.where(samples * 2 > highest, highest, 0)
    elif kind == "smooth":
        ramp = numpy.linspace(0, 1, width)[None, :, None] * numpy.linspace(1, 0.2, height)[:, None, None]
        samples = (ramp * highest * random.uniform(0.3, 1, CHANNELS[colour])).astype(int)
    extra = b""
    if colour == 3:
        colours = int(random.integers(1, highest + 2))
        extra = chunk(b"PLTE", random.integers(0, 256, 3 * colours, dtype=numpy.uint8).tobytes())
        if random.integers(2):
            extra += chunk(b"tRNS", random.integers(0, 256, colours, dtype=numpy.uint8).tobytes())
        samples = samples % colours
    elif colour in (0, 2) and random.integers(2):
        extra = chunk(b"tRNS", b"".join(struct.pack(">H", v) for v in samples[0, 0]))
    if random.integers(2):
        extra = chunk(b"gAMA", struct.pack(">I", 22727)) + extra
    rows = b"".join(
        b"\0" + packed(row.reshape(-1), depth)
        for columns, lines in passes(width, height, interlaced)
        for row in samples[lines, columns]
    )
    words = f"{number}: colour type {colour}, {depth} bits, {width}x{height}, {kind}, interlaced {interlaced}"
    return png(header(width, height, depth, colour, interlaced), extra, chunk(b"IDAT", zlib.compress(rows, 1))), words


def pillow(path, size, layout):
    with Image.open(path) as image:
        picture = image.resize(size)
    if layout == "grey":
        return numpy.asarray(picture.convert("L"))
    return numpy.asarray(picture.convert("RGB")).transpose(2, 1, 0)


def ours(program, paths, size, layout):
    """The tensors of `paths`, in one run."""
    done = run(program, paths, size, layout)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    shape = (3, *size) if layout == "rgb" else (size[1], size[0])
    return numpy.frombuffer(done.stdout, numpy.uint8).reshape(len(paths), *shape)


def run(program, paths, size=(56, 24), layout="rgb", memory=None):
    command = harness.limited([program, *(str(n) for n in size), layout], memory)
    return subprocess.run(command, input="\n".join(map(str, paths)).encode(), capture_output=True)


def compare(suite, program, pictures):
    """`pictures`: paths, with what each is."""
    compared = equal = 0
    for size, layout in SHAPES.items():
        for (path, words), tensor in zip(pictures.items(), ours(program, list(pictures), size, layout)):
            apart = int(numpy.abs(tensor.astype(int) - pillow(path, size, layout)).max())
            suite.check(f"{words}, as {layout}", apart == 0, f"{apart} grey levels apart")
            compared += 1
            equal += apart == 0
    print(f"  {equal} of {compared} tensors equal Pillow's {Image.__version__}")
    return compared, equal


def compare_random(suite, program, folder):
    random = numpy.random.default_rng(5)
    pictures = {}
    for number in range(RANDOM_PICTURES):
        data, words = random_picture(random, number)
        path = folder / f"{number}.png"
        path.write_bytes(data)
        pictures[path] = words
    return compare(suite, program, pictures)


def compare_shared(suite, program, name, folder):
    pictures = {path: path.name for path in sorted(folder.rglob("*.png"))}
    if pictures:
        compare(suite, program, pictures)
    else:
        suite.skip(name, f"no {folder}")


def hostile():
    """Files that are no whole PNG, each with a word of the error that it deserves."""
    image = io.BytesIO()
    Image.new("RGB", (40, 20), (1, 2, 3)).save(image, "png")
    good = image.getvalue()
    for end in range(len(good)):
        yield f"cut at {end}", good[:end], ""
    for at in range(8, len(good) - 4, 4):
        yield f"a bit flipped at {at}", good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1 :], ""
    zeros = zlib.compress(bytes(1 << 20), 9)
    data = chunk(b"IDAT", zeros)
    yield "a huge header", png(header(0x7FFFFFFF, 0x7FFFFFFF, 16, 6), data), "at most"
    yield "a header past 31 bits", png(header(0xFFFFFFFF, 1, 8, 0), data), "damaged"
    yield "a broad picture", png(header(70000, 1, 1, 0), data), "at most"
    yield "no pixels", png(header(0, 5, 8, 0), data), "damaged"
    yield "more pixels than bytes", png(header(4000, 4000, 8, 2), data), "deflates"
    yield "a depth that is none", png(header(4, 4, 7, 0), data), "damaged"
    yield "a palette that is missing", png(header(4, 4, 8, 3), data), "damaged"
    yield "too few rows", png(header(1500, 700, 8, 0), data), "damaged"
    yield "data that is no deflate", png(header(4, 4, 8, 0), chunk(b"IDAT", b"x" * 100)), "damaged"
    yield "no data", png(header(4, 4, 8, 0)), "damaged"
    yield "a chunk longer than the file", png(header(4, 4, 8, 0), struct.pack(">I", 0x7FFFFFF0) + b"IDAT"), ""
    yield "a bomb of text", good[:-12] + chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(1 << 26))) + good[-12:], None
    yield "a JPEG", b"\xff\xd8\xff\xe0" + bytes(100), "no PNG"


def try_hostile(suite, program, folder):
    path = folder / "hostile.png"
    for name, data, word in hostile():
        path.write_bytes(data)
        done = run(program, [path], memory=MEMORY)
        error = done.stderr.decode()
        if word is None or (done.returncode == 0 and name.startswith("a bit flipped")):  # in a chunk passed over
            suite.check(name, done.returncode == 0, f"exit {done.returncode}\n{error}")
        else:
            named = done.returncode == 3 and error.startswith(str(path)) and word in error and not done.stdout
            suite.check(name, named, f"exit {done.returncode}, {len(done.stdout)} bytes\n{error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=Path, required=True)
    options = parser.parse_args()
    program = options.program.resolve()
    warnings.simplefilter("ignore")  # Pillow has one for transparent colours in palettes
    suite = harness.Suite()
    with tempfile.TemporaryDirectory() as folder:
        with suite.group("random pictures"):
            compared, equal = compare_random(suite, program, Path(folder))
            suite.figure("pictures.compared", compared)
            suite.figure("pictures.equal", equal)
        with suite.group("the corpus' captchas"):
            compare_shared(suite, program, "the corpus' captchas", SHARED / "corpus/datasets/captcha")
        with suite.group("the reference pictures"):
            compare_shared(suite, program, "the reference pictures", SHARED / "reference")
        with suite.group("hostile pictures"):
            try_hostile(suite, program, Path(folder))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
