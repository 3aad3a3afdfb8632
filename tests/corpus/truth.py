"""What truth.json says of each file of the shared corpus, and how what ckpt says compares with it. No tolerance."""

import json
from dataclasses import dataclass


@dataclass
class Format:
    """What a kind of file in truth.json is to ckpt, and what it is converted to."""

    name: str
    to: tuple  # formats
    written: bool = True  # and to its own
    weights: bool = False  # --format takes its state dict alone, and truth.json lists that
    suffix: str = ".pt"
    listed: bool = True  # truth.json has its tensors
    nested: bool = False  # files within it have globals, which truth.json does not list
    ordered: bool = True  # else a file has an order of its own, and truth.json that of a hash table


FORMATS = {
    "zip": Format("torch", ("torch-legacy",)),
    "legacy": Format("torch-legacy", ("torch",)),
    "safetensors": Format("safetensors", ("torch",), suffix=".safetensors", ordered=False),
    "index": Format("safetensors-index", ("torch", "safetensors"), suffix="", ordered=False),
    "torchscript": Format("torchscript", ("torch",), weights=True),
    "torchscript-mobile": Format("torchscript", ("torch",), weights=True),
    "torchscript-model.json": Format("torchscript", ("torch",), weights=True),
    "pickle": Format("pickle", ("torch", "torch-legacy"), written=False, nested=True),
    "tar": Format("torch-tar", ("torch", "torch-legacy"), written=False),
    "tar-other": Format("torch-tar", ("torch", "torch-legacy"), written=False, listed=False),
    "gzip:tar-other": Format("torch-legacy", ("torch",), listed=False),  # with a configuration and a vocabulary
    "gguf": Format("gguf", ("torch", "npz"), written=False, listed=False),  # tests/interop compares it with gguf's reader
}
# Between these everything is kept; to others, tensors.
PICKLED = {"torch", "torch-legacy"}
# Written to one of those, these keep all but the names that they are pickled by.
PICKLED_OTHERWISE = {"pickle", "torch-tar"}
# What the message must say where the file is of a format that ckpt only names; None: any message will do.
NAMED = {
    "ggml": None,
    "npy-object": "python objects",
    "json": "is missing",  # indexes of shards that are not all there
    "unknown": None,
    "gzip-bad": "gzip",
}
# Files of formats that are read, but cut or damaged: what the message must say.
DAMAGED = {
    "good/llama-jni-bridge__ggml-vocab-bert-bge.gguf": "the header ends",  # a program took it for text
}
# Legacy files name a storage's class, and these dtypes have none.
NOT_IN_LEGACY = {
    "uint16",
    "uint32",
    "uint64",
    "complex32",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float4_e2m1fn_x2",
}
# truth.json lists this many tensors of a file and no more; what comes after is not compared with it.
LISTED = 6001


class Row:
    def __init__(self, row, folder):
        self.row = row
        self.name = row["file"]
        self.path = folder / row["file"]
        self.kind = row.get("format") or "malicious"
        self.tensors = row.get("tensors") or []
        container = self.kind.removeprefix("gzip:")
        self.gzip = self.kind.startswith("gzip:")
        self.like = None if self.name in DAMAGED else FORMATS.get(self.kind) or FORMATS.get(container)
        self.format = self.like and self.like.name
        self.names_as = DAMAGED.get(self.name) or NAMED.get(container)
        self.known_kind = self.format or container in NAMED or self.name in DAMAGED

    def not_in_legacy(self):
        return [t["name"] for t in self.tensors if t.get("dtype") in NOT_IN_LEGACY]


def join_shards(rows, folder):
    """An index has the tensors of its shards, which have rows of their own; where one of those lacks, it stays json."""
    by_file = {row["file"]: row for row in rows}
    for row in rows:
        if row.get("format") != "json":
            continue
        shards = sorted(set(json.loads((folder / row["file"]).read_text())["weight_map"].values()))
        parts = [by_file.get(f"{row['file'].rsplit('/', 1)[0]}/{shard}") for shard in shards]
        if all(parts):
            tensors = [tensor for part in parts for tensor in part["tensors"]]
            row |= {"format": "index", "tensors": [t | {"storage_id": i} for i, t in enumerate(tensors)]}


def load(folder):
    rows = json.loads((folder / "truth.json").read_text())
    join_shards(rows, folder)
    rows = [Row(r, folder) for r in rows]
    ours = [r for r in rows if r.name.startswith(("good/", "made/"))]
    hostile = [r for r in rows if r.name.startswith("malicious/")]
    return ours, hostile


def state_dict_of(row, tensors):
    """Of a module's tensors those that truth.json lists, in its order and with storages numbered anew: parameters first,
    then buffers. What else a module holds (attributes, constants) is no part of its state dict."""
    by_name = {t["name"]: t for t in tensors}
    numbers = {}
    listed = [by_name[t["name"]] for t in row.tensors if t["name"] in by_name]
    return [dict(t, storage=numbers.setdefault(t["storage"], len(numbers))) for t in listed]


def differences(row, report):
    """Where `inspect --json` says something else than the truth; empty where all agrees."""
    if report["format"] != row.format:
        yield f"format {report['format']}, expected {row.format}"
    if report["compression"] != ("gzip" if row.gzip else "none"):
        yield f"compression {report['compression']}"
    if row.like.listed:
        yield from tensor_differences(row, report)
    globals_ = {g["name"] for g in report["globals"]}
    true = set(row.row.get("globals") or [])
    more = globals_ - true
    if row.like.nested:
        more = {g for g in more if not (g.startswith("torch.") and g.endswith("Storage"))}
    if more or true - globals_:
        yield f"globals: missing {sorted(true - globals_)}, more {sorted(more)}"


def tensor_differences(row, report):
    got = report["tensors"][:LISTED] if len(row.tensors) == LISTED else report["tensors"]
    if row.like.weights:
        got = state_dict_of(row, got)
    true_tensors = row.tensors
    if not row.like.ordered:
        place = {t["name"]: i for i, t in enumerate(got)}
        true_tensors = sorted(row.tensors, key=lambda t: place.get(t["name"], -1))
        true_tensors = [t | {"storage_id": i} for i, t in enumerate(true_tensors)]
    names = [t["name"] for t in got]
    expected = [t["name"] for t in true_tensors]
    if names != expected:
        missing = [n for n in expected if n not in set(names)]
        more = [n for n in names if n not in set(expected)]
        yield f"names differ: missing {missing[:5]}, more {more[:5]}" if missing or more else "the order differs"
        return
    for mine, true in zip(got, true_tensors):
        for key, name in (
            ("dtype", "dtype"),
            ("shape", "shape"),
            ("stride", "stride"),
            ("offset", "offset"),
            ("device", "device"),
            ("storage_id", "storage"),
            ("layout", "layout"),
        ):
            if key not in true or (name == "layout" and name not in mine and true["layout"] == "strided"):
                continue
            if mine.get(name) != true[key]:
                yield f"{mine['name']}: {name} {mine.get(name)}, expected {true[key]}"


def digest_differences(row, report):
    if not row.like.listed:
        return
    got = dict(report["tensors"])
    for true in row.tensors:
        expected = true.get("sha256") or true.get("int_repr_sha256")
        name = true["name"]
        if expected:
            if got.pop(name, None) != expected:
                yield f"{name}: digest {report['tensors'].get(name)}, expected {expected}"
            if "int_repr_sha256" in true:  # whose channels may have numbers of their own
                for part in ("scales", "zero_points"):
                    got.pop(f"{name}.{part}", None)
        else:  # sparse, by its parts; meta, not at all
            for part in [n for n in got if n.startswith(f"{name}.") or not name]:
                del got[part]
    if got and len(row.tensors) < LISTED and not row.like.weights:
        yield f"digests of what is not in the file: {sorted(got)[:5]}"
