"""TorchScript archives: pickles of each kind, code that lies, the model.json of 2019; and zips that are no checkpoint."""

import json

from attack import Attack, dangerous, fine, in_the_bytes, refused, unsupported
from forge import FLOATS, Part, archive, call, many, mapping, name, program, storage, tensor, text

SYSTEM = call(name("os", "system"), text("true"))
CODE = b'class Net(Module):\n  __parameters__ = ["w", ]\n  __buffers__ = []\n  w : Tensor\n'
NOTHING = program(b")")


def module(*attributes, named="Net"):
    return name("__torch__", named) + b")\x81" + mapping(*attributes) + b"b"


def script_parts(bytecode=False):
    """A module and all that may stand beside it."""
    more = [Part("r/bytecode.pkl", program(many(tensor())))] if bytecode else []
    return [*parts(constants=program(many(tensor()))), Part("r/constants/0", FLOATS), *more]


def parts(code=None, constants=NOTHING, data=FLOATS):
    return [
        Part("r/data.pkl", program(module(("w", tensor()))) if code is None else code),
        Part("r/data/0", data),
        Part("r/code/__torch__.py", CODE, deflate=True),
        Part("r/constants.pkl", constants),
        Part("r/version", b"3\n"),
    ]


def payloads():
    """Each pickle of an archive is judged, whoever unpickles it."""
    yield Attack("script-payload-in-data.pt", archive(parts(program(module(("x", SYSTEM))))), dangerous("os.system"))
    yield Attack("script-payload-in-constants.pt", archive(parts(constants=program(SYSTEM + b"\x85"))), dangerous("os.system"))
    for title in ("bytecode", "traced_inputs", "other"):
        held = [*parts(), Part(f"r/{title}.pkl", program(SYSTEM))]
        yield Attack(f"script-payload-in-{title}.pt", archive(held), dangerous("os.system"))
    deeper = program(call(name("__torch__", "os.system"), text("true")))
    yield Attack("script-name-that-leads-out.pt", archive(parts(deeper)), dangerous("__torch__.os.system"))
    extra = [*parts(), Part("r/extra/data.pkl", program(SYSTEM)), Part("r/extra/constants.pkl", b"no pickle")]
    yield Attack("script-extra-files.pt", archive(extra), fine("w"))


def members():
    whole = parts()
    for title, held, said in (
        ("storage-missing", [whole[0], *whole[2:]], "the pickle names storage 'data/0', which the archive does not hold"),
        ("storage-short", parts(data=FLOATS[:8]), "member 'r/data/0' holds 8 bytes, expected 16"),
        ("constant-missing", parts(constants=program(many(tensor()))), "the pickle names storage 'constants/0'"),
        ("no-model", [*whole[2:]], "the archive holds code, and no model"),
        ("no-version", whole[:-1], "the archive has no member 'r/version'"),
        ("outside", [*whole, Part("s/data/0", FLOATS)], "lies outside the folder"),
        ("constants-cut", parts(constants=b"\x80\2("), "constants.pkl"),
        ("constants-no-pickle", parts(constants=b"hello"), "constants.pkl"),
        ("bytecode-cut", [*whole, Part("r/bytecode.pkl", b"\x80\2(K")], "bytecode.pkl"),
    ):
        # In another order too: then the directory tells what it is, and not the pickle.
        yield Attack(f"script-{title}.pt", archive(held), refused(said))
        yield Attack(f"script-{title}-turned.pt", archive(held[::-1]), refused(said))
    yield Attack("script-key-outside.pt", archive(parts(program(module(("w", tensor(storage("../../x"))))))), refused("'data/../../x'"))
    yield Attack("script-storage-of-two-dtypes.pt",
                 archive(parts(program(module(("w", tensor()), ("v", tensor(storage(kind="IntStorage"))))))), refused("is named once as"))
    yield Attack("script-tensor-past-its-storage.pt", archive(parts(program(module(("w", tensor(shape=(5,))))))), refused("reaches element"))
    yield Attack("script-crc.pt", archive([whole[0], Part("r/data/0", FLOATS, crc=7), *whole[2:]]), in_the_bytes("CRC"))
    yield Attack("script-constants-beside-a-dict.pt", archive([Part("r/data.pkl", program(mapping(("w", tensor())))), *whole[1:]]),
                 refused("'r/constants.pkl' beside an object that is no module"))


def strange():
    """Lawful, or of no matter to a reader that runs nothing."""
    itself = program(name("__torch__", "Net") + b")\x81q\0" + mapping(("w", tensor()), ("sub", b"h\0")) + b"b")
    yield Attack("script-module-within-itself.pt", archive(parts(itself)), fine("w"))
    yield Attack("script-of-no-class.pt", archive(parts(program(module(("w", tensor()), named="Other")))), fine("w"))
    yield Attack("script-root-no-module.pt", archive(parts(program(tensor()))[::-1]), refused("is of no module that the archive has code for"))
    long = b"  __parameters__ = [" + b'"x", ' * 200_000 + b'"w", ]\n'
    for title, code in (
        ("bomb", bytes(40_000_000)),
        ("long", b"class Net(Module):\n" + long),
        ("open-string", b'class Net(Module):\n  __parameters__ = ["w'),
        ("no-utf8", b"class \xff(Module):\n  __buffers__ = [\"\xff\", ]\n"),
        ("many-classes", b"".join(b"class C%d(Module):\n" % i for i in range(100_000))),
    ):
        held = [p if p.name != "r/code/__torch__.py" else Part(p.name, code, deflate=True) for p in parts()]
        yield Attack(f"script-code-{title}.pt", archive(held), fine("w"))
    inner = module(("w", tensor()))
    for _ in range(300):
        inner = module(("s", inner))
    yield Attack("script-deep.pt", archive(parts(program(inner))), fine("w"))
    shared = b"".join(name("__torch__", "Net") + b")\x81" + (mapping(*((k, b"h" + bytes([i - 1])) for k in "ab")) if i else mapping()) + b"bq" + bytes([i]) + b"0"
                      for i in range(40))
    yield Attack("script-shared-exponentially.pt", archive(parts(program(shared + module(("w", tensor()), ("x", b"h\x27"))))), fine("w"))


def model_archive(main=None, tensors=None, text=None, attributes=NOTHING, more=()):
    entry = {"dims": ["4"], "strides": ["1"], "offset": "0", "dataType": "FLOAT", "data": {"key": "tensors/0"}, "device": "cpu"}
    told = {"protoVersion": "3", "mainModule": {"name": "net", "parameters": [{"tensorId": "0", "name": "w"}]} if main is None else main,
            "tensors": [entry | t for t in ([{}] if tensors is None else tensors)]}
    return archive([Part("r/version", b"1\n"), Part("r/attributes.pkl", attributes), Part("r/tensors/0", FLOATS), *more,
                    Part("r/model.json", json.dumps(told).encode() if text is None else text)])


def models():
    """model.json, as torch 1.0 to 1.2 wrote it."""
    model = model_archive
    yield Attack("model-json.pt", model(), fine("w"))
    yield Attack("model-json-payload.pt", model(attributes=program(SYSTEM)), dangerous("os.system"))
    yield Attack("model-json-storage-in-attributes.pt", model(attributes=program(many(tensor()))), refused("attributes.pkl names a storage"))
    deep = {"name": "x"}
    for i in range(60):
        deep = {"name": f"s{i}", "submodules": [deep]}
    yield Attack("model-json-nested.pt", model(main=deep), fine())
    crowd = archive([Part("r/version", b"1\n"), Part("r/model.json", b'{"x":[' + b"{}," * 100_000 + b"{}]}", deflate=True)])
    yield Attack("model-json-100000-objects.pt", crowd, refused("model.json"))
    given = {"name": "w", "tensorId": 0, "isBuffer": False}
    wide = {"name": "", "submodules": [{"name": "m" * 60_000, "parameters": [given] * 10_000}]}
    yield Attack("model-json-long-names.pt", model(main=wide), refused("the names in the file take more than"))
    for title, data, said in (
        ("empty", model(text=b""), "is no JSON"),
        ("deep", model(text=b"[" * 200_000), "nested deeper than 256"),
        ("deep-objects", model(text=b'{"a":' * 200_000), "nested deeper than 256"),
        ("no-object", model(text=b"3"), "model.json is something else"),
        ("bomb", archive([Part("r/version", b"1\n"), Part("r/model.json", b" " * 30_000_000, deflate=True)]), "expected at most"),
        ("main-no-object", model(main=[]), "its mainModule"),
        ("parameters-no-array", model(main={"parameters": {}}), "its parameters"),
        ("no-such-tensor", model(main={"parameters": [{"tensorId": "9", "name": "w"}]}), "'w' is tensor 9"),
        ("negative-tensor", model(main={"parameters": [{"tensorId": "-1", "name": "w"}]}), "'w' is tensor -1"),
        ("no-such-attribute", model(main={"attributes": [{"id": "5", "name": "w"}]}), "'w' is attribute 5"),
        ("id-no-number", model(main={"parameters": [{"tensorId": "x", "name": "w"}]}), "its tensorId"),
        ("no-such-member", model(tensors=[{"data": {"key": "../x"}}]), "does not hold '../x'"),
        ("dims-overflow", model(tensors=[{"dims": ["4611686018427387904", "4"]}]), "not one stride a dimension"),
        ("dims-huge", model(tensors=[{"dims": ["9223372036854775807"]}]), "reaches element"),
        ("dims-negative", model(tensors=[{"dims": ["-4"]}]), "negative"),
        ("offset", model(tensors=[{"offset": "1"}]), "reaches element"),
        ("65-dims", model(tensors=[{"dims": ["1"] * 65, "strides": ["1"] * 65}]), "65 dimensions"),
        ("two-dtypes", model(tensors=[{}, {"dataType": "INT32"}]), "once as int32 on cpu"),
        ("dtype", model(tensors=[{"dataType": "\x1b[2J"}]), "its dataType is"),
        ("keys", model(main={f"k{i}": 0 for i in range(100)}), "more than 64 keys"),
        ("quantised", model(tensors=[{"isQuantized": True}]), "it is quantised"),
        ("sizes", model(tensors=[{"dataType": "DOUBLE", "data": {"key": "x"}, "dims": []}], more=[Part("r/x", b"12345")]), "whole elements"),
    ):
        outcome = unsupported if title in ("dtype", "quantised") else refused
        yield Attack(f"model-json-{title}.pt", data, outcome(said))


def foreign():
    """Zips of something else: each is named."""
    for title, names, said in (
        ("pt2", ["x/archive_format", "x/data/weights/weight_0", "x/models/model.json"], "torch.export"),
        ("pt2-of-before", ["serialized_exported_program.json", "serialized_state_dict.pt", "version"], "torch.export"),
        ("aoti", ["x/archive_format", "x/data/aotinductor/model/m.so"], "AOTInductor"),
        ("package", ["p/.data/extern_modules", "p/model/model.pkl"], "torch.package"),
        ("keras", ["metadata.json", "config.json", "model.weights.h5"], "Keras"),
        ("mar", ["MAR-INF/MANIFEST.json", "model.pt"], "TorchServe"),
        ("docx", ["[Content_Types].xml", "word/document.xml"], "an Office document"),
        ("jar", ["META-INF/MANIFEST.MF", "A.class"], "a Java archive"),
        ("wheel", ["x/__init__.py", "x-1.dist-info/RECORD"], "a Python wheel"),
        ("around", ["readme", "weights/model.safetensors"], "a zip archive around 'weights/model.safetensors'"),
        ("escape", ["\x1b]0;owned\x07.pt"], "a zip archive around '\\x1b]0;owned\\x07.pt'"),
        ("nothing", ["readme"], "a zip archive without a checkpoint"),
    ):
        yield Attack(f"foreign-{title}.zip", archive([Part(each, b"x") for each in names]), unsupported(said))
    yield Attack("foreign-flatbuffer.ptl", b"\x20\0\0\0PTMF" + bytes(60), unsupported("a TorchScript model for mobile as a flatbuffer"))


def attacks():
    for group in (payloads, members, strange, models, foreign):
        yield from group()
