"""Plain pickles: files in bytes for torch.storage._load_from_bytes, arrays that lie, what follows, what is no pickle."""

import gzip
import pickle
import struct

import tar_attacks
from attack import Attack, Outcome, dangerous, fine, refused, unsupported
from forge import FLOATS, call, legacy, many, mapping, name, number, program, storage, tensor, text, torch_zip

LOAD = name("torch.storage", "_load_from_bytes")
SYSTEM = call(name("os", "system"), text("true"))
STORAGE = legacy(program(storage(more=b"N")))


def octets(data):
    return b"B" + struct.pack("<I", len(data)) + data


def nested(data=STORAGE):
    return call(LOAD, octets(data))


def dtype(code, order="<"):
    state = many(number(3), text(order), b"N", b"N", b"N", b"J\xff\xff\xff\xff", b"J\xff\xff\xff\xff", number(63 if code.startswith("O") else 0))
    return call(name("numpy", "dtype"), text(code), b"\x89", b"\x88") + state + b"b"


def array(code="f4", shape=(4,), data=octets(FLOATS), order="<", fortran=b"\x89"):
    made = call(name("numpy.core.multiarray", "_reconstruct"), name("numpy", "ndarray"), many(number(0)), octets(b"b"))
    return made + many(number(1), many(*map(number, shape)), dtype(code, order), fortran, data) + b"b"


def plain(title, body, outcomes, protocol=3):
    yield Attack(f"plain-{title}.pt", program(body, protocol), outcomes)


def unjudged(said):
    """Read, and the function that stays dangerous is dangerous."""
    return dangerous("torch.storage._load_from_bytes") | {"inspect": Outcome(0, said)}


def payload():
    return dangerous("os.system") | {"convert": Outcome(4, "calls for torch.storage._load_from_bytes, os.system")}


def around(data):
    """A file of torch's that holds another one, and no storage."""
    return legacy(program(nested(data), 3), keys=pickle.dumps([], 2), data=b"")


def around_often(data, times=200):
    """The same in protocol 2, whose bytes are made of a text, and opened again and again: a tree of 200^8 files for whoever
    opens each."""
    made = call(LOAD, call(name("_codecs", "encode"), b"h\1", text("latin1")))
    body = b"(" + text(data.decode("latin1")) + b"q\1" + b"0" + made * times + b"t"
    return legacy(program(body), keys=pickle.dumps([], 2), data=b"")


def deep(levels, wrap=around):
    data = STORAGE
    for _ in range(levels):
        data = wrap(data)
    return data


def files_in_bytes():
    good = fine("1 tensor")
    yield from plain("good", mapping(("w", tensor(nested()))), good)
    yield from plain("of-a-zip", mapping(("w", tensor(nested(torch_zip(program(storage())))))), good)
    yield from plain("of-one-8-deep", mapping(("w", tensor(nested(deep(6))))), refused("expected a storage"))
    yield from plain("of-files-100-deep", nested(deep(100)), unjudged("stays dangerous"))
    yield from plain("bytes-empty", nested(b""), unjudged("the file is empty"))
    yield from plain("bytes-text", nested(b"hello"), unjudged("stays dangerous"))
    yield from plain("bytes-cut", nested(STORAGE[:-30]), unjudged("stays dangerous"))
    cut = unjudged("stays dangerous") | {
        "verify": Outcome(1, "the file ends at byte"),
        "convert FILE OUT --allow-unsafe --verify full": Outcome(6, "tells whether the input is broken there, too"),
    }
    yield from plain("bytes-cut-in-the-elements", nested(STORAGE[:-8]), cut)
    yield from plain("bytes-a-pickle", nested(program(SYSTEM)), payload())
    yield from plain("bytes-a-payload", nested(legacy(program(SYSTEM, 2))), payload())
    head = [program(SYSTEM, 2), *(pickle.dumps(part, 2) for part in (1001, {}))]
    yield from plain("bytes-a-payload-first", nested(legacy(head=head)), unjudged("a pickle that calls for os.system (dangerous)"))
    yield from plain("bytes-a-payload-in-two", nested(around(legacy(program(SYSTEM)))), payload())
    yield from plain("bytes-in-gzip", nested(gzip.compress(STORAGE, mtime=0)), unjudged("format torch-legacy, compressed"))
    yield from plain("bytes-in-a-tar", nested(tar_attacks.tar(tar_attacks.member(b"w", STORAGE))), unjudged("in an archive"))
    yield from plain("given-to-another", mapping(("w", tensor(nested())), ("f", LOAD)), unjudged("given to something else"))
    passed = call(name("torch._tensor", "_rebuild_from_type_v2"), LOAD, name("torch", "Tensor"), many(octets(b"x")), b"}")
    yield from plain("passed-on", passed, unjudged("given to something else"))
    yield from plain("called-with-a-name", call(LOAD, name("zoo", "bytes")), unjudged("something else than bytes"))
    yield from plain("called-with-two", call(LOAD, octets(STORAGE), number(1)), unjudged("something else than bytes"))
    # The same bytes again and again: opened once.
    again = b"(" + octets(STORAGE + bytes(1 << 20)) + b"q\1" + b"0" + b"".join(
        LOAD + b"h\1\x85R" for _ in range(2000)
    ) + b"t"
    yield from plain("same-bytes-2000-times", again, fine("0 tensors"))
    yield from plain("same-text-200-times-8-deep", nested(deep(6, around_often)), fine("0 tensors"))
    many_small = b"(" + b"".join(tensor(nested()) for _ in range(3000)) + b"t"
    yield from plain("3000-files", many_small, fine("3,000 tensors"))
    # Judged in the first pickle, and not in the second.
    behind = program(mapping(("w", tensor(nested()))), 3) + program(nested(legacy(program(SYSTEM))), 3)
    yield Attack("plain-harmless-then-not.pt", behind, dangerous("torch.storage._load_from_bytes"))
    yield Attack("plain-harmless-twice.pt", program(mapping(("w", tensor(nested()))), 3) * 2, fine("there is 1 more"))
    yield Attack("plain-in-a-zip.pt", torch_zip(program(mapping(("x", nested())), 3)), fine("globals: 2 known"))
    yield Attack("plain-in-a-zip-unjudged.pt", torch_zip(program(nested(b"x"), 3)), dangerous("torch.storage._load_from_bytes"))


def arrays():
    yield from plain("array", mapping(("w", array())), fine("1 tensor"))
    for title, body, said in (
        ("array-short", array(data=octets(FLOATS[:15])), "an array of 15 bytes"),
        ("array-long", array(data=octets(FLOATS + b"x")), "an array of 17 bytes"),
        ("array-of-exabytes", array(shape=(1 << 59,)), "expected 2305843009213693952"),
        ("array-overflows", array(shape=(1 << 62, 8)), "overflows 63 bits"),
        ("array-overflows-beside-0", array(shape=(0, 1 << 62, 8)), "overflows 63 bits"),
        ("array-of-65-dimensions", array(shape=(1,) * 65), "65 dimensions"),
    ):
        yield from plain(title, mapping(("w", body)), refused(said))
    for title, body, said in (
        ("array-of-objects", array("O8", order="|", data=b"](NNNNe"), "1 array is of Python objects"),
        ("array-of-an-unknown-dtype", array("f3"), "1 array is of a dtype that torch lacks"),
        ("array-of-no-bytes", array(data=b"N"), "1 array is of data that are no bytes"),
    ):
        yield from plain(title, mapping(("w", body)), fine(said))
    told = dangerous("numpy.dtype") | {"inspect": Outcome(0, "1 array is of a dtype that is no call")}
    yield from plain("array-of-an-unknown-order", mapping(("w", array(order="?"))), told)
    zeros = octets(bytes(1 << 20)) + b"q\1"
    bomb = b"(" + array("u1", (1 << 20,), zeros) + b"".join(array("u1", (1 << 20,), b"h\1") for _ in range(1500)) + b"t"
    yield from plain("arrays-of-one-text", bomb, refused("bytes of storages out of 1048576"))


def texts():
    yield from plain("text-of-4-gib", b"B\xff\xff\xff\xffabc", refused("ends within a string of 4294967295 bytes"))
    yield from plain("text-of-16-eib", b"\x8e" + b"\xff" * 8 + b"abc", refused("ends within a string"), 4)
    yield from plain("text-cut", octets(bytes(100000))[:-50000], refused("ends within a string of 100000 bytes"))
    yield from plain("text-no-utf8", text(b"\xff" * 8192), refused("not UTF-8"))
    yield from plain("text-cut-character", text(b"a" * 300000 + b"\xe2\x82"), refused("not UTF-8"))


def rests():
    good = program(mapping(("w", array())), 3)
    yield Attack("plain-two.pt", good + good, fine("there is 1 more"))
    yield Attack("plain-junk-behind.pt", good + b"\0junk", fine("5 bytes follow the pickle"))
    yield Attack("plain-payload-behind.pt", good + program(SYSTEM), dangerous("os.system"))
    yield Attack("plain-100000-behind.pt", good + b"N." * 100000, fine("there are 1024 more"))
    yield Attack("plain-payload-behind-a-cut.pt", program(SYSTEM, 3)[:-1], refused("os.system"))
    yield Attack("plain-payload.pt", program(SYSTEM, 3), dangerous("os.system"))
    yield Attack("plain-payload-of-protocol-0.pt", b"cos\nsystem\n(S'true'\ntR.", dangerous("os.system"))


def what_is_none():
    yield Attack("plain-storage-elsewhere.pt", program(mapping(("w", tensor()))), unsupported("storages which it does not hold"))
    yield Attack("plain-buffers-elsewhere.pt", program(b"\x97", 5), unsupported("NEXT_BUFFER"))
    yield Attack("plain-protocol-6.pt", program(b"N", 6), unsupported("no known format begins with 80 06"))
    yield Attack("plain-prose.pt", b"config is what this is about\nand more of it\nN.", unsupported("this is text"))
    yield Attack("plain-mark-alone.pt", b"(" * 20000, unsupported("this is text"))


def attacks():
    yield from files_in_bytes()
    yield from arrays()
    yield from texts()
    yield from rests()
    yield from what_is_none()
