"""safetensors and its shards, both ways: what the library saved is read, and what ckpt writes it loads, byte for byte
what it would have written itself."""

import json

import saving
import torch
from equal import same_bytes
from safetensors import safe_open
from safetensors import torch as library
from saving import ZIP

UNSUPPORTED = 3
DTYPES = (
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool complex64 float8_e4m3fn "
    "float8_e5m2 float8_e8m0fnu float8_e4m3fnuz float8_e5m2fnuz float4_e2m1fn_x2"
).split()
SHAPES = ((), (1,), (5,), (0,), (0, 3), (3, 4), (2, 1, 3))


def compare(checks, name, expected, got):
    checks.suite.equal(f"{name}: names", sorted(got), sorted(expected))
    wrong = [key for key in expected if key in got and not same_bytes(expected[key], got[key])]
    checks.suite.equal(f"{name}: tensors that are others", wrong, [])


def random_tensor(dtype, shape):
    dtype = getattr(torch, dtype)
    if dtype == torch.float4_e2m1fn_x2 and not shape:
        shape = (1,)  # torch packs two, and safetensors has no half of a byte
    generator = torch.Generator().manual_seed(len(shape))
    count = 1
    for size in shape:
        count *= size
    data = torch.randint(0, 2 if dtype == torch.bool else 256, (count * dtype.itemsize,), generator=generator)
    return data.to(torch.uint8).view(dtype).reshape(shape)


def every_tensor():
    """Bits of every kind, in every dtype and some shapes."""
    return {f"{dtype}.{'x'.join(map(str, shape))}": random_tensor(dtype, shape) for dtype in DTYPES for shape in SHAPES}


def strange_names():
    names = ("w", "W", "", "größe", 'q"u\\o/te', "new\nline", "nul\0", "\x7f", "a.b", "€😀", "__meta__")
    return {name: torch.arange(i) for i, name in enumerate(names)}


def from_library(checks):
    for name, tensors, metadata in (
        ("every dtype", every_tensor(), None),
        ("metadata", {"w": torch.ones(2)}, {"fo\n\"rmat": "é\\\0"}),
        ("names", strange_names(), {"format": "pt"}),
        ("nothing", {}, None),
    ):
        source = checks.path(".safetensors")
        library.save_file(tensors, source, metadata)
        checks.run(f"{name}: verify", "verify", source)
        again = checks.written(f"{name}, again", source, "--verify=full")
        checks.suite.check(f"{name}: the same file", again and again.read_bytes() == source.read_bytes())
        out = checks.written(f"{name} to torch", source, suffix=".pt")
        compare(checks, f"{name} to torch", tensors, saving.load(out, weights_only=True))
        back = checks.written(f"{name} and back", out, suffix=".safetensors")
        compare(checks, f"{name} and back", tensors, library.load_file(back))
        shown = checks.ckpt("inspect", "--json", source).json["metadata"].get("entries", {})
        checks.suite.equal(f"{name}: metadata", shown, metadata or {})


def from_torch(checks):
    """Byte for byte what save_file would have written of the same dict, which says that it is PyTorch's."""
    for name, tensors in (
        ("every dtype", every_tensor()),
        ("names", {key: t for key, t in strange_names().items()}),
        ("transposed", {"t": torch.randn(3, 4).t(), "channels last": torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)}),
        ("part of a storage", {"v": torch.arange(100.0)[10:20]}),
        ("lazy views", {"conj": torch.randn(3, dtype=torch.cfloat).conj(), "neg": torch.randn(3, dtype=torch.cfloat).conj().imag}),
        ("expanded", {"e": torch.tensor([1.5]).expand(7)}),
    ):
        source, wanted = checks.path(), checks.path(".safetensors")
        ZIP.save(tensors, source)
        plain = {key: t.resolve_conj().resolve_neg().contiguous() for key, t in tensors.items()}
        library.save_file(plain, wanted, {"format": "pt"})
        out = checks.written(f"{name} to safetensors", source, "--verify=full", suffix=".safetensors")
        checks.suite.check(f"{name}: safetensors' own bytes", out and out.read_bytes() == wanted.read_bytes())


class Tied(torch.nn.Module):
    """An embedding that is the output layer too."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(7, 4)
        self.body = torch.nn.Linear(4, 4)
        self.head = torch.nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight


def tied_weights(checks):
    torch.manual_seed(1)
    model, source = Tied(), checks.path()
    torch.save(model.state_dict(), source)
    out = checks.written("tied", source, suffix=".safetensors")
    into = Tied()
    missing, unexpected = library.load_model(into, out)
    checks.suite.equal("tied: load_model", (list(missing), list(unexpected)), ([], []))
    compare(checks, "tied: load_model", model.state_dict(), into.state_dict())
    by_library = checks.path(".safetensors")
    library.save_model(model, by_library)
    with safe_open(by_library, "pt") as file, safe_open(out, "pt") as mine:
        checks.suite.equal("tied: the tensors that save_model keeps", list(mine.keys()), list(file.keys()))
        removed = file.metadata().items()
        checks.suite.check("tied: the names that save_model removes", removed <= mine.metadata().items(), mine.metadata())
    for name, path in (("ckpt's own", out), ("save_model's", by_library)):
        back = saving.load(checks.written(f"tied, {name}", path, suffix=".pt"), weights_only=True)
        compare(checks, f"tied, {name}", model.state_dict(), back)
        shared = back["head.weight"].untyped_storage().data_ptr() == back["embed.weight"].untyped_storage().data_ptr()
        checks.suite.check(f"tied, {name}: share memory again", shared)


def views(checks):
    """Of shared memory all comes back that the file can say: strides, offsets, storages."""
    base = torch.arange(24.0).reshape(4, 6)
    saved = {"w": base, "t": base.t(), "row": base[2], "column": base[:, 1], "same": base, "wide": base[0, :1].expand(5, 1)}
    source = checks.path()
    torch.save(saved, source)
    out = checks.written("views", source, suffix=".safetensors")
    back = saving.load(checks.written("views and back", out, suffix=".pt"), weights_only=True)
    compare(checks, "views", saved, back)
    geometry = {key: (t.stride(), t.storage_offset()) for key, t in back.items()}
    checks.suite.equal("views: geometry", geometry, {key: (t.stride(), t.storage_offset()) for key, t in saved.items()})
    checks.suite.equal("views: storages", len({t.untyped_storage().data_ptr() for t in back.values()}), 1)
    with safe_open(out, "pt") as file:
        checks.suite.equal("views: written once", len(list(file.keys())), 1)
    flat = torch.arange(10.0)
    torch.save({"a": flat[:6], "b": flat[4:]}, source)
    done = checks.run("overlaps", "convert", source, checks.path(".safetensors"))
    checks.suite.check("overlaps: told", "are written one by one" in done.err, done)


def what_safetensors_lacks(checks):
    odd = {
        "complex128": torch.zeros(2, dtype=torch.complex128),
        "complex32": torch.zeros(2, dtype=torch.complex32),
        "quint8": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8),
        "sparse_coo": torch.eye(2).to_sparse(),
        "meta": torch.empty(2, device="meta"),
    }
    for name, t in odd.items():
        source, out = checks.path(), checks.path(".safetensors")
        ZIP.save({"good": torch.ones(1), "layer.odd": t}, source)
        done = checks.run(f"{name}: refused", "convert", source, out, code=UNSUPPORTED)
        checks.suite.check(f"{name}: by its name", "tensor 'layer.odd' is" in done.err and name in done.err, done)
        checks.suite.check(f"{name}: no output", not out.exists())


FLAVOURS = (
    ("safetensors-index", "model.safetensors.index.json", lambda path: library.load_file(path)),
    ("torch-index", "pytorch_model.bin.index.json", lambda path: torch.load(path, weights_only=True)),
)


def shards(checks):
    """As huggingface's libraries split, name and index them; each file loads by itself."""
    generator = torch.Generator().manual_seed(2)
    saved = {f"layer{i}.weight": torch.randn(50, i + 1, generator=generator) for i in range(12)}
    saved |= {"head.weight": saved["layer3.weight"], "view": saved["layer5.weight"].t(), "large": torch.randn(900)}
    source = checks.path()
    torch.save(saved, source)
    for format_, index_name, load in FLAVOURS:
        folder = checks.path("")
        checks.run(format_, "convert", source, folder, "--format", format_, "--shard-size", "3KB", "--verify=full")
        text = (folder / index_name).read_text()
        index = json.loads(text)
        checks.suite.equal(f"{format_}: json.dumps' own bytes", text, json.dumps(index, indent=2, sort_keys=True) + "\n")
        weight_map, files = index["weight_map"], sorted(p.name for p in folder.iterdir() if p.name != index_name)
        checks.suite.equal(f"{format_}: every file is named", sorted(set(weight_map.values())), files)
        loaded = {file: load(folder / file) for file in files}
        wrong = [n for n, file in weight_map.items() if not same_bytes(saved[n], loaded[file][n])]
        checks.suite.equal(f"{format_}: tensors that are others", wrong, [])
        checks.suite.equal(f"{format_}: total_size", index["metadata"]["total_size"], 4 * (50 * 78 + 900))
        sizes = [sum(t.numel() * 4 for t in {x.data_ptr(): x for x in part.values()}.values()) for part in loaded.values()]
        checks.suite.check(f"{format_}: no file above 3 KB, but one", sorted(sizes)[-2] <= 3000 < max(sizes), sizes)
        for path in (folder, folder / index_name):
            back = saving.load(checks.written(f"{format_} and back", path, suffix=".pt"), weights_only=True)
            compare(checks, f"{format_} and back", saved, back)
            checks.suite.check(f"{format_}: tied again", back["head.weight"].data_ptr() == back["layer3.weight"].data_ptr())
            checks.suite.equal(f"{format_}: strides", back["view"].stride(), (1, 6))


def many_shards(checks):
    """More files than a process may have open."""
    import resource

    folder, weight_map = checks.path(""), {}
    folder.mkdir()
    for i in range(200):
        name = f"model-{i + 1:05}-of-00200.safetensors"
        library.save_file({f"w{i}": torch.full((3,), float(i))}, folder / name)
        weight_map[f"w{i}"] = name
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
    try:
        out = checks.written("200 shards", folder, suffix=".pt")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    compare(checks, "200 shards", {f"w{i}": torch.full((3,), float(i)) for i in range(200)}, saving.load(out))


GROUPS = [from_library, from_torch, tied_weights, views, what_safetensors_lacks, shards, many_shards]
