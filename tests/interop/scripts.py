"""TorchScript: what ckpt makes of files of torch.jit.save and of mobile ones, against libtorch's own loader."""

import enum
import gzip
import io
import pickletools
import re
import zipfile
from collections import OrderedDict
from typing import Optional

import torch
from equal import differences
from torch import nn
from torch.jit.mobile import _load_for_lite_interpreter

UNREADABLE = 3


class Sub(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 2)
        self.register_buffer("buf", torch.arange(3.0))
        self.register_buffer("passing", torch.zeros(1), persistent=False)
        self.register_parameter("none", None)
        self.plain = torch.ones(2)
        self.word = "cuda:0"
        self.listed = [torch.ones(1), torch.zeros(2)]
        self.by_name = {"a": torch.ones(1)}
        self.big, self.small, self.real = 2**40, -5, 0.1

    def forward(self, x):
        return self.lin(x) + self.plain + self.listed[1] + self.buf.sum() + self.passing + self.by_name["a"] + self.small


class Net(nn.Module):
    """Nested modules, tied and shared tensors, constants, and a string that is spelt like a location."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 3))
        self.sub = Sub()
        self.norm = nn.BatchNorm1d(2)
        self.tied = nn.Linear(3, 2)
        self.tied.weight = self.sub.lin.weight
        flat = torch.randn(12)
        self.view = nn.Parameter(flat[2:8].view(2, 3).t())
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.ModuleDict({"x": nn.Linear(3, 2)})["x"])

    def forward(self, x):
        y = self.norm(self.sub(x)) + x @ self.weight.t() + self.tied(x) + x @ self.view
        return y + self.layers(x) + torch.tensor([1.0, 2.0])


class Kinds(nn.Module):
    """Every dtype that a module may hold, and layouts that libtorch pickles in its own way."""

    def __init__(self, odd=False):
        super().__init__()
        for kind in ("float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64", "complex128"):
            self.register_buffer(f"b_{kind}", torch.ones(2, dtype=getattr(torch, kind)))
        self.register_buffer("scalar", torch.tensor(2.5))
        self.register_buffer("empty", torch.zeros(0, 3))
        self.register_buffer("per_tensor", torch.quantize_per_tensor(torch.ones(2, 2), 0.1, 3, torch.quint8))
        self.register_buffer("per_channel", torch.quantize_per_channel(torch.ones(2, 2), torch.ones(2), torch.zeros(2), 0, torch.qint8))
        if odd:
            self.register_buffer("sparse", torch.eye(3).to_sparse())
            self.register_buffer("csr", torch.eye(3).to_sparse_csr())
            self.register_buffer("meta", torch.ones(2, device="meta"))

    def forward(self, x):
        return x * self.scalar


class Odd(nn.Module):
    """An Enum, dtypes that have no storage class in Python, buffers that are stored as others than they are, and one that state_dict() leaves out for its type."""

    perhaps: Optional[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.choice = Choice.right
        self.register_buffer("perhaps", torch.ones(2))
        self.register_buffer("negative", torch._neg_view(torch.tensor([1.0, 2.0])))
        self.register_buffer("conjugate", torch.tensor([1 + 2j, 3j]).conj())
        self.register_buffer("halved", torch.tensor([1 + 2j, 3j]).to(torch.complex32).conj())
        for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu"):
            self.register_buffer(f"b_{kind}", torch.ones(3).to(getattr(torch, f"float8_{kind}")))
        for kind in ("uint16", "uint32", "uint64"):
            self.register_buffer(f"b_{kind}", torch.arange(3).to(getattr(torch, kind)))
        self.b_shared = self.b_e5m2[1:]

    def forward(self, x):
        return x * self.weight if self.choice == Choice.right else x


class Choice(enum.Enum):
    left = 1
    right = 2


def quantised():
    layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    return torch.ao.quantization.quantize_dynamic(layers, {nn.Linear}, dtype=torch.qint8)


def makers():
    """Name and what saves the file."""
    torch.manual_seed(0)
    net = Net().eval()
    scripted = torch.jit.script(net)
    traced = torch.jit.trace(net, torch.ones(1, 3))
    extra = {"notes.txt": "hello", "more/config.pkl": b"no pickle", "data.pkl": b"\x00"}
    yield "scripted", lambda path: torch.jit.save(scripted, path, _extra_files=extra)
    yield "traced", lambda path: torch.jit.save(traced, path)
    yield "frozen", lambda path: torch.jit.save(torch.jit.freeze(scripted), path)
    yield "optimised", lambda path: torch.jit.save(torch.jit.optimize_for_inference(scripted), path)
    yield "quantised", lambda path: torch.jit.save(torch.jit.script(quantised()), path)
    yield "kinds", lambda path: torch.jit.save(torch.jit.script(Kinds()), path)
    yield "odd", lambda path: torch.jit.save(torch.jit.script(Odd()), path)
    yield "nothing", lambda path: torch.jit.save(torch.jit.script(nn.ReLU()), path)
    yield "mobile", lambda path: scripted._save_for_lite_interpreter(str(path))
    yield "mobile, traced", lambda path: traced._save_for_lite_interpreter(str(path))
    yield "mobile, frozen", lambda path: torch.jit.freeze(scripted)._save_for_lite_interpreter(str(path))
    yield "mobile, told of", lambda path: scripted._save_for_lite_interpreter(str(path), _save_mobile_debug_info=True)


def saved(checks):
    for name, save in makers():
        path = checks.path(".ptl" if "mobile" in name else ".pt")
        save(path)
        yield name, path


def content(path):
    with zipfile.ZipFile(path) as archive:
        return {i.filename: archive.read(i) for i in archive.infolist()}


def said(members):
    """What each pickle says: a string that a location shared with something else stands there twice after a move."""
    return {name: instructions(data) if name.endswith(".pkl") and "/extra/" not in name else data for name, data in members.items()}


def instructions(data):
    """Those of a pickle, with strings in the place of memo entries that hold one."""
    found, memo, top = [], {}, None
    for op, arg, _ in pickletools.genops(data):
        if "PUT" in op.name:
            memo[arg] = top
            continue
        if "GET" in op.name and memo.get(arg) is not None:
            op, arg = None, memo[arg]
        top = arg if op is None or op.name == "BINUNICODE" else None
        found.append(("BINUNICODE" if op is None else op.name, None if op and "GET" in op.name else arg))
    return found


def outputs(path, **options):
    """Of the model, by each loader that takes it."""
    data = torch.linspace(-1, 1, 6).reshape(2, 3)
    loaders = [torch.jit.load] + ([_load_for_lite_interpreter] if path.suffix == ".ptl" else [])
    found = []
    for load in loaders:
        try:
            found.append(load(str(path), **options)(data).detach())
        except Exception as error:
            found.append(f"{type(error).__name__}: {str(error)[-300:]}")
    return found


def unedited(checks):
    """Each member byte for byte, in its order; every storage where libtorch wants it."""
    for name, source in saved(checks):
        out = checks.written(name, source, "--verify=full")
        if out is None:
            continue
        checks.suite.check(f"{name}: the same members", list(content(source).items()) == list(content(out).items()))
        checks.suite.check(f"{name}: the same outputs", not differences(outputs(source), outputs(out)), outputs(out))
        with zipfile.ZipFile(out) as archive:
            stored = all(i.compress_type == zipfile.ZIP_STORED for i in archive.infolist())
            starts = [i.header_offset + 30 + len(i.filename) for i in archive.infolist()]
            data = out.read_bytes()
            starts = [s + int.from_bytes(data[s - len(i.filename) - 2 : s - len(i.filename)], "little") for s, i in zip(starts, archive.infolist())]
        checks.suite.check(f"{name}: stored, at multiples of 64", stored and all(s % 64 == 0 for s in starts), starts)
        checks.run(f"{name}, verify", "verify", out)


def moved(checks):
    """To a GPU's tags, as a model that was saved there has them, and back: the tags have changed and nothing else has."""
    for name, source in saved(checks):
        there = checks.written(f"{name}, there", source, "--to", "cuda:0")
        back = checks.written(f"{name}, back", there, "--to", "cpu") if there else None
        if back is None:
            continue
        before, on_gpu, after = content(source), content(there), content(back)
        checks.suite.check(f"{name}: back again, the same members", said(before) == said(after))
        changed = {m for m in before if before[m] != on_gpu[m]}
        pickles = {m for m in before if re.fullmatch(r"[^/]+/(data|constants|bytecode)\.pkl", m) and b"storage" in before[m]}
        checks.suite.equal(f"{name}: the pickles that name storages have changed", changed, pickles)
        checks.suite.check(
            f"{name}: no tag of the CPU is left", all(t["device"] != "cpu" for t in checks.ckpt("inspect", "--json", there).json["tensors"])
        )
        # libtorch reads the other tags too: map_location takes their place.
        checks.suite.check(
            f"{name}: loads with map_location", not differences(outputs(source), outputs(there, map_location="cpu")), outputs(there, map_location="cpu")
        )
        checks.suite.check(f"{name}: the same outputs", not differences(outputs(source), outputs(back)), outputs(back))
        if not torch.cuda.is_available() and pickles:
            here = [o for o in outputs(there) if isinstance(o, str)]
            checks.suite.check(f"{name}: the tags are CUDA's to libtorch", here and all("CUDA" in o or "NVIDIA" in o or "cuda" in o for o in here), here)


def to_meta(checks):
    """libtorch keeps no bytes of what is on it: only the state dict goes there."""
    source = checks.path()
    torch.jit.save(torch.jit.script(Net().eval()), source)
    done = checks.run("to meta", "convert", source, checks.path(), "--to", "meta", code=2)
    checks.suite.check("to meta: told how", "--to meta --weights-only writes its state dict" in done.err, done)
    checks.written("to meta, --weights-only", source, "--weights-only", "--to", "meta")


def state_dicts(checks):
    """--weights-only and --format torch are what state_dict() gives; where it gives nothing, that is said."""
    for name, source in saved(checks):
        wanted = torch.jit.load(str(source)).state_dict()
        tensors = checks.ckpt("inspect", "--json", source).json["tensors"]
        for options in (["--weights-only"], ["--format", "torch"]):
            label = f"{name} {options[0]}"
            out = checks.path()
            done = checks.run(label, "convert", source, out, *options, code=0 if wanted else 2)
            if not wanted:
                checks.suite.check(f"{label}: told why", "no parameters and no buffers" in done.err and ("NAME -o OUT takes one" if tensors else "no tensor in it") in done.err, done)
                continue
            got = torch.load(out, weights_only=True)
            same = checks.suite.check(f"{label}: equal", not differences(plain(wanted), plain(got)), lambda: differences(plain(wanted), plain(got)))
            if same:
                checks.suite.equal(f"{label}: _metadata", got._metadata, wanted._metadata)
                checks.suite.check(f"{label}: no gradients", not any(t.requires_grad for t in got.values()))
        if wanted:
            digests = [checks.ckpt("digest", "--json", "--root", "auto", path).json for path in (source, out)]
            checks.suite.equal(f"{name}: one digest", *digests)


def plain(state):
    return OrderedDict((k, v.detach()) for k, v in state.items())


def extracted(checks):
    """Each tensor alone is a plain one to torch, those of constants and attributes, too."""
    for name, source in saved(checks):
        wanted = torch.jit.load(str(source)).state_dict()
        told = checks.ckpt("digest", "--json", source).json["tensors"]
        listed = [t["name"] for t in checks.ckpt("inspect", "--json", source).json["tensors"]]
        checks.suite.check(f"{name}, extract: there is all that state_dict() gives", wanted.keys() <= set(listed), listed)
        for tensor in listed:
            label, out = f"{name}, extract {tensor}", checks.path()
            checks.run(label, "extract", source, tensor, "-o", out)
            got = torch.load(out, weights_only=True)
            if tensor in wanted:
                pair = [t.detach().contiguous() for t in (wanted[tensor], got)]
                checks.suite.check(f"{label}: equal", not differences(*pair), str(got))
            sums = checks.ckpt("digest", "--json", out).json["tensors"]
            checks.suite.check(f"{label}: its digest, and no other's", told[tensor] in sums.values() and set(sums.values()) <= set(told.values()), sums)


def loads_into_the_model(checks):
    """And the class itself takes it."""
    torch.manual_seed(1)
    net, source, out = Net().eval(), checks.path(), checks.path()
    torch.jit.save(torch.jit.script(net), source)
    checks.run("into the class", "convert", source, out, "--weights-only")
    fresh = Net().eval()
    wrong = fresh.load_state_dict(torch.load(out, weights_only=True), strict=False)
    checks.suite.equal("into the class: what does not fit", (wrong.missing_keys, set(wrong.unexpected_keys)), ([], {"sub.passing"}))
    data = torch.randn(2, 3)
    checks.suite.check("into the class: the same outputs", torch.equal(net(data), fresh(data)))


def hints(checks):
    """What is proposed for a file whose numbers a format has not is done."""
    source, out = checks.path(), checks.path(".npz")
    torch.jit.save(torch.jit.script(nn.Linear(3, 2).bfloat16()), str(source))
    done = checks.ckpt("convert", source, out)
    checks.suite.check("bfloat16 to npz: told", done.code == UNREADABLE and "--weights-only --dtype float32 casts it" in done.err, done)
    checks.run("bfloat16 to npz, as proposed", "convert", source, out, "--weights-only", "--dtype", "float32")


def packed(checks):
    """In gzip, and from one that is written without a known size."""
    for name, source in saved(checks):
        there, back = checks.path(source.suffix + ".gz"), checks.path(source.suffix)
        there.write_bytes(gzip.compress(source.read_bytes(), 1, mtime=0))
        checks.run(f"{name}, from gzip", "convert", there, back, "--no-gzip")
        checks.suite.check(f"{name}: from gzip, the same members", content(source) == content(back))
        again = checks.written(f"{name}, to gzip", source, "--gzip", "--verify=full", suffix=source.suffix + ".gz")
        data = gzip.decompress(again.read_bytes())
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            checks.suite.check(f"{name}: to gzip, the same members", {i.filename: archive.read(i) for i in archive.infolist()} == content(source))
        checks.run(f"{name}, verify of gzip", "verify", again)


def layouts(checks):
    """Sparse and meta tensors are read and written; Python pickles them in another way, which is said."""
    source = checks.path()
    torch.jit.save(torch.jit.script(Kinds(odd=True)), source)
    shown = checks.ckpt("inspect", "--json", source).json
    kinds = {t["name"]: (t.get("layout", "strided"), t["shape"], t["device"]) for t in shown["tensors"]}
    checks.suite.equal("sparse", kinds["sparse"][:2], ("sparse_coo", [3, 3]))
    checks.suite.equal("csr", kinds["csr"][:2], ("sparse_csr", [3, 3]))
    checks.suite.equal("meta", kinds["meta"], ("strided", [2], "meta"))
    there = checks.written("layouts, there", source, "--to", "cuda:0")
    back = checks.written("layouts, back", there, "--to", "cpu")
    checks.suite.check("layouts: the same members", content(source) == content(back))
    done = checks.run("layouts, --weights-only", "convert", source, checks.path(), "--weights-only", code=UNREADABLE)
    checks.suite.check("layouts: the refusal names the tensor", "'sparse'" in done.err, done)


def named(checks):
    """Zips that are no checkpoint, as PyTorch itself writes them."""
    from torch.package import PackageExporter

    program, package, flat = checks.path(".pt2"), checks.path(), checks.path(".ptl")
    torch.export.save(torch.export.export(nn.Linear(2, 2), (torch.ones(1, 2),)), program)
    with PackageExporter(str(package)) as exporter:
        exporter.save_text("model", "notes.txt", "hello")
    torch.jit.script(Net().eval())._save_for_lite_interpreter(str(flat), _use_flatbuffer=True)
    for path, said in ((program, "torch.export"), (package, "torch.package"), (flat, "flatbuffer")):
        done = checks.run(f"named, {said}", "inspect", path, code=UNREADABLE)
        checks.suite.check(f"named, {said}: it is", said in done.err, done)


class Times(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.weight * 2


def code(checks):
    """Two models of one object that compute otherwise."""
    one, other, damaged = (checks.path(".pt") for _ in range(3))
    torch.jit.save(torch.jit.script(Times()), one)
    with zipfile.ZipFile(one) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, data.replace(b", 2)", b", 3)") if name.endswith(".py") else data)
    x = torch.ones(2)
    checks.suite.equal("code: the models differ", (torch.jit.load(one)(x)[0].item(), torch.jit.load(other)(x)[0].item()), (2.0, 3.0))
    done = checks.run("code: diff", "diff", one, other, code=1)
    checks.suite.check("code: diff says where", b"code/__torch__" in done.out and b"other from byte" in done.out, done)
    checks.run("code: of the same", "diff", one, one)
    checks.run("code: left aside", "diff", one, other, "--ignore", "other")
    data = bytearray(other.read_bytes())
    data[data.index(b", 3)") + 2] ^= 1
    damaged.write_bytes(data)
    checks.run("code: damage is no difference", "diff", one, damaged, code=3)


GROUPS = [code, unedited, moved, to_meta, state_dicts, extracted, loads_into_the_model, hints, packed, layouts, named]
