"""Tar archives and PyTorch 0.1's files: headers that lie, records that lie, several checkpoints or none."""

import gzip
import pickle
import struct

from attack import Attack, dangerous, fine, refused, unsupported
from forge import FLOATS, MAGIC, call, many, mapping, name, number, program, text, torch_zip

BLOCK = 512


def header(title, size, kind=b"0", magic=b"ustar\x0000", prefix=b"", wrong=0, size_field=None, link=b""):
    data = bytearray(BLOCK)
    data[: len(title)] = title
    data[100:107] = b"0000644"
    data[124:136] = (b"%011o\0" % size) if size_field is None else size_field
    data[148:156] = b" " * 8
    data[156:157] = kind
    data[157 : 157 + len(link)] = link
    data[257 : 257 + len(magic)] = magic
    data[345 : 345 + len(prefix)] = prefix
    data[148:156] = b"%06o\0 " % (sum(data) + wrong)
    return bytes(data)


def member(title, data=b"", kind=b"0", **fields):
    return header(title, len(data), kind, **fields) + data + bytes(-len(data) % BLOCK)


def respelt(title, form):
    """An empty member whose checksum is written in that form."""
    made = bytearray(header(title, 0, b"0"))
    made[148:156] = b" " * 8
    made[148:156] = (form % sum(made)).ljust(8, b"\0")[:8]
    return bytes(made)


def tar(*members, end=bytes(2 * BLOCK)):
    return b"".join(members) + end


def storage_record(key=1, kind="FloatStorage", count=4, data=FLOATS, module="torch"):
    return program(many(number(key), text("cpu"), name(module, kind))) + struct.pack("<Q", count) + data


def tensor_record(key=7, storage=1, shape=(4,), stride=(1,), offset=0, dimensions=None):
    numbers = (len(shape) if dimensions is None else dimensions, *shape, *stride, offset)
    return program(many(number(key), number(storage), name("torch", "FloatTensor"))) + struct.pack(f"<{len(numbers)}q", *numbers)


def torch_tar(code=None, storages=None, tensors=None, views=b"]", storage_count=None, tensor_count=None, more=()):
    code = mapping(("w", text("7") + b"Q")) if code is None else code
    storages = [storage_record()] if storages is None else storages
    tensors = [tensor_record()] if tensors is None else tensors
    counted = program(number(len(storages) if storage_count is None else storage_count))
    return tar(
        member(b"sys_info", program(b"}")),
        member(b"pickle", program(code)),
        member(b"tensors", program(number(len(tensors) if tensor_count is None else tensor_count)) + b"".join(tensors)),
        member(b"storages", counted + b"".join(storages) + (b"" if views is None else program(views))),
        *more,
    )


def both(title, data, outcomes):
    """Bare and in gzip."""
    yield Attack(f"tar-{title}.pt", data, outcomes)
    yield Attack(f"tar-{title}.tar.pt.gz", gzip.compress(data, 1, mtime=0), outcomes)


def headers():
    good = member(b"w.pt", torch_zip())
    for title, data in (
        ("good", tar(good)),
        ("no-end", tar(good, end=b"")),
        ("of-unix-v7", tar(member(b"w.pt", torch_zip(), magic=b""))),
        ("long-name", tar(member(b"././@LongLink", b"n" * 300 + b"\0", b"L"), member(b"w", torch_zip()))),
        ("pax", tar(member(b"x", b"19 path=some/where\n", b"x"), member(b"w", torch_zip()))),
        ("long-dots", tar(member(b"././@LongLink", b"./" * 500_000 + b"w\0", b"L"), member(b"w", torch_zip()))),
        ("link-beside", tar(good, member(b"l", kind=b"2"))),
        ("device-beside", tar(good, member(b"d", kind=b"3"))),
    ):
        yield from both(title, data, fine("1 tensor"))
    for title, data, said in (
        ("checksum", tar(good, member(b"b", b"x", wrong=1)), "wrong checksum"),
        ("cut-header", tar(good, end=header(b"b", 0)[:100]), "ends within a header"),
        ("size-no-number", tar(good, member(b"b", b"x", size_field=b"99999999999\0")), "a size that is none"),
        ("size-past-2-64", tar(good, member(b"b", size_field=b"\x80" + b"\xff" * 11)), "a size that is none"),
        ("size-of-16-eib", tar(good, member(b"b", size_field=b"\x80\0\0\0" + b"\xff" * 8)), "a number below 2^63"),
        ("absolute", tar(good, member(b"/etc/passwd", b"x")), "a member named '/etc/passwd'"),
        ("outside", tar(good, member(b"../w", b"x")), "stays in the archive"),
        ("name-that-steers", tar(member(b"\x1b]0;owned\x07", torch_zip())), "a name that is none"),
        ("name-no-utf8", tar(member(b"\x80\2N.", torch_zip())), "a name that is none"),
        ("name-a-program", tar(member(b"cos\nsystem\n(S'true'\ntR.", torch_zip())), "a name that is none"),
        ("name-a-program-behind", tar(member(b"X \0\0\0" + b"a" * 32 + b"0cos\nsystem\n.", torch_zip())), "a name that is none"),
        ("link-a-program", tar(header(b"w", 0, b"2", link=b"cos\nsystem\n.")), "a name that is none"),
        ("twice", tar(good, good), "two members named 'w.pt'"),
        ("pax-broken", tar(member(b"x", b"99 path=a\n", b"x"), good), "pax header"),
        ("pax-of-4-gib", tar(header(b"x", 0, b"x", size_field=b"40000000000\0"), good), "a header of 4294967296 bytes"),
        ("sparse", tar(member(b"w.pt", torch_zip(), b"S")), "sparse"),
    ):
        outcomes = unsupported(said) if title == "sparse" else refused(said)
        yield from both(title, data, outcomes)
    cut = tar(good)[: BLOCK + 100]
    yield Attack("tar-cut.pt", cut, refused("where 100 are left"))


def long_names():
    """A few bytes of gzip a name, or a location, of a megabyte."""
    times = 100
    long = b"n" * 1_000_000
    names = (member(b"././@LongLink", long + b"%d\0" % i, b"L") + header(b"x", 0, b"5") for i in range(times))
    said = refused("the members' names take more than 33554432 bytes")
    yield Attack("tar-100-long-names.tar.pt.gz", gzip.compress(tar(*names), 1, mtime=0), said)
    where = text("x" * 1_000_000)
    records = [program(many(number(1 << 16 | i), where, name("torch", "FloatStorage"))) + bytes(8) for i in range(times)]
    said = refused("the pickle does not end within its cap")
    yield Attack("tar-100-long-locations.tar.pt.gz", gzip.compress(torch_tar(storages=records), 1, mtime=0), said)
    # Each record is a pickle of its own.
    records = [program(many(number(1 << 16 | i), text("cpu"), name("torch", "FloatStorage"))) + bytes(8) for i in range(20_000)]
    records.append(storage_record())
    yield Attack("tar-20000-storages.pt", torch_tar(storages=records), fine("1 tensor"))


def two_at_once():
    """Legacy files whose first 512 bytes are a tar's header: torch.load looks for a tar first."""
    head = b"".join(pickle.dumps(part, 2) for part in (MAGIC, 1001))
    text = b"X" + struct.pack("<I", BLOCK + 2 * BLOCK)  # the rest of the header is within a string
    start = bytearray(head + b"\x80\2" + text)
    start += bytes(100 - len(start))
    name = bytes(start)
    block = bytearray(header(b"", 0))
    block[:100] = name
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    yield Attack("tar-and-legacy.pt", bytes(block) + bytes(4096), refused("is a tar archive as well"))
    yield Attack("tar-and-pickle.pt", tar(member(b"\x80\2]q\0.", torch_zip())), refused("a name that is none"))


def around():
    whole = torch_zip()
    yield from both("of-nothing", tar(member(b"a.txt", b"text")), unsupported("without a checkpoint; it holds 'a.txt'"))
    yield from both("of-two", tar(member(b"a", whole), member(b"b", whole)), unsupported("2 checkpoints: 'a', 'b'"))
    yield from both("of-a-tar", tar(member(b"a.tar", tar(member(b"w", whole)))), unsupported("without a checkpoint"))
    nested = tar(member(b"w", whole))
    for _ in range(2000):
        nested = tar(member(b"t", nested), end=b"")
    yield Attack("tar-2000-deep.pt", nested, unsupported("without a checkpoint"))
    packed = gzip.compress(gzip.compress(whole, mtime=0), mtime=0)
    deep = gzip.compress(tar(member(b"w.gz.gz", packed)), mtime=0)
    yield Attack("tar-gzip-three-deep.tar.pt.gz", deep, refused("gzip within gzip within gzip"))
    yield Attack("tar-4000-members.pt", tar(*(member(b"%d" % i) for i in range(4000)), member(b"w", whole)), fine("1 tensor"))
    payload = torch_zip(program(call(name("os", "system"), text("true"))))
    yield from both("of-a-payload", tar(member(b"w.pt", payload)), dangerous("os.system"))
    index = b'{"metadata": {}, "weight_map": {"w": "../../secret.bin"}}'
    yield Attack("tar-of-an-index.pt", tar(member(b"pytorch_model.bin.index.json", index)), refused("as a part of itself"))


def torch_tars():
    yield from both("torch", torch_tar(), fine("torch-tar"))
    view = many(number(5), number(1), number(3), number(2))
    for title, data, said in (
        ("key-of-nothing", torch_tar(text("9") + b"Q"), "the object names '9'"),
        ("key-no-number", torch_tar(text("key") + b"Q"), "the object names ''"),
        ("key-a-tuple-of-2", torch_tar(many(text("a"), text("b")) + b"Q"), "a persistent id of 2 parts"),
        ("storage-missing", torch_tar(tensors=[tensor_record(storage=2)]), "a tensor in storage '2'"),
        ("storage-twice", torch_tar(storages=[storage_record()] * 2), "the key '1' for two storages"),
        ("tensor-twice", torch_tar(tensors=[tensor_record()] * 2), "the key '7' for two things"),
        ("tensor-is-a-storage", torch_tar(tensors=[tensor_record(key=1)]), "the key '1' for two things"),
        ("storage-past-the-end", torch_tar(storages=[storage_record(count=1 << 40)]), "bytes of elements"),
        ("storage-overflows", torch_tar(storages=[storage_record(count=1 << 63)]), "elements"),
        ("storages-counted-short", torch_tar(storage_count=0), "storages are not followed by a list"),
        ("storages-counted-long", torch_tar(storage_count=200), "a record that is no tuple"),
        ("storages-counted-negative", torch_tar(storage_count=-1), "a count that is none"),
        ("tensors-counted-short", torch_tar(tensor_count=0), "bytes behind the last tensor"),
        ("tensors-counted-long", torch_tar(tensor_count=200), "the pickle ends"),
        ("dimensions-many", torch_tar(tensors=[tensor_record(dimensions=1 << 30)]), "dimensions"),
        ("dimensions-negative", torch_tar(tensors=[tensor_record(dimensions=-1)]), "dimensions"),
        ("tensor-past-its-storage", torch_tar(tensors=[tensor_record(shape=(5,))]), "tensor 'w'"),
        ("tensor-negative", torch_tar(tensors=[tensor_record(shape=(-1,))]), "tensor 'w'"),
        ("tensor-overflows", torch_tar(tensors=[tensor_record(shape=(1 << 62, 8), stride=(8, 1))]), "tensor 'w'"),
        ("view-past-its-storage", torch_tar(views=b"](" + view + b"e"), "a view past the end"),
        ("views-no-list", torch_tar(views=b"}"), "not followed by a list"),
        ("a-link", tar(member(b"pickle", kind=b"2"), member(b"storages", program(number(0)))), "is a link"),
    ):
        yield from both(title, data, refused(said))
    # As other writers make it; where numbers are missing as well, the list is what stands in their place.
    odd = "the storages end without their list of views"
    yield from both("views-missing", torch_tar(views=None), fine(odd, odd))
    yield from both("views-missing-and-numbers-cut", torch_tar(storages=[storage_record(data=FLOATS[:-4])]), fine(odd, odd))
    yield from both("class-unknown", torch_tar(storages=[storage_record(kind="OddStorage")]), unsupported("OddStorage"))
    bomb = call(name("os", "system"), text("true"))
    for title, data in (
        ("payload", torch_tar(mapping(("w", text("7") + b"Q"), ("x", bomb)))),
        ("payload-in-storages", torch_tar(storages=[program(many(number(1), text("cpu"), name("torch", "FloatStorage"))
                                                            + bomb + b"0") + struct.pack("<Q", 4) + FLOATS])),
        ("payload-in-views", torch_tar(views=bomb + b"0]")),
    ):
        yield from both(title, data, dangerous("os.system"))


def attacks():
    yield from headers()
    yield from long_names()
    yield from two_at_once()
    yield from around()
    yield from torch_tars()
