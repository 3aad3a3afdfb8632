"""safetensors: headers that lie, JSON that is none or too much, views of what is not there; and indexes of shards."""

import json

from attack import Attack, dangerous, fine, refused, unsupported
from forge import FLOATS, WEIGHT, call, mapping, name, program, safetensors, tensor_info, text, torch_zip

GOOD = tensor_info()


def weight(*info, **places):
    return f'{{"weight":{tensor_info(*info, **places)}}}'


def one(name, header, said, data=FLOATS, outcome=refused, **shape):
    yield Attack(f"safetensors-{name}.safetensors", safetensors(header, data, **shape), outcome(said))


def headers():
    """What safetensors' own reader refuses, and what it lets pass."""
    for name, header, said in (
        ("no-object", "[1]" + " " * 61, "no known format begins with"),
        ("no-json", "{'weight': 1}", "expected a string"),
        ("cut-short", '{"weight":' + GOOD, "',' or '}'"),
        ("nul-behind", f'{{"weight":{GOOD}}}\0', "expected its end"),
        ("second-object", f'{{"weight":{GOOD}}}{{}}', "expected its end"),
        ("twice", f'{{"weight":{GOOD},"weight":{GOOD}}}', "tensor 'weight' comes twice"),
        ("twice-by-an-escape", f'{{"weight":{GOOD},"w\\u0065ight":{GOOD}}}', "tensor 'weight' comes twice"),
        ("field-twice", '{"weight":{"dtype":"F32","dtype":"U8"}}', "'dtype' comes twice"),
        ("field-missing", '{"weight":{"dtype":"F32","shape":[4]}}', "no 'data_offsets'"),
        ("dtype-unknown", weight("\x1b]0;owned"), "expected the string's end"),
        ("dtype-steers", weight("\\u001b]0;owned"), "dtype '"),
        ("dtype-is-a-number", '{"weight":{"dtype":7}}', "expected a string"),
        ("shape-negative", weight(shape="[-4]"), "a whole number"),
        ("shape-float", weight(shape="[4.0]"), "a whole number"),
        ("shape-exponent", weight(shape="[4e0]"), "a whole number"),
        ("shape-past-64-bits", weight(shape="[18446744073709551616]"), "a whole number"),
        ("shape-overflows", weight(shape="[4294967296,4294967296,4]"), "overflows 64 bits"),
        ("shape-overflows-to-16", weight(shape="[4611686018427387905,4]"), "overflows 64 bits"),
        ("shape-overflows-beside-0", weight(shape="[4294967296,4294967296,0]", end=0), "overflows"),
        ("shape-nested", '{"weight":{"shape":' + "[" * 100_000 + "}}", "a whole number"),
        ("offsets-turned", weight(begin=16, end=0), "it ends at 0 and begins at 16"),
        ("offsets-overflow", weight(begin=2**64 - 16, end=2**64 - 1), "it has 15 bytes"),
        ("size-unlike-shape", weight(shape="[5]"), "it has 16 bytes, expected 20"),
        ("bits-of-no-byte", weight("F4", "[3]", 0, 1), "its elements take 12 bits"),
        ("surrogate", f'{{"\\ud800":{GOOD}}}', "surrogate"),
        ("no-utf8", b'{"\xff":' + GOOD.encode() + b"}", "expected UTF-8"),
        ("65-dimensions", weight(shape="[" + ",".join(["1"] * 65) + "]"), "more than 64 dimensions"),
        ("unknown-nested", '{"weight":{"x":' + "[" * 100_000 + "}}", "nested deeper than 128"),
        ("metadata-of-numbers", '{"__metadata__":{"a":1}}', "expected a string"),
        ("metadata-twice", '{"__metadata__":{},"__metadata__":{}}', "'__metadata__' comes twice"),
    ):
        yield from one(name, header, said, outcome=unsupported if name == "no-object" else refused)
    for name, dtype, shape, end, said in (
        ("f6", "F6_E2M3", "[16]", 12, "dtype F6_E2M3, which torch has not"),
        ("f4-odd", "F4", "[8,3]", 12, "an odd number of F4"),
    ):
        yield from one(name, weight(dtype, shape, 0, end), said, FLOATS[:end], unsupported)


def places():
    yield from one("hole", f'{{"a":{GOOD},"b":{tensor_info(begin=20, end=36)}}}', "bytes 16 to 20 before it", bytes(36))
    yield from one("hole-at-the-front", f'{{"a":{tensor_info(begin=4, end=20)}}}', "bytes 0 to 4 before it", bytes(20))
    yield from one("overlap", f'{{"a":{GOOD},"b":{tensor_info(begin=8, end=24)}}}', "within what lies before it", bytes(24))
    yield from one("same-bytes-twice", f'{{"a":{GOOD},"b":{GOOD}}}', "within what lies before it")
    yield from one("short", None, "the file ends at byte", FLOATS[:15])
    yield from one("long", None, "1 bytes follow the last tensor", FLOATS + b"x")
    yield from one("zip-behind", "{}", "bytes follow the last tensor", b"PK\5\6" + bytes(18))
    yield from one("of-1-exabyte", weight(shape="[288230376151711744]", end=2**60), "the file ends")
    yield from one("header-past-the-end", None, "the header ends after", length=60_000)
    yield from one("header-of-4-gib", None, "a header of 4294967295 bytes", length=0xFFFFFFFF)
    yield from one("header-past-64-bits", None, "no known format begins with", length=2**64 - 1, outcome=unsupported)
    names = ",".join(f'"t{i}":{tensor_info("U8", "[0]", 0, 0)}' for i in range(100_000))
    yield Attack("safetensors-100000-of-nothing.safetensors", safetensors(f"{{{names}}}", b""), fine("100,000 tensors"))


def views():
    """`ckpt.views`, ckpt's own map, and what save_model leaves."""

    def with_views(text, more=()):
        metadata = {"ckpt.views": text if isinstance(text, str) else json.dumps(text), **dict(more)}
        return f'{{"__metadata__":{json.dumps(metadata)},"weight":{GOOD}}}'

    whole = {"of": "weight", "shape": [4], "stride": [1], "offset": 0}
    for name, text, said in (
        ("no-json", "{", "a string"),
        ("of-nothing", {"v": {}}, "a view of nothing"),
        ("of-what-is-not-there", {"v": {"of": "gone"}}, "is a view of 'gone'"),
        ("of-itself", {"v": {"of": "v"}}, "is a view of 'v'"),
        ("of-each-other", {"a": {"of": "b"}, "b": {"of": "a"}}, "is a view of 'b'"),
        ("of-a-name-that-is-there", {"weight": {"of": "weight"}}, "tensor 'weight' comes twice"),
        ("past-the-end", {"v": whole | {"offset": 1}}, "leaves 'weight'"),
        ("past-64-bits", {"v": whole | {"shape": [2**62, 4], "stride": [2**62, 2**62]}}, "leaves 'weight'"),
        ("stride-negative", {"v": whole | {"stride": [-1]}}, "a whole number"),
        ("stride-missing", {"v": {"of": "weight", "shape": [4]}}, "its shape, stride and offset"),
        ("65-dimensions", {"v": whole | {"shape": [1] * 65, "stride": [1] * 65}}, "more than 64 dimensions"),
    ):
        yield from one(f"views-{name}", with_views(text), said)
    exploding = {f"v{i}": {"of": "weight", "shape": [1 << 30, 4], "stride": [0, 1], "offset": 0} for i in range(100)}
    outcomes = fine() | {"convert": refused("64 times as many")["convert"]}
    del outcomes["inspect"]
    yield Attack("safetensors-views-of-1-tib.safetensors", safetensors(with_views(exploding)), outcomes)
    steering = f'{{"__metadata__":{{"a\\u001b]0;owned\\u0007":"\\u202e"}},"w\\u009b31m":{GOOD}}}'
    yield Attack("safetensors-names-steer.safetensors", safetensors(steering), fine())


def indexes():
    """Each lies alone in its folder: the shards that it names are not there."""

    def index(title, content, said, outcome=refused):
        data = content if isinstance(content, bytes) else (content if isinstance(content, str) else json.dumps(content)).encode()
        yield Attack(f"index-{title}.json", data, outcome(said))

    def of(*files):
        return {"weight_map": {f"t{i}": file for i, file in enumerate(files)}}

    yield from index("of-what-is-not-there", of("model-00001-of-00001.safetensors"), "is missing")
    yield from index("of-torch", of("pytorch_model-00001-of-00001.bin"), "is missing")
    for where, file in (("outside", "../model.safetensors"), ("absolute", "/etc/shadow.safetensors"), ("nul", "a\0.safetensors")):
        yield from index(f"names-{where}", of(file), "expected a file in its own folder")
    yield from index("of-itself", of("index-of-itself.json"), "an index of shards within another file", unsupported)
    yield from index("map-twice", '{"weight_map":{"a":"a.bin"},"weight_map":{}}', "'weight_map' comes twice")
    yield from index("name-twice", '{"weight_map":{"a":"a.bin","a":"b.bin"}}', "tensor 'a' comes twice")
    yield from index("of-numbers", '{"weight_map":{"a":"a.bin","b":7}}', "expected a string")
    yield from index("cut-short", '{"weight_map":{"a":"a.bin"', "',' or '}'")
    yield from index("nested", '{"weight_map":{"a":"a.bin"},"x":' + "[" * 100_000, "nested deeper than 128")
    yield from index("no-map", '{"metadata":{"total_size":1}}', "JSON", unsupported)
    # A call whose result is dropped: nothing of it is left in the tensors.
    weights = program(call(name("posix", "system"), text("true")) + b"0" + mapping(("w", WEIGHT)))
    shards = {
        "pytorch_model.bin.index.json": json.dumps({"weight_map": {"w": "pytorch_model-00001-of-00001.bin"}}).encode(),
        "pytorch_model-00001-of-00001.bin": torch_zip(weights),
    }
    yield Attack("index-of-a-shard-that-runs.pt", shards, dangerous("posix.system"))
    yield from index("of-5000-shards", of(*(f"m-{i:05}-of-99999.bin" for i in range(1, 5001))), "is missing")


def attacks():
    yield from headers()
    yield from places()
    yield from views()
    yield from indexes()
