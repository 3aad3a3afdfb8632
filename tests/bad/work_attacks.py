"""Small files that ask an operation for work without end: for as much as each of many has, times the many."""

import pickle
import struct

from attack import Attack, Outcome
from forge import (
    FLOATS,
    WEIGHT,
    Part,
    archive,
    call,
    legacy,
    many,
    mapping,
    name,
    number,
    program,
    safetensors,
    storage,
    tensor,
    tensor_info,
    text,
    torch_parts,
)

DONE = Outcome(0)
ORDERED, REBUILD = name("collections", "OrderedDict"), name("torch._utils", "_rebuild_tensor_v2")


class Memo:
    """Numbers what is to be fetched again, and has the code that makes all of it."""

    def __init__(self):
        self.code = b""
        self.count = 0

    def keep(self, code):
        """Returns what fetches it."""
        at = struct.pack("<I", self.count)
        self.count += 1
        self.code += code + b"r" + at + b"0"
        return b"j" + at


def pickled(code, data=None):
    parts = torch_parts(code, data)
    parts[0].deflate = True
    return archive(parts)


def listed(memo, items):
    return pickled(program(memo.code + b"](" + b"".join(items) + b"e"))


def refused(text):
    return Outcome(3, text)


def state_dicts():
    many_dicts = 8000
    memo = Memo()
    w, key = memo.keep(WEIGHT), memo.keep(text("w"))
    dicts = mapping(*((f"s{i}", b"}(" + key + w + b"u") for i in range(many_dicts)))
    file = pickled(program(memo.code + dicts))
    yield "state-dicts.pt", file, {
        "average FILE FILE OUT": DONE,
        "diff FILE FILE": DONE,
        "convert FILE OUT --add-prefix=module.": DONE,
        "convert FILE OUT --rename ^w=v": DONE,
    }

    memo = Memo()
    w, key, kind, none = memo.keep(WEIGHT), memo.keep(text("w")), memo.keep(ORDERED), memo.keep(b")")
    metadata, empty = memo.keep(text("_metadata")), memo.keep(text(""))
    wide = memo.keep(b"}(" + b"".join(number(i) + b"N" for i in range(200_000)) + b"u")
    each = kind + none + b"R(" + key + w + b"u}(" + metadata + b"}(" + empty + wide + b"uub"
    yield "one-entry-of-metadata-for-20000.pt", listed(memo, [each] * 20_000), {
        "convert FILE OUT --add-prefix=module.": DONE,
        "convert FILE OUT --strip-prefix=w": DONE,
        "average FILE FILE OUT": DONE,
    }

    memo = Memo()
    w, kind, none, metadata = memo.keep(WEIGHT), memo.keep(ORDERED), memo.keep(b")"), memo.keep(text("_metadata"))
    modules = [memo.keep(text(".".join("a" * i))) for i in range(1, 801)]
    keys = [memo.keep(text(".".join("a" * 802) + f"{i:05d}x")) for i in range(3200)]
    each = kind + none + b"R(" + b"".join(key + w for key in keys) + b"u}(" + metadata
    each += b"}(" + b"".join(module + b"N" for module in modules) + b"uub"
    yield "800-modules-around-3200-keys.pt", listed(memo, [each] * 20), {
        "convert FILE OUT --rename x$=y": refused("the names in the file take more than 268435456 bytes"),
    }

    memo = Memo()
    state, groups, model = memo.keep(text("state")), memo.keep(text("param_groups")), memo.keep(text("model"))
    wide = memo.keep(b"}(" + b"".join(text(f"{i:05d}") + b"N" for i in range(80_000)) + b"u")
    yield "80000-optimizers-beside-one-dict.pt", listed(memo, [b"}(" + state + b"}" + groups + b"]" + model + wide + b"u"] * 80_000), {
        "convert FILE OUT --add-prefix=module.": DONE,
    }

    memo = Memo()
    w, kind, none, metadata = memo.keep(WEIGHT), memo.keep(ORDERED), memo.keep(b")"), memo.keep(text("_metadata"))
    wide = memo.keep(ORDERED + b")R(" + b"".join(text(f"{i:05d}") + b"N" for i in range(20_000)) + b"u")
    yield "20000-dicts-of-one-ordered-state.pt", listed(memo, [kind + none + b"R(" + metadata + w + b"u" + wide + b"b"] * 20_000), {
        "convert FILE OUT --add-prefix=module.": refused("the pickle gives its calls the same values again and again"),
    }

    memo = Memo()
    slots = memo.keep(b"N}(" + b"".join(text(f"{i:05d}") + b"N" for i in range(20_000)) + b"u\x86")
    yield "an-object-given-its-slots-20000-times.pt", listed(memo, [call(name("mylab", "C")) + (slots + b"b") * 20_000]), {
        "diff FILE FILE": refused("the pickle gives its calls the same values again and again"),
    }

    memo = Memo()
    often = memo.keep(mapping(("x", WEIGHT)) + b"(u" * 20_000)
    yield "20000-times-empty-batches.pt", listed(memo, [often] * 20_000), {"inspect FILE": DONE, "convert FILE OUT --format safetensors": DONE}

    memo = Memo()
    state = memo.keep(mapping(("x", WEIGHT)))
    often = memo.keep(call(name("mylab", "C")) + (state + b"b") * 20_000)
    yield "20000-times-one-state-given-often.pt", listed(memo, [often] * 20_000), {"inspect FILE": refused("the names in the file take more than")}

    memo = Memo()
    w, key, first, second = memo.keep(WEIGHT), memo.keep(text("fc.weight")), memo.keep(text("state")), memo.keep(text("param_groups"))
    optimizers = b"](" + (b"}(" + first + b"}" + second + b"]u") * 20_000 + b"e"
    ema = mapping(("ema", b"}(" + key + w + b"u"), ("x", b"](" + w * 20_000 + b"e"), ("y", optimizers))
    yield "20000-names-beside-20000-optimizers.pt", pickled(program(memo.code + ema)), {"digest FILE --root auto": DONE, "convert FILE OUT --root auto": DONE}

    memo = Memo()
    parameters, buffers, modules, first = (memo.keep(text(key)) for key in ("_parameters", "_buffers", "_modules", "0"))
    kind, empty = memo.keep(name("torch.nn.modules.container", "Sequential")), memo.keep(b"}")
    outer = kind + b")\x81}(" + parameters + empty + buffers + empty + modules + b"}" + first
    inner = kind + b")\x81}(" + parameters + mapping(("w", WEIGHT)) + buffers + empty + modules + b"}ub"
    yield "13000-modules-in-each-other.pt", pickled(program(memo.code + outer * 13_000 + inner + b"sub" * 13_000)), {
        "check FILE --like FILE": refused("the names in the file take more than 67108864 bytes"),
        "convert FILE OUT --weights-only": refused("the names in the file take more than 67108864 bytes"),
    }

    # A path that leads through a dict to itself, and every dict on it looked at again.
    wide = b"}r\0\0\0\0(" + text("a") + b"j\0\0\0\0" + b")N" * 10_000 + b"u"
    path = ".".join("a" * 20_000) + ".b"
    yield "a-path-through-itself.pt", pickled(program(mapping(("a", wide), (path, mapping(("w", WEIGHT)))))), {
        "convert FILE OUT --root auto": DONE,
        "digest FILE --root auto": DONE,
    }


def names():
    """One tensor under as many names as it may have."""
    memo = Memo()
    attributes = b"}(" + b"".join(text(f"{i}") + b")" for i in range(100_000)) + b"u"
    w = memo.keep(tensor() + attributes + b"b")
    yield "attributes-under-100000-names.pt", listed(memo, [w] * 100_000), {
        "diff FILE FILE": DONE,
    }
    for title, keys in (("other", (text("a"), text("b"))), ("the-same", (text("None"), b"N"))):
        memo = Memo()
        held = memo.keep(WEIGHT)
        for _ in range(18):
            held = memo.keep(b"}(" + keys[0] + held + keys[1] + held + b"u")
        file = pickled(program(memo.code + mapping(("k" * 900, held))))
        few = refused("the tensors' names take more than 67108864 bytes")
        yield f"2-18-names-{title}.pt", file, {
            "inspect FILE --json": few,
            "stats FILE": few,
            "convert FILE OUT --format safetensors": few,
            "convert FILE OUT --drop *a*a*b*zz": few,
        }


def places():
    """A device, and a storage, for each of many tensors."""
    each = b"".join(text(f"t{i}") + tensor(storage(key=str(i), elements=0, location=f"cuda:{i}"), (0,)) for i in range(20_000))
    parts = torch_parts(program(b"}(" + each + b"u"), {str(i): b"" for i in range(20_000)})
    yield "20000-devices.pt", archive(parts), {
        "convert FILE OUT --to cpu": DONE,
        "convert FILE OUT --map cuda:1=cpu": DONE,
    }


def long_name():
    """A name is looked for that is nearly another."""
    parts = torch_parts(program(mapping(("n" * 45_000_000, WEIGHT))))
    yield "a-long-name.pt", archive(parts), {
        "extract FILE foo -o OUT": Outcome(2, "no tensor"),
    }


def members():
    """Deflated, and read in part."""
    count = 20_000
    seen = b"".join(text(f"t{i}") + tensor(storage(key=str(i), elements=100)) for i in range(count))
    parts = torch_parts(program(b"}(" + seen + b"u"), {str(i): bytes(400) for i in range(count)})
    for part in parts:
        part.deflate = True
    yield "20000-members-in-part.pt", archive(parts), {"digest FILE": DONE, "stats FILE": DONE}


def texts():
    """A few bytes fetch a long text again and again."""
    again = refused("the pickle gives its dicts and sets the same values again and again")
    memo = Memo()
    key = memo.keep(text("k" * 1_000_000))
    yield "400000-dicts-of-a-long-key.pt", listed(memo, [b"}" + key + b"Ns"] * 400_000), {
        "inspect FILE": again,
        "diff FILE FILE": again,
        "check FILE --like FILE": again,
    }
    memo = Memo()
    key = memo.keep(text("k" * 10_000))
    yield "100000-keys-of-a-long-text.pt", pickled(program(memo.code + b"}(" + (key + b"\x85N") * 100_000 + b"u")), {
        "diff FILE FILE": again
    }
    memo = Memo()
    key = memo.keep(b"B" + struct.pack("<I", 10_000) + b"\xff" * 10_000)
    yield "100000-keys-of-long-bytes.pt", pickled(program(memo.code + b"}(" + (key + b"\x85N") * 100_000 + b"u", 3)), {
        "diff FILE FILE": again
    }
    # One key, however often it is set.
    yield "1000-times-a-key-of-bytes.pt", pickled(program(memo.code + b"}(" + (key + b"N") * 1_000 + b"u", 3)), {
        "diff FILE FILE": DONE,
        "convert FILE OUT --protocol 3": DONE,
        "convert FILE OUT --protocol 2": refused("what would be written could not be read again: "),
    }
    memo = Memo()
    data = memo.keep(b"B" + struct.pack("<I", 2_000_000) + bytes(2_000_000))
    kind, one, shape = memo.keep(name("numpy.core.numeric", "_frombuffer")), memo.keep(text("f4")), memo.keep(many(number(500_000)))
    given = memo.keep(many(data, one, shape, text("C")))
    yield "200000-arrays-of-one-text.pt", pickled(program(memo.code + b"](" + (kind + given + b"R") * 200_000 + b"e", 3)), {
        "diff FILE FILE": refused("comparing the values of both files takes more than"),
    }
    memo = Memo()
    long = memo.keep(b"(" + b"NK\1" * 100_000 + b"t")
    names = [(f"k{i}", long) for i in range(10_000)]
    yield "10000-names-of-one-tuple.pt", pickled(program(memo.code + mapping(("w", WEIGHT), *names))), {
        "convert FILE OUT --format dcp": refused("values that several names share would be written more than 16 times over"),
        "digest FILE": DONE,
    }


def dropped():
    """Calls whose results are dropped, each of what leads far away to a list that stays."""
    memo = Memo()
    held = memo.keep(b"]")
    far = memo.keep(held + b"\x85" * 80_000)
    call = memo.keep(name("mylab", "f")) + far + b"\x85R0"
    code = memo.code + call * 80_000 + mapping(("w", WEIGHT), ("held", held), ("z", WEIGHT))
    yield "80000-dropped-calls.pt", pickled(program(code)), {
        "convert FILE OUT --drop z": DONE,
        "convert FILE OUT --keep w": DONE,
    }


def expanded():
    """Views of stride 0, each of which may be."""
    views = ((f"t{i}", tensor(storage(key=str(i), elements=1), (1 << 24,), (0,))) for i in range(100))
    parts = torch_parts(program(mapping(*views)), {str(i): bytes(4) for i in range(100)})
    too_many = refused("the tensors stand for 6710886400 bytes but their storages have 400")
    yield "100-expanded-views.pt", archive(parts), {
        "convert FILE OUT --format dcp": too_many,
        "average FILE FILE OUT": too_many,
        "digest FILE": too_many,
    }


def recoveries():
    """What is left of many, each of which could be looked for among all."""
    memo = Memo()
    w = memo.keep(WEIGHT)
    many_names = b"".join(text(f"k{i}") + w for i in range(200_000))
    lost = text("lost") + tensor(storage(key="9"))
    parts = torch_parts(program(memo.code + b"}(" + many_names + lost + b"u"), {"0": FLOATS})
    yield "a-lost-tensor-beside-200000-names.pt", archive(parts), {"recover FILE OUT --dry-run": Outcome(1, "lost: lost ")}

    count = 100_000
    each = b"".join(text(f"t{i}") + tensor(storage(key=str(i), elements=1, more=b"N"), (1,)) for i in range(count))
    others = pickle.dumps([f"x{i}" for i in range(count)], 2)
    data = (struct.pack("<q", 1) + bytes(4)) * count
    yield "100000-keys-of-others.pt", legacy(program(b"}(" + each + b"u"), keys=others, data=data), {
        "recover FILE OUT --dry-run": Outcome(1, "the list of storage keys lacks"),
    }

    count, size = 100_000, 6_000_000
    header = ",".join(f'"a{i}":{tensor_info("U8", f"[{size}]", 0, size)}' for i in range(count))
    yield "100000-tensors-in-one-place.safetensors", safetensors("{" + header + "}", bytes(size)), {
        "verify FILE": Outcome(1, "within what lies before it"),
        "recover FILE OUT --dry-run": Outcome(1, "within what lies before it"),
    }


def attacks():
    for group in (state_dicts, names, places, long_name, members, texts, dropped, expanded, recoveries):
        for title, data, outcomes in group():
            yield Attack(title, data, outcomes)
