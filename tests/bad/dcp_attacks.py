"""Distributed checkpoints: metadata that names what it should not, lies about sizes, or asks for work without end."""

import json
import struct

from attack import Attack, Outcome, dangerous, fine, refused, unsupported
from forge import call, legacy, many, mapping, name, number, program, storage, tensor, text, torch_zip

METADATA = "torch.distributed.checkpoint.metadata"
WEIGHT = tensor(storage())
ITEM = torch_zip(program(WEIGHT))
NONE = b"N"


def thing(member, *attributes, module=METADATA):
    """cls.__new__(cls), and its attributes."""
    return name(module, member) + b")\x81" + mapping(*attributes) + b"b"


def size(*numbers):
    return call(name("torch", "Size"), many(*map(number, numbers)))


def index(of, *offsets):
    return thing("MetadataIndex", ("fqn", text(of)), ("offset", size(*offsets) if offsets else NONE))


def place(file="__0_0.distcp", offset=0, length=len(ITEM), more=()):
    filesystem = "torch.distributed.checkpoint.filesystem"
    parts = (("relative_path", text(file)), ("offset", number(offset)), ("length", number(length)), *more)
    return thing("_StorageInfo", *parts, module=filesystem)


def chunk(offsets, sizes):
    return thing("ChunkStorageMetadata", ("offsets", size(*offsets)), ("sizes", size(*sizes)))


def described(shape=(4,), chunks=(), dtype="float32", listed=None):
    layout = call(name("torch.serialization", "_get_layout"), text("torch.strided"))
    memory = call(name(METADATA, "_MEM_FORMAT_ENCODING"), number(0))
    properties = name(METADATA, "TensorProperties") + b")\x81" + many(name("torch", dtype), layout, b"\x89", memory, b"\x89") + b"b"
    listed = b"](" + b"".join(chunks) + b"e" if listed is None else listed
    return thing("TensorStorageMetadata", ("properties", properties), ("size", size(*shape)), ("chunks", listed))


BYTES = name(METADATA, "BytesStorageMetadata") + b")\x81"
HONEST = described(chunks=[chunk((0,), (4,))])


def metadata(contents, places, paths=NONE, more=()):
    parts = (("state_dict_metadata", mapping(*contents)), ("planner_data", paths), ("storage_data", mapping(*places)), *more)
    return program(thing("Metadata", *parts))


def folder(contents=(("w", HONEST),), places=None, paths=NONE, item=ITEM, more=(), files=None):
    places = ((index("w", 0), place()),) if places is None else places
    return {".metadata": metadata(contents, places, paths, more), "__0_0.distcp": item} | (files or {})


def lying():
    """Places and sizes."""
    for what, given, said in (
        ("parent", place("../../../etc/passwd"), "as a part of itself"),
        ("absolute", place("/etc/passwd"), "as a part of itself"),
        ("metadata-itself", place(".metadata", 0, 20), "its item: the pickle ends"),
        ("missing", place("__1_0.distcp"), "the file '__1_0.distcp' is missing"),
        ("steering-name", place("\x1b]0;owned\x07"), "is missing"),
        ("past-the-end", place(offset=10), "bytes from byte 10"),
        ("overflow", place(offset=(1 << 63) - 1, length=(1 << 63) - 1), "bytes from byte"),
        ("negative", place(offset=-1), "a bad 'offset'"),
        ("no-length", place(length=0), "expected"),
        ("text-for-offset", thing("_StorageInfo", ("relative_path", text("x")), ("offset", text("1"))), "a bad 'offset'"),
    ):
        yield Attack(f"dcp-place-{what}.pt", folder(places=((index("w", 0), given),)), refused(said))
    for what, given, said in (
        ("larger-than-its-item", described((8,), [chunk((0,), (8,))]), "a chunk is float32 of shape [4]"),
        ("exabytes", described(((1 << 62), 4), [chunk((0, 0), (1 << 62, 4))]), "does not say where"),
        ("chunk-overflows", described((4,), [chunk((0,), (4,)), chunk(((1 << 63) - 1,), ((1 << 63) - 1,))]), "does not say where"),
        ("negative", described((-4,), [chunk((0,), (4,))]), "a size or offset of -4"),
        ("dimensions", described((4,), [chunk((0, 0), (4, 1))]), "a chunk of 2 and 2 dimensions"),
        ("65-dimensions", described((1,) * 65, [chunk((0,), (4,))]), "a tensor of 65 dimensions"),
        ("no-chunks", described((4,), []), "it has no chunks"),
        ("hole", described((5,), [chunk((0,), (4,))]), "no chunk holds the element [4]"),
        ("no-such-dtype", described(dtype="float31", chunks=[chunk((0,), (4,))]), "a dtype of torch"),
        ("dtype-of-another", described(dtype="int64", chunks=[chunk((0,), (4,))]), "a chunk is float32"),
        ("value-for-tensor", BYTES, "does not say where the value lies"),
        ("chunks-no-list", described(listed=number(4)), "its chunks are no list"),
    ):
        yield Attack(f"dcp-tensor-{what}.pt", folder((("w", given),)), refused(said))
    item = torch_zip(program(tensor(storage(elements=1), (1 << 24,), (0,))), {"0": bytes(4)})
    many_chunks = [chunk((i << 24,), (1 << 24,)) for i in range(100)]
    places = [(index("w", i << 24), place(offset=i * len(item), length=len(item))) for i in range(100)]
    stretched = folder((("w", described((100 << 24,), many_chunks)),), places, item=item * 100)
    yield Attack("dcp-chunks-of-stride-0.pt", stretched, refused("a chunk stands for 67108864 bytes but its storage has 4"))
    long = text("x" * 1_000_000) + b"q\1"
    of_long = [thing("MetadataIndex", ("fqn", b"h\1" if i else long), ("offset", size(i))) for i in range(1_000)]
    yield Attack("dcp-places-of-a-long-name.pt", folder(places=[(one, place()) for one in of_long]), refused("come to more than"))
    two = {"contents": (("w", described((6,), [chunk((0,), (4,)), chunk((2,), (4,))])),), "item": ITEM + ITEM}
    places = ((index("w", 0), place()), (index("w", 2), place(offset=len(ITEM))))
    yield Attack("dcp-overlap.pt", folder(**two, places=places), refused("2 chunks hold the element [2]"))
    again = ((index("a", 0), place()), (index("b", 0), place()))
    bomb = folder((("a", HONEST), ("b", HONEST)), again)
    yield Attack("dcp-one-item-for-many.pt", bomb, refused("begins within what holds another item"))
    packed = place(more=(("transform_descriptors", b"](" + text("stream.zstd/1") + b"e"),))
    yield Attack("dcp-transformed.pt", folder(places=((index("w", 0), packed),)), unsupported("stream.zstd/1"))
    yield Attack("dcp-quantised.pt", folder((("w", described(dtype="qint8", chunks=[chunk((0,), (4,))])),)), refused("quantised"))
    yield Attack("dcp-no-metadata.pt", {"__0_0.distcp": ITEM}, refused("without its .metadata", verify=3))


def paths():
    def at(*parts):
        return mapping(("w", many(*parts)))

    for what, given, said in (
        ("empty", mapping(("w", b")")), "its path is empty"),
        ("place-in-a-dict", at(number(0)), "another kind of container"),
        ("negative", at(text("l"), number(-1)), "neither a string nor a position"),
        ("far", at(text("l"), number((1 << 62))), "steps"),
        ("no-tuple", mapping(("w", text("w"))), "no tuple"),
    ):
        yield Attack(f"dcp-path-{what}.pt", folder(paths=given), refused(said))
    both = mapping(("w", many(text("a"))), ("v", many(text("a"), text("b"))))
    items = {"places": ((index("w", 0), place()), (index("v", 0), place(offset=len(ITEM)))), "item": ITEM + ITEM}
    yield Attack("dcp-path-through-a-leaf.pt", folder((("w", HONEST), ("v", HONEST)), paths=both, **items), refused("its path"))
    # A long path that many names share.
    steps = many(*[text("a")] * 100000) + b"q\1"
    shared = b"}(" + text("k0") + steps + b"".join(text(f"k{i}") + b"h\1" for i in range(1, 3000)) + b"u"
    names = [(f"k{i}", BYTES) for i in range(3000)]
    spots = [(index(f"k{i}"), place(offset=i, length=1)) for i in range(3000)]
    yield Attack("dcp-path-shared.pt", folder(names, spots, shared, item=bytes(3000)), refused("its path"))


def work():
    """A few bytes that ask for it again and again."""
    chunks = b"](" + b"".join([chunk((0,), (4,)) + b"q\2", *[b"h\2"] * 9999]) + b"eq\1"
    names = [("t0", described(listed=chunks)), *((f"t{i}", described(listed=b"h\1")) for i in range(1, 2000))]
    spots = [(index(f"t{i}", 0), place()) for i in range(2000)]
    yield Attack("dcp-chunks-shared.pt", folder(names, spots), refused("steps"))
    long = "x" * 1_000_000
    again = b"](" + chunk((0,), (4,)) + b"q\2" + b"h\2" * 500_000 + b"e"
    spots = [(index(long, 0), place())]
    yield Attack("dcp-long-name-of-500000-chunks.pt", folder([(long, described(listed=again))], spots), refused("steps"))
    path = b"(" + text("k" * 10_000) + b"q\1" + b"h\1" * 100_000 + b"t"
    yield Attack("dcp-path-of-one-text.pt", folder(paths=b"}" + text("w") + path + b"s"), refused("bytes of keys"))
    state = mapping(*((f"f{i}", NONE) for i in range(60)), ("fqn", text("w"))) + b"q\1"
    again = [(name(METADATA, "MetadataIndex") + b")\x81" + (state if i == 0 else b"h\1") + b"b", place()) for i in range(2000)]
    yield Attack("dcp-one-state-for-2000.pt", folder(places=again), refused("storage_data does not say where a chunk lies"))
    fields = thing("MetadataIndex", *((f"f{i}", NONE) for i in range(64)), ("fqn", text("w")))
    yield Attack("dcp-65-fields.pt", folder(places=((fields, place()),)), refused("an object of more than 64 fields"))
    # Boxes that begin in each other: each cut lies in all of those before it.
    stairs = [chunk((i, 0), (20000 - i, 1)) for i in range(20000)]
    spots = [(index("w", i, 0), place(offset=i * len(ITEM))) for i in range(20000)]
    yield Attack("dcp-million-chunks-of-nothing.pt", folder((("w", described((20000, 1), stairs)),), spots), refused("bytes from byte"))


def shard(info, shape=(2,), dtype="F32"):
    """A rank's file of the flavour in safetensors, of a tensor w."""
    info = info if isinstance(info, str) else json.dumps({"w": {"saved_offsets": info}})
    size = 4 * shape[0]
    about = {"w": {"dtype": dtype, "shape": shape, "data_offsets": [0, size]}, "__metadata__": {"DCP_SHARDING_INFO": info}}
    header = json.dumps(about).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + bytes(size)


def ranks(*shards):
    return {f"shard-{i:05}-model-00001-of-00001.safetensors": data for i, data in enumerate(shards, 1)}


def shards():
    for what, files, said in (
        ("hole", ranks(shard([0]), shard([3])), "no chunk holds the element [2]"),
        ("overlap", ranks(shard([0]), shard([1])), "2 chunks hold the element [1]"),
        ("two-dtypes", ranks(shard([0]), shard([2], dtype="I32")), "a chunk of 'w' is int32"),
        ("dimensions", ranks(shard([0, 0])), "other dimensions of 'w'"),
        ("another-name", ranks(shard('{"v": {"saved_offsets": [0]}}')), "nothing of 'w'"),
        ("negative", ranks(shard([-1])), "a bad offset of 'w'"),
        ("past-63-bits", ranks(shard([(1 << 63) - 1])), "ends past 2^63"),
        ("far", ranks(shard([1 << 60])), "no chunk holds the element [0]"),
        ("no-json", ranks(shard("{")), "no JSON in DCP_SHARDING_INFO"),
        ("no-object", ranks(shard("[]")), "no object in DCP_SHARDING_INFO"),
        ("deep", ranks(shard("[" * 100000)), "lists in lists"),
        ("long", ranks(shard([0] * 100000)), "a list of more than 64"),
    ):
        yield Attack(f"dcp-shards-{what}.pt", files, refused(said))
    # A tree of 100^8 files for whoever opens each.
    listing = b"shards of a distributed checkpoint\n"
    yield Attack("dcp-list-of-itself.pt", listing + b"dcp-list-of-itself.pt\n" * 100, refused("which lies beside it"))
    first, second = ranks(shard([2]), shard([0]))
    circle = listing + b"".join(each.encode() + b"\n" for each in (first, second)) * 50
    yield Attack("dcp-shards-that-list-each-other.pt", {first: shard([0]), second: circle}, refused("which lies beside it"))
    twice = listing + f"{first}\n{second}\n{first}\n".encode()
    said = {"inspect FILE/list.pt": Outcome(3, "the file comes twice"), "scan": Outcome(0)}
    yield Attack("dcp-list-of-one-twice.pt", ranks(shard([2]), shard([0])) | {"list.pt": twice}, said)
    honest = fine("[4]", verify="no checksum covers")
    yield Attack("dcp-shards-honest.pt", ranks(shard([2]), shard([0])), honest)


def loaded():
    """Bytes for torch.storage._load_from_bytes: a storage, and a payload."""
    harmless, payload = legacy(program(storage(more=b"N"))), legacy(program(call(name("os", "system"), text("true"))))
    return [b"B" + struct.pack("<I", len(data)) + data for data in (harmless, payload)]


def names():
    system = call(name("posix", "system"), text("true"))
    yield Attack("dcp-runs-in-metadata.pt", folder(more=(("storage_meta", system),)), dangerous("posix.system"))
    value = torch_zip(program(system))
    spots = ((index("w"), place(length=len(value))),)
    yield Attack("dcp-runs-in-an-item.pt", folder((("w", BYTES),), spots, item=value), dangerous("posix.system"))
    # The same name, harmless in one item and not in the other.
    load = name("torch.storage", "_load_from_bytes")
    items = [torch_zip(program(mapping(("x", call(load, octets))), 3)) for octets in loaded()]
    places = [("a", 0, items[0]), ("b", len(items[0]), items[1])]
    spots = [(index(of), place(offset=at, length=len(item))) for of, at, item in places]
    both = folder((("a", BYTES), ("b", BYTES)), spots, item=b"".join(items))
    yield Attack("dcp-harmless-then-not.pt", both, dangerous("torch.storage._load_from_bytes"))
    state = name("torch._utils", "_rebuild_tensor_v2")
    hooked = torch_zip(program(call(state, storage(), number(0), many(number(4)), many(number(1)), b"\x89", system)))
    spots = ((index("w", 0), place(length=len(hooked))),)
    yield Attack("dcp-runs-in-a-tensor.pt", folder(places=spots, item=hooked), dangerous("posix.system"))
    fetch = call(name("builtins", "getattr"), name("os", "system"), text("__call__"))
    yield Attack("dcp-getattr.pt", folder(more=(("storage_meta", fetch),)), dangerous("builtins.getattr"))
    cut = program(system)[:-1] + b"\xff"
    broken = {".metadata": b"\x80\x02" + name(METADATA, "Metadata") + b"0" + cut[2:]}
    yield Attack("dcp-runs-before-it-breaks.pt", broken, refused("posix.system"))


def elsewhere():
    """A value that Python reads out of a tensor's numbers, and whose place another reader might take for another."""
    payload = torch_zip(program(call(name("posix", "system"), text("true"))))
    harmless = torch_zip(program(mapping(("x", number(1)))))
    floats = 16 + (len(payload) + 3) // 4
    numbers = torch_zip(program(tensor(storage(elements=floats), (floats,))), {"0": (bytes(64) + payload).ljust(4 * floats, b"\0")})
    item = harmless + numbers
    hidden = place(offset=item.index(payload), length=len(payload))
    shown = place(offset=0, length=len(harmless))
    of_numbers = (index("w", 0), place(offset=len(harmless), length=len(numbers)))
    contents = (("b", BYTES), ("w", described((floats,), [chunk((0,), (floats,))])))

    def hides(what, places, said, contents=mapping(*contents), before=b""):
        parts = (("state_dict_metadata", contents), ("planner_data", NONE), ("storage_data", places))
        data = {".metadata": program(before + thing("Metadata", *parts)), "__0_0.distcp": item}
        return Attack(f"dcp-place-elsewhere-{what}.pt", data, {"scan": said})

    def listed(*items):
        return b"](" + b"".join(items) + b"e"

    found = Outcome(1, "dangerous: posix.system")
    yield hides("honest", mapping((index("b"), hidden), of_numbers), found)
    at = thing("MetadataIndex", ("fqn", text("b")), ("offset", b")"))
    yield hides("of-no-dimensions", mapping((index("b"), hidden), (at, shown), of_numbers), found)
    # BUILD has copied the dict by the time that it is changed.
    changed = name("torch.distributed.checkpoint.filesystem", "_StorageInfo") + b")\x81"
    state = mapping(("relative_path", text("__0_0.distcp")), ("offset", number(item.index(payload))), ("length", number(len(payload))))
    late = state + b"q\x32" + changed + b"h\x32bq\x330" + text("offset") + number(0) + b"s" + text("length") + number(len(harmless)) + b"s0"
    given = Outcome(3, "a state is changed after an object was given it")
    yield hides("changed-too-late", mapping((index("b"), b"h\x33"), of_numbers), given, before=late)
    other = name("uuid", "UUID") + b")\x81" + mapping(("int", number(1)), ("fqn", text("b"))) + b"b"
    said = Outcome(3, "an entry of storage_data is of other classes")
    yield hides("of-another-class", mapping((index("b"), hidden), (other, shown), of_numbers), said)
    ordered = name("collections", "OrderedDict")
    pairs = call(ordered, many(listed(text("b"), BYTES))) + text("w") + contents[1][1] + b"s"
    no_dict = Outcome(3, "the Metadata has no 'state_dict_metadata', expected a dict")
    yield hides("in-a-tuple", mapping((index("b"), hidden), of_numbers), no_dict, contents=pairs)
    first = listed(listed(index("b"), hidden), listed(*of_numbers)) + b"q\x320" + call(ordered, b"h\x32") + b"q\x330"
    more = first + b"h\x32" + listed(index("b"), shown) + b"a0"
    yield hides("appended-too-late", b"h\x33", Outcome(3, "the Metadata has no 'storage_data', expected a dict"), before=more)
    # A rank's own metadata, which says late that it is some.
    late = program(text("z" * 200) + b"0" + thing("Metadata", ("state_dict_metadata", mapping(("b", BYTES))), ("planner_data", NONE), ("storage_data", mapping((index("b"), hidden)))))
    yield Attack("dcp-place-elsewhere-of-a-rank", {"__0.metadata": late, "__0_0.distcp": item}, {"scan": found})
    # What a value is made of is judged as it would be elsewhere.
    layer = name("torch.nn.modules.activation", "ReLU") + b")\x81" + mapping(("inplace", b"\x89")) + b"b"
    value = torch_zip(program(mapping(("x", layer))))
    spots = ((index("b"), place(length=len(value))),)
    whole = folder((("b", BYTES),), spots, item=value)
    yield Attack("dcp-layer-in-an-item.pt", whole, {"scan": Outcome(0, "unknown: torch.nn.modules.activation.ReLU")})


def controls():
    yield Attack("dcp-honest.pt", folder(), fine("float32"))
    yield Attack("dcp-honest-again", folder(), {"inspect": Outcome(0, "dcp"), "convert": Outcome(0, "dcp")})
    stray = folder(files={"__9_0.distcp": b""})
    yield Attack("dcp-stray-file.pt", stray, fine("'__9_0.distcp' belongs to nothing"))


def attacks():
    yield from lying()
    yield from paths()
    yield from work()
    yield from shards()
    yield from names()
    yield from elsewhere()
    yield from controls()
