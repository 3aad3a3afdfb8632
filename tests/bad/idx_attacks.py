"""IDX files, MNIST's test sets, to eval: types, sizes and counts that lie, labels that fit nothing, gzip around them that
breaks off or blows up. The model takes three numbers and has three classes."""

import gzip
import struct

from attack import Attack, Outcome
from gzip_attacks import member

IMAGES, LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
PIXELS, CLASSES = bytes(range(12)), bytes([0, 1, 2, 0])
MOST = (1 << 32) - 1


def idx(sizes, data, kind=8):
    return struct.pack(f">HBB{len(sizes)}I", 0, kind, len(sizes), *sizes) + data


def test_set(title, outcome, images=idx((4, 1, 3), PIXELS), labels=idx((4,), CLASSES)):
    files = {name: data for name, data in ((IMAGES, images), (LABELS, labels)) if data is not None}
    return Attack(f"idx-{title}", files, {f"eval OTHER --data FILE/{IMAGES} --device cpu": outcome}, alone=True)


def refused(text, at=None):
    return Outcome(3, text, at, lacks="ckpt recover")


def headers():
    images, labels = idx((4, 1, 3), PIXELS), idx((4,), CLASSES)
    yield "images-of-floats", refused("IDX elements of type 13", 2), {"images": idx((4, 1, 3), PIXELS * 4, kind=13)}
    yield "images-of-no-dimension", refused("no known format begins with"), {"images": idx((), PIXELS)}
    yield "images-of-255-dimensions", refused("no known format begins with"), {"images": idx((1,) * 255, PIXELS)}
    yield "images-of-one-dimension", refused("an IDX file of [12]"), {"images": idx((12,), PIXELS)}
    yield "labels-of-another-magic", refused("the file begins with the bytes 80 75 3 4", 0), {"labels": b"PK\3\4" + CLASSES}
    yield "labels-of-two-dimensions", refused("an IDX file of [4, 1] labels"), {"labels": idx((4, 1), CLASSES)}
    yield "labels-missing", Outcome(2, "an IDX file without the labels of its images beside it"), {"labels": None}
    yield "labels-one-less", refused("an IDX file of [3] labels, expected 4"), {"labels": idx((3,), CLASSES[:3])}
    yield "sample-of-2-224-bytes", refused("a sample has the shape"), {"images": idx((4,) + (MOST,) * 7, PIXELS)}
    nothing = idx((4, 0, MOST, MOST, MOST), PIXELS)
    yield "sample-of-2-96-bytes-beside-0", refused("the file has 36 bytes, expected 24"), {"images": nothing}
    yield "sample-of-another-size", refused("[1, 4], expected [3]"), {"images": idx((4, 1, 4), PIXELS + PIXELS[:4])}
    yield "cut-in-the-header", refused("expected 6 more", 10), {"images": images[:10]}
    yield "cut", refused("the file has 27 bytes, expected 28"), {"images": images[:-1]}
    yield "goes-on", refused("the file has 29 bytes, expected 28"), {"images": images + b"x"}
    yield "labels-go-on", refused("the file has 13 bytes, expected 12"), {"labels": labels + b"x"}
    yield "label-of-no-class", refused("sample 2"), {"labels": idx((4,), bytes([0, 1, 3, 255]))}
    most = {"images": idx((MOST, 1, 3), PIXELS), "labels": idx((MOST,), CLASSES)}
    yield "counts-of-2-32", refused("the file has 28 bytes, expected 12884901901"), most


def compressed():
    """What inflates to how much is seen when it is there."""
    images, labels = idx((4, 1, 3), PIXELS), idx((4,), CLASSES)
    packed = gzip.compress(images, mtime=0)
    yield "gzip", Outcome(0, "of 4, "), {"images": packed, "labels": gzip.compress(labels, mtime=0)}
    yield "gzip-cut", refused("is cut off"), {"images": packed[:-10]}
    yield "gzip-crc", refused("gzip member 1: its bytes have CRC-32"), {"images": member(images, crc=7)}
    yield "gzip-junk-behind", Outcome(0, "of 4, "), {"images": packed + b"junk"}
    short = gzip.compress(images[:-1], mtime=0)
    yield "gzip-short", refused("the file ends here, expected 1 bytes more for [4, 1, 3]", 27), {"images": short}
    yield "gzip-in-gzip", refused("an IDX file"), {"images": gzip.compress(packed, mtime=0)}
    zeros = gzip.compress(bytes(1 << 20), mtime=0) * 4096
    yield "gzip-bomb-behind", refused("the file goes on", 28), {"images": packed + zeros}
    most = {"images": gzip.compress(idx((MOST, 1, 3), PIXELS)), "labels": gzip.compress(idx((MOST,), CLASSES))}
    yield "gzip-counts-of-2-32", refused("the file ends here, expected", 28), most


def attacks():
    for group in (headers, compressed):
        for title, outcome, files in group():
            yield test_set(title, outcome, **files)
    packed = gzip.compress(idx((4, 1, 3), PIXELS), mtime=0), gzip.compress(idx((4,), CLASSES), mtime=0)[:-4]
    files = {f"{IMAGES}.gz": packed[0], f"{LABELS}.gz": packed[1]}
    yield Attack("idx-folder", files, {"eval OTHER --data FILE --device cpu": refused("the trailer is cut off")}, alone=True)
