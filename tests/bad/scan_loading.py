"""Files that call for nothing but data, and of which torch or numpy reads, shows or writes over memory that is not theirs, as
they are loaded or when they are used. `ckpt scan` must call none of them safe."""

import gzip
import struct

from forge import FLOATS, WEIGHT, Part, archive, call, legacy, many, mapping, name, npy, npz, number, program, storage, tensor, text, torch_zip
from scan_cases import GOOD, harmless, hit, octets, plain, unjudged
from scan_misuse import LONG, OBJECT, built, dtype, signed, state
from scan_states import DICT, SCALAR, array, elements
from tar_attacks import member, tar

ORDERED = name("collections", "OrderedDict")
LOAD = name("torch.storage", "_load_from_bytes")
GENERATOR = name("numpy.random._pickle", "__bit_generator_ctor")
COORDINATES = call(name("torch.serialization", "_get_layout"), text("torch.sparse_coo"))


def quantised(shape=(4,), offset=0, scale=b"G" + struct.pack(">d", 1.0)):
    """Of a storage of four bytes."""
    how = many(name("torch", "per_tensor_affine"), scale, number(0))
    place = [(signed if offset < 0 else number)(offset), many(*map(number, shape)), many(*(number(1) for _ in shape))]
    return call(name("torch._utils", "_rebuild_qtensor"), storage(kind="QInt8Storage"), *place, how, b"\x89", DICT)


def past_storages():
    """torch looks at neither the offsets of quantised tensors, nor at whether a file before 1.6 fills what a tensor makes larger."""
    four = {"0": b"\5\6\7\x08"}
    for title, code in (
        ("behind", quantised((4096,))),
        ("before", quantised(offset=-4096)),
        ("far-behind", quantised(offset=1 << 40)),
        ("as-a-scale", quantised(scale=quantised((), 1 << 40))),
        ("by-another-function", tensor(storage(kind="QInt8Storage"), (4096,))),
    ):
        yield from unjudged(f"loading-{title}.pt", torch_zip(program(mapping(("w", code))), four), "unreadable: ")
    yield from harmless("quantised.pt", torch_zip(program(mapping(("w", quantised()))), four))
    of_a_class = mapping(("w", quantised((4096,))), ("c", name("mylab", "Config") + b")\x81"))
    yield from unjudged("loading-behind-with-a-class.pt", torch_zip(program(of_a_class), four), "unknown: mylab.Config")
    view = tensor(storage(elements=1024, more=many(text("v"), number(0), number(1024))), (1024,))
    grown = tensor(storage(elements=1024, more=b"N"), (65536,))
    freed = legacy(program(mapping(("view", view), ("grown", grown))), keys=program(elements(text("v"))), data=struct.pack("<q", 1024) + bytes(4096))
    yield from unjudged("loading-over-what-was-freed.pt", freed, "unreadable: ")
    unfilled = legacy(program(mapping(("w", tensor(storage(more=b"N"))))), keys=program(b"]"), data=b"")
    yield from unjudged("loading-what-is-not-filled.pt", unfilled, "unreadable: ")
    inner = call(LOAD, octets(legacy(program(storage(more=b"N")))))
    yield from unjudged("loading-past-bytes.pkl", program(mapping(("w", tensor(inner, (600,)))), 3), "unreadable: ")
    rows = torch_zip(program(mapping(("w", quantised()))), four)
    yield from harmless("items-in-a-row.distcp", rows + rows)
    yield from unjudged("loading-behind-in-a-row.distcp", rows + torch_zip(program(mapping(("w", quantised((4096,))))), four), "unreadable: archive at byte ")


def states_of_transformer_engine():
    """It unpickles a tensor's numbers as the tensor shows them."""
    data = {"0": bytes(64)}
    for title, view in (("offset", tensor(storage(kind="ByteStorage", elements=64), (32,), offset=16)), ("stride", tensor(storage(kind="ByteStorage", elements=64), (32,), (2,)))):
        for key, said in (("l._extra_state", "unknown: (tensor).l._extra_state"), ("w", ": safe")):
            yield from harmless(f"view-as-a-state-{title}-{key}.pt", torch_zip(program(mapping((key, view))), data), said)
    whole = tensor(storage(kind="ByteStorage", elements=64), (64,))
    yield from harmless("tensor-as-a-state.pt", torch_zip(program(mapping(("l._extra_state", whole))), data))


def files_within_others():
    """What is loaded after it is unpacked: by torch.hub a zip of one file, by numpy an array of objects."""
    unlisted = legacy(program(mapping(("w", WEIGHT))), keys=program(b"]"))
    past = torch_zip(program(mapping(("w", quantised((4096,))))), {"0": b"\5\6\7\x08"})
    storages = call(LOAD, octets(legacy(program(storage(more=b"N")))))
    for title, data, good in (("legacy", unlisted, legacy()), ("torch", past, torch_zip())):
        for kind, around in (("zip", lambda part: archive([Part("m.pt", part)])), ("deflated", lambda part: archive([Part("m.pt", part, deflate=True)])),
                             ("tar", lambda part: tar(member(b"m.pt", part))), ("tar.gz", lambda part: gzip.compress(tar(member(b"weights", part)))),
                             ("of-gz.zip", lambda part: archive([Part("m.pt.gz", gzip.compress(part))]))):  # fmt: skip
            yield from unjudged(f"loading-{title}-in-a-{kind}", around(data), "unreadable: ")
            yield from harmless(f"{title}-in-a-{kind}", around(good))
    for title, shape, made in (("past-its-bytes", 65536, unjudged), ("within-its-bytes", 4, harmless)):
        objects = program(array(OBJECT, 1, elements(tensor(storages, (shape,)))), 3)
        for kind, data in (("npy", npy(descr="|O", shape="(1,)", data=objects)), ("npz", npz(npy(descr="|O", shape="(1,)", data=objects)))):
            said = ("unreadable: ",) if made is unjudged else ()
            yield from made(f"loading-tensor-{title}.{kind}", data, *said)
    second = program(mapping(("w", tensor(storages))), 3) + program(mapping(("w", tensor(storages, (600,)))), 3)
    for title, data in (("pickle", second), ("pickle-in-a.zip", archive([Part("x.dat", second)])), ("in-gzip-in-a.zip", archive([Part("x.pkl.gz", gzip.compress(second))]))):
        yield from unjudged(f"loading-second-{title}", data, "unreadable: ")
    row = torch_zip() + past
    yield from unjudged("loading-row-in-a.zip", archive([Part("__0_0.distcp", row)]), "unreadable: ")
    yield from unjudged("loading-row-in-a.tar", tar(member(b"__0_0.distcp", row)), "unreadable: ")
    rows = b"".join(program(mapping(("w", tensor(storages)), ("i", number(i))), 3) for i in range(1000))
    yield from harmless("pickles-in-a-row.zip", archive([Part("x.pkl", rows, deflate=True)]))
    zeros = torch_zip(program(mapping(("w", tensor(storage(elements=10_000_000), (10_000_000,))))), {"0": bytes(40_000_000)})
    yield from harmless("many-zeros.tar.gz", gzip.compress(tar(*(member(b"epoch%d.pt" % i, zeros) for i in range(5))), 1))
    other = archive([Part("model/data.pkl", GOOD), Part("model/data/0", b"abc"), Part("README", b"x")])
    yield from harmless("other-archive-beside-torchs.zip", archive([Part("model.pt", torch_zip()), Part("kiss.zip", other)]))
    yield from harmless("pickles-beside-each-other.zip", archive([Part("a.pkl", program(mapping(("w", tensor(storages))), 3)), Part("m.pt", torch_zip())]))
    text_of_a_storage = b"\x80\2ctorch.storage\n_load_from_bytes\n(S'" + b"a" * (65 << 20) + b"'\ntR."
    yield from unjudged("loading-text-past-a-cap.pkl.gz", gzip.compress(text_of_a_storage), "unreadable: ")


def pairs_that_are_made():
    """A mapping takes each pair apart, whatever it is: torch looks at no indices of compressed columns when it does."""
    column = name("torch", "sparse_csc")
    indices = [tensor(storage(str(key), "LongStorage", elements=count), (count,)) for key, count in ((1, 3), (2, 4))]
    wild = call(name("torch._utils", "_rebuild_sparse_tensor"), column, many(*indices, WEIGHT, many(number(2), number(2))))
    data = {"0": FLOATS, "1": struct.pack("<3q", 0, 10**6, 2 * 10**6), "2": struct.pack("<4q", *[10**9] * 4)}
    for kind, factory in (("builtins.dict", ()), ("collections.OrderedDict", ()), ("collections.defaultdict", (b"N",))):
        made = name(*kind.split("."))
        yield from hit(f"loading-pairs-for-{kind}.pt", torch_zip(program(call(made, *factory, elements(wild))), data), f"dangerous: {kind}")
        long = call(name("builtins", "range"), number(0), number(150_000_000), number(1))
        yield from plain(f"loading-a-range-for-{kind}", call(made, *factory, many(long)), f"dangerous: {kind}")
    yield from harmless("pairs.pkl", program(call(ORDERED, elements(elements(text("a"), call(ORDERED))))))


def longs(key, numbers, shape=None):
    shape = shape or (len(numbers),)
    stride = [1] if len(shape) == 1 else [shape[1], 1]
    return tensor(storage(key, "LongStorage", elements=len(numbers)), shape, stride), struct.pack(f"<{len(numbers)}q", *numbers)


def sparse(layout, size, *indices, of=WEIGHT):
    """Of indices, or their shape and them; their storages are called 1, 2 …"""
    made = [longs(str(key), *one) for key, one in enumerate(indices, 1)]
    rebuilt = call(name("torch._utils", "_rebuild_sparse_tensor"), call(name("torch.serialization", "_get_layout"), text(f"torch.{layout}")), many(*(code for code, _ in made), of, many(*map(number, size))))
    return torch_zip(program(mapping(("w", rebuilt))), {"0": FLOATS} | {str(key): data for key, (_, data) in enumerate(made, 1)})


def sparse_indices():
    """torch 2.11 looks at none of them when it loads a tensor, and writes where they say in to_dense()."""
    coordinates, block = ([0, 1, 3, 0], (1, 4)), tensor(shape=(1, 2, 2), stride=(4, 2, 1))
    for title, data in (
        ("coordinates", sparse("sparse_coo", (4,), coordinates)),
        ("coordinates-in-two-dimensions", sparse("sparse_coo", (2, 4), ([0, 1, 1, 0, 3, 3, 2, 1], (2, 4)))),
        ("rows", sparse("sparse_csr", (2, 4), ([0, 3, 4],), ([0, 1, 3, 0],))),
        ("columns", sparse("sparse_csc", (4, 2), ([0, 3, 4],), ([0, 1, 3, 0],))),
        ("blocks", sparse("sparse_bsr", (2, 4), ([0, 1],), ([1],), of=block)),
        ("columns-of-blocks", sparse("sparse_bsc", (4, 2), ([0, 1],), ([1],), of=block)),
        ("no-rows", sparse("sparse_csr", (0, 4), ([0],), ([],), of=tensor(shape=(0,)))),
    ):  # fmt: skip
        yield from harmless(f"sparse-{title}.pt", data)
    for title, data, said in (
        ("coordinate-past", sparse("sparse_coo", (3,), coordinates), "tensor 'w', sparse_coo, has 3 among its indices in dimension 0, expected from 0 to below 3"),
        ("coordinate-before", sparse("sparse_coo", (4,), ([0, -1, 3, 0], (1, 4))), "has -1 among its indices in dimension 0"),
        ("coordinate-past-in-its-dimension", sparse("sparse_coo", (2, 4), ([0, 1, 2, 0, 3, 3, 2, 1], (2, 4))), "has 2 among its indices in dimension 0"),
        ("coordinates-too-few", sparse("sparse_coo", (4,), ([0, 1, 3], (1, 3))), "do not go together"),
        ("coordinates-of-more-dimensions", sparse("sparse_coo", (4,), ([0] * 8, (2, 4))), "do not go together"),
        ("column-past", sparse("sparse_csr", (2, 4), ([0, 3, 4],), ([0, 1, 4, 0],)), "sparse_csr, has 4 among its col_indices, expected from 0 to below 4"),
        ("row-past", sparse("sparse_csc", (4, 2), ([0, 3, 4],), ([0, 1, 4, 0],)), "sparse_csc, has 4 among its row_indices"),
        ("row-that-ends-past-the-values", sparse("sparse_csr", (2, 9), ([0, 5, 4],), ([0, 1, 3, 0],)), "has 5 among its crow_indices, expected from 0 to below 5"),
        ("row-that-ends-before-it-begins", sparse("sparse_csr", (3, 4), ([0, 3, 2, 4],), ([0, 1, 3, 0],)), "has 2 among its crow_indices, expected from 3 to below 5"),
        ("row-of-more-than-all-columns", sparse("sparse_csr", (2, 3), ([0, 4, 4],), ([0, 1, 2, 0],)), "has 4 among its crow_indices, expected from 0 to below 4"),
        ("rows-that-begin-later", sparse("sparse_csr", (2, 4), ([1, 3, 4],), ([0, 1, 3, 0],)), "has 1 among its crow_indices, expected from 0 to below 1"),
        ("rows-that-end-early", sparse("sparse_csr", (2, 4), ([0, 2, 3],), ([0, 1, 3, 0],)), "has 3 among its crow_indices, expected from 4 to below 5"),
        ("rows-of-another-size", sparse("sparse_csr", (3, 4), ([0, 3, 4],), ([0, 1, 3, 0],)), "do not go together"),
        ("values-too-few", sparse("sparse_csr", (2, 5), ([0, 3, 5],), ([0, 1, 3, 0, 1],)), "do not go together"),
        ("rows-of-one-dimension", sparse("sparse_csr", (4,), ([0, 3, 4],), ([0, 1, 3, 0],)), "do not go together"),
        ("block-past", sparse("sparse_bsr", (2, 4), ([0, 1],), ([2],), of=block), "has 2 among its col_indices, expected from 0 to below 2"),
        ("blocks-of-another-size", sparse("sparse_bsr", (2, 5), ([0, 1],), ([1],), of=block), "do not go together"),
    ):  # fmt: skip
        yield from unjudged(f"sparse-{title}.pt", data, f"unreadable: {said}" if said.startswith("tensor") else said)
    floats = call(name("torch._utils", "_rebuild_sparse_tensor"), COORDINATES, many(tensor(shape=(1, 4), stride=(4, 1)), WEIGHT, many(number(9))))
    yield from unjudged("sparse-coordinates-of-floats.pt", torch_zip(program(mapping(("w", floats)))), "indices of float32, expected int64")
    wide = call(name("torch._utils", "_rebuild_sparse_tensor"), COORDINATES, many(
        tensor(storage("1", "LongStorage", elements=1), (1, 1 << 40), (0, 0)), tensor(shape=(1 << 40,), stride=(0,)), many(number(4))))  # fmt: skip
    yield from unjudged("sparse-without-end.pt", torch_zip(program(mapping(("w", wide))), {"0": FLOATS, "1": bytes(8)}), "unreadable: ")
    some = 1 << 26  # indices, of one number
    long = call(name("torch._utils", "_rebuild_sparse_tensor"), COORDINATES, many(
        tensor(storage("1", "LongStorage", elements=1), (1, some), (0, 0)), tensor(shape=(some,), stride=(0,)), many(number(4))))  # fmt: skip
    one = torch_zip(program(mapping(("w", long))), {"0": FLOATS, "1": bytes(8)})
    yield from unjudged("sparse-again-and-again.zip", archive([Part(f"{i}.pt", one) for i in range(200)]), "the indices of sparse tensors come to")
    first = many(*(code for code, _ in (longs("1", *coordinates),)), WEIGHT, many(number(4)))
    tied = call(name("torch._utils", "_rebuild_sparse_tensor"), COORDINATES, first)
    yield from harmless("sparse-of-the-same-indices.pt", torch_zip(program(elements(*[tied] * 500)), {"0": FLOATS, "1": longs("1", *coordinates)[1]}))


def several_for_one():
    """A dtype of several elements is a field of a record: elsewhere numpy takes the memory of one for the others'."""
    pair = dtype("V16", state(0, 16, 8, subarray=many(LONG, many(number(2)))))
    objects = dtype("V16", state(27, 16, 8, subarray=many(OBJECT, many(number(2)))))
    for title, code, said in (
        ("an-array-of-objects", array(objects, 1, elements(many(b"N", number(5)))), "_core.multiarray._reconstruct"),
        ("an-array", array(pair, 2, octets(bytes(32))), "_core.multiarray._reconstruct"),
        ("a-scalar", call(SCALAR, pair, octets(bytes(16))), "_core.multiarray.scalar"),
        ("a-buffer", call(name("numpy._core.numeric", "_frombuffer"), octets(bytes(32)), pair, many(number(2)), text("C")), "_core.numeric._frombuffer"),
    ):
        yield from plain(f"loading-several-for-one-of-{title}", code, f"dangerous: numpy.{said}", 3)


def positions():
    """Where a generator goes on in its numbers: it draws from there without a look."""
    def numbers(kind, count, size):
        return array(dtype(kind, state(0)), count, octets(bytes(size * count)))

    def twister(place):
        return mapping(("bit_generator", text("MT19937")), ("state", mapping(("key", numbers("u4", 624, 4)), ("pos", signed(place)))))

    def philox(place):
        key = mapping(("counter", numbers("u8", 4, 8)), ("key", numbers("u8", 2, 8)))
        return mapping(("bit_generator", text("Philox")), ("state", key), ("buffer", numbers("u8", 4, 8)), ("buffer_pos", signed(place)))

    old = many(text("MT19937"), numbers("u4", 624, 4), signed(1 << 28), number(0))
    said = "unknown: numpy.random._pickle.__bit_generator_ctor"
    for title, made in (
        ("twister", twister(1 << 28)), ("twister-before", twister(-1)), ("twister-just-behind", twister(625)),
        ("philox", philox(-(1 << 28))), ("philox-just-behind", philox(5)), ("twister-as-a-tuple", old),
        ("twister-with-its-seed", many(twister(1 << 28), b"N")), ("twister-as-a-list", elements(text("MT19937"), b"N", number(625))),
    ):  # fmt: skip
        kind = "Philox" if "philox" in title else "MT19937"
        yield from harmless(f"position-of-a-{title}.pkl", program(built(call(GENERATOR, text(kind)), made), 3), said)
    for title, made in (("twister", twister(624)), ("philox", philox(4)), ("twister-with-its-seed", many(twister(0), b"N"))):
        yield from harmless(f"position-that-is-one-of-a-{title}.pkl", program(built(call(GENERATOR, text("MT19937")), made), 3))


def codecs():
    """One of Python's takes a minute for 58 kB."""
    for kind in ("bytes", "bytearray"):
        for codec, said in (("punycode", f"unknown: builtins.{kind}"), ("latin-1", ": safe")):
            yield from harmless(f"{kind}-by-{codec}.pkl", program(call(name("builtins", kind), text("é" * 9), text(codec)), 3), said)


GROUPS = (past_storages, states_of_transformer_engine, files_within_others, pairs_that_are_made, sparse_indices, several_for_one, positions, codecs)
