"""GGUF: counts, lengths and types that lie, tensors that overlap or lie outside, metadata without end."""

import struct

from attack import Attack, fine, refused, unsupported
from forge import FLOATS

U64 = (1 << 64) - 1


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(value)) + value


def entry(key="k", kind=0, value=b"\1"):
    return text(key) + struct.pack("<I", kind) + value


def tensor(name="w", sizes=(4,), kind=0, offset=0):
    return text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, offset)


def gguf(tensors=(tensor(),), metadata=(), data=FLOATS, version=3, counts=None, alignment=32):
    head = b"GGUF" + struct.pack("<IQQ", version, *(counts or (len(tensors), len(metadata))))
    head += b"".join(metadata) + b"".join(tensors)
    return head + bytes(-len(head) % alignment) + data


def array(kind, count, items=b""):
    return struct.pack("<IQ", kind, count) + items


def attacks():
    for name, data, said in (
        ("magic-alone", b"GGUF", "the header ends"),
        ("tensors-without-end", gguf(counts=(U64, 0))[:24], "the header ends"),
        ("keys-without-end", gguf(counts=(0, U64))[:24], "the header ends"),
        ("key-of-2-exabytes", gguf(metadata=[struct.pack("<Q", 1 << 61)], data=b""), "the header ends"),
        ("text-of-2-exabytes", gguf(metadata=[entry(kind=8, value=struct.pack("<Q", 1 << 61))]), "the header ends"),
        ("value-of-type-13", gguf(metadata=[entry(kind=13)]), "a value of type 13"),
        ("array-of-type-99", gguf(metadata=[entry(kind=9, value=array(99, 1))]), "a value of type 99"),
        ("array-of-2-64-bytes", gguf(metadata=[entry(kind=9, value=array(0, U64))]), "the header ends"),
        ("array-of-2-64-numbers", gguf(metadata=[entry(kind=9, value=array(10, U64, bytes(8 * 40)))]), "the header ends"),
        ("array-of-2-64-texts", gguf(metadata=[entry(kind=9, value=array(8, U64))]), "the header ends"),
        ("array-of-2-64-arrays", gguf(metadata=[entry(kind=9, value=array(9, U64))]), "the header ends"),
        ("arrays-10000-deep", gguf(metadata=[entry(kind=9, value=array(9, 1) * 10000)]), "arrays in arrays"),
        ("key-twice", gguf(metadata=[entry(), entry()]), "the key 'k' comes twice"),
        ("alignment-0", gguf(metadata=[entry("general.alignment", 4, struct.pack("<I", 0))]), "general.alignment is 0"),
        ("alignment-33", gguf(metadata=[entry("general.alignment", 4, struct.pack("<I", 33))]), "general.alignment is 33"),
        ("alignment-a-text", gguf(metadata=[entry("general.alignment", 8, text("32"))]), "expected a power of two"),
        ("alignment-of-2-31", gguf(metadata=[entry("general.alignment", 4, struct.pack("<I", 1 << 31))]), "the file ends"),
        ("tensor-twice", gguf([tensor(), tensor(offset=32)]), "tensor 'w' comes twice"),
        ("tensor-name-no-utf8", gguf([tensor(b"\xff")]), "not UTF-8"),
        ("dimensions-2-32", gguf([tensor(sizes=())[:-16] + struct.pack("<I", 0xFFFFFFFF)]), "4294967295 dimensions"),
        ("65-dimensions", gguf([tensor(sizes=(1,) * 65)]), "65 dimensions"),
        ("shape-overflows", gguf([tensor(sizes=(1 << 40, 1 << 40))]), "more than 2^63 elements"),
        ("shape-overflows-beside-0", gguf([tensor(sizes=(0, 1 << 40, 1 << 40))]), "more than 2^63 elements"),
        ("shape-negative", gguf([tensor(sizes=(U64,))]), "more than 2^63 elements"),
        ("of-2-exabytes", gguf([tensor(sizes=(1 << 59,))]), "the file ends at byte"),
        ("half-a-block", gguf([tensor(sizes=(33,), kind=8)]), "expected a multiple of 32, the block of Q8_0"),
        ("overlap", gguf([tensor("a"), tensor("b")]), "tensor 'b' overlaps 'a'"),
        ("overlap-within", gguf([tensor("a", (32,)), tensor("b", offset=32)], data=FLOATS * 8), "overlaps"),
        ("misaligned", gguf([tensor(offset=4)], data=FLOATS * 2), "expected a multiple of 32"),
        ("past-the-end", gguf([tensor(offset=1 << 20)]), "the file ends at byte"),
        ("past-2-64", gguf([tensor(offset=U64 - 31)]), "ends past 2^64 bytes"),
        ("short", gguf(data=FLOATS[:15]), "the file ends at byte"),
    ):
        yield Attack(f"gguf-{name}.pt", data, refused(said))
    for name, data, said in (
        ("version-4", gguf(version=4), "GGUF of version 4"),
        ("version-0", gguf(version=0), "GGUF of version 0"),
        ("type-removed", gguf([tensor(sizes=(32,), kind=4)]), "type 4 (Q4_2"),
        ("type-unknown", gguf([tensor(sizes=(32,), kind=0xFFFFFFFF)]), "is of type 4294967295"),
    ):
        yield Attack(f"gguf-{name}.pt", data, unsupported(said))
    steering = gguf([tensor("\x1b]0;owned\x07")], [entry("\x1b[2J", 8, text("\x1b[2J"))])
    yield Attack("gguf-name-steers.pt", steering, fine())
    many = gguf([tensor(f"w{i}", (1,), 24, i * 32) for i in range(5000)], data=bytes(5000 * 32))
    yield Attack("gguf-5000.pt", many, fine("5,000 tensors"))
    keys = gguf(metadata=[entry(str(i), 8, text("x")) for i in range(100_000)])
    yield Attack("gguf-100000-keys.pt", keys, fine("99,980 more"))
    yield Attack("gguf-long-array.pt", gguf(metadata=[entry(kind=9, value=array(5, 1 << 20, bytes(4 << 20)))]), fine("metadata k: [0, 0"))
    yield Attack("gguf-with-a-tail.pt", gguf(data=FLOATS + bytes(100)), fine("100 bytes follow the tensors"))
