"""numpy's files: headers that lie, lines that are no literal, arrays that no tensor is, archives around them."""

import pickle
import struct

from attack import Attack, fine, in_the_bytes, refused, unsupported
from forge import FLOATS, Part, archive, npy, npz, torch_zip

SYSTEM = b"\x80\2cos\nsystem\nU\x04truet\x85R."


def both(name, array, outcomes):
    """Bare, and in an archive beside a good one."""
    yield Attack(f"numpy-{name}.npy", array, outcomes)
    yield Attack(f"numpy-{name}.npz", npz(npy(), array), outcomes)


def lines():
    """Headers that numpy would hand to Python's parser, or that say what cannot be."""
    for name, line, said in (
        ("empty-header", "", "the array's header ends"),
        ("no-dict", "None\n", "goes on with 'None"),
        ("code", "{'descr': __import__('os').system('true'), }", "expected a string"),
        ("code-after", "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)} + exit()", "expected its end"),
        ("nested-brackets", "(" * 60000, "expected '{'"),
        ("nested-shape", f"{{'shape': {'(' * 50000}", "expected a number"),
        ("long-number", f"{{'shape': ({'9' * 60000},)", "expected a number below 2^63"),
        ("escape-in-a-string", "{'descr': '<f\\x34', }", "without escapes"),
        ("string-without-end", "{'descr': '<f4", "without escapes"),
        ("key-twice", "{'shape': (4,), 'shape': (4,)}", "says 'shape' twice"),
        ("key-unknown", "{'descr': '<f4', '\x1b]0;owned\x07': 1}", "has the key"),
        ("key-missing", "{'descr': '<f4', 'shape': (4,)}", "lacks a key"),
        ("order-no-bool", "{'fortran_order': 1}", "expected True or False"),
        ("shape-no-tuple", "{'shape': 4}", "expected '('"),
        ("shape-negative", "{'shape': (-4,)}", "expected a number"),
        ("shape-float", "{'shape': (4.0,)}", "expected ','"),
        ("nul", "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }\0", "expected its end"),
    ):
        yield from both(name, npy(line), refused(said))


def sizes():
    for name, array, said in (
        ("shape-overflows", npy(shape="(4611686018427387904, 4)"), "multiplies past 2^63 bytes"),
        ("shape-overflows-beside-0", npy(shape="(0, 4611686018427387904, 4)"), "multiplies past 2^63 bytes"),
        ("header-of-4-gib", npy(version=2, length=0xFFFFFFFF), "header of 4294967295 bytes"),
        ("65-dimensions", npy(shape=f"({'1, ' * 65})"), "more than 64 dimensions"),
        ("dtype-of-no-size", npy(descr="<f3"), "dtype '<f3'"),
    ):
        yield from both(name, array, refused(said))
    yield Attack("numpy-of-2-exabytes.npy", npy(shape="(576460752303423488,)"), refused("the file ends at byte"))
    yield Attack("numpy-of-2-exabytes.npz", npz(npy(shape="(576460752303423488,)")), refused("the array has 16 bytes"))
    yield Attack("numpy-short.npz", npz(npy(data=FLOATS[:15])), refused("the array has 15 bytes, expected 16"))
    yield Attack("numpy-long.npz", npz(npy(data=FLOATS + b"x")), refused("the array has 17 bytes, expected 16"))
    yield Attack("numpy-header-past-the-end.npy", npy(length=60000), refused("expected"))
    yield Attack("numpy-magic-alone.npy", b"\x93NUMPY", refused("expected"))
    yield Attack("numpy-zeros-behind-the-magic.npy", b"\x93NUMPY\1\0" + bytes(120), refused("the array's header ends"))
    yield Attack("numpy-two-in-a-file.npy", npy() + npy(), fine("follow the array and are left out"))


def what_is_no_tensor():
    for name, array, said in (
        ("objects", npy(descr="|O", shape="(1,)", data=SYSTEM), "holds Python objects"),
        ("objects-of-a-real-pickle", npy(descr="|O", shape="()", data=pickle.dumps({"a": 1})), "holds Python objects"),
        ("text", npy(descr="<U4", shape="(1,)"), "holds Unicode text"),
        ("dates", npy(descr="<M8[ns]", shape="(2,)"), "holds dates"),
        ("raw", npy(descr="|V2", shape="(8,)"), "holds records or raw bytes"),
        ("records", npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (4,), }"), "is a structured one"),
        ("version-9", npy(version=9), "format version 9.0"),
    ):
        yield from both(name, array, unsupported(said))


def archives():
    array = npy()
    yield Attack("numpy-member-no-array.npz", npz(array, b"hello"), refused("the magic is missing"))
    yield Attack("numpy-member-too-small.npz", npz(array, b"\x93"), refused("expected"))
    yield Attack("numpy-crc.npz", archive([Part("w.npy", array, crc=7)]), in_the_bytes("CRC"))
    yield Attack("numpy-name-twice.npz", archive([Part("w.npy", array)] * 2), refused("two members named 'w.npy'"))
    yield Attack("numpy-name-outside.npz", archive([Part("../w.npy", array)]), refused("'..' in member name"))
    yield Attack("numpy-name-no-utf8.npz", archive([Part(b"\xff.npy", array)]), unsupported("a name that is not UTF-8"))
    yield Attack("numpy-name-steers.npz", archive([Part("\x1b]0;owned\x07.npy", array)]), fine())
    yield Attack("numpy-beside-a-pickle.npz", archive([Part("w.npy", array), Part("r/data.pkl", b"N.")]), refused("lies outside"))
    yield Attack("numpy-before-a-torch-file.npy", array + torch_zip(), fine("follow the array and are left out"))
    bomb = npy(shape="(268435456,)", data=bytes(1 << 20))
    yield Attack("numpy-bomb-short.npz", archive([Part("w.npy", bomb, deflate=True)]), refused("the array has 1048576 bytes"))
    claims = [Part("w.npy", array, deflate=True, size=1 << 31)]
    yield Attack("numpy-bomb-claimed.npz", archive(claims), refused("claims to grow"))
    encrypted = archive([Part("w.npy", array, flags=1)])
    yield Attack("numpy-encrypted.npz", encrypted, refused("is encrypted"))
    many = archive([Part(f"w{i}.npy", npy(descr="|u1", shape="()", data=struct.pack("B", i % 256)), deflate=True) for i in range(5000)])
    yield Attack("numpy-5000-deflated.npz", many, fine("5,000 tensors, 5,000 parameters"))


def attacks():
    yield from lines()
    yield from sizes()
    yield from what_is_no_tensor()
    yield from archives()
