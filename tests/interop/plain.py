"""Plain pickles and PyTorch 0.1's files: what Python loads of them is what ckpt reads and writes. All were saved here."""

import collections
import gzip
import io
import pickle
import struct
import tarfile

import arrays
import cases
import numpy as np
import saving
import torch
from torch_worker import described, named_tensors

PROTOCOLS = range(6)
HELD = ("tied", "views", "data parallel", "trainer", "many")




def dumped(checks, obj, protocol, suffix=".pkl"):
    path = checks.path(suffix)
    path.write_bytes(pickle.dumps(obj, protocol))
    return path


def seen(checks, name, path, expected):
    """inspect names the tensors that Python has, with their geometry, and digest their bytes."""
    report = checks.run(f"{name}: inspect", "inspect", "--json", path)
    if report.code:
        return
    wanted = [described(key, tensor) for key, tensor in named_tensors(expected)]
    got = {t["name"]: t for t in report.json["tensors"]}
    checks.suite.equal(f"{name}: names", list(got), [w["name"] for w in wanted])
    for want in wanted:
        mine = got.get(want["name"], {})
        wrong = {k: (mine.get(k), v) for k, v in want.items() if k not in ("sha256", "layout") and mine.get(k) != v}
        checks.suite.equal(f"{name}: {want['name']}", wrong, {})
    sums = checks.run(f"{name}: digest", "digest", "--json", path)
    hashes = {w["name"]: w["sha256"] for w in wanted if "sha256" in w}
    if not sums.code:
        checks.suite.equal(f"{name}: digests", {k: sums.json["tensors"].get(k) for k in hashes}, hashes)
    checks.run(f"{name}: verify", "verify", path)


def tensors(checks):
    """Objects of tensors, tied and viewed, in every protocol: what torch.save(pickle.load(file)) writes."""
    for name in HELD:
        if name not in cases.ALL:
            continue
        obj = cases.ALL[name]()
        for protocol in PROTOCOLS:
            label = f"{name}, protocol {protocol}"
            source = dumped(checks, obj, protocol)
            loaded = pickle.loads(source.read_bytes())
            seen(checks, label, source, loaded)
            allow = checks.allowed(label, source)
            out = checks.written(label, source, "--verify=full", *allow, suffix=".pt")
            reference = checks.path()
            torch.save(loaded, reference)
            if out:
                mine, its = (saving.load(path, weights_only=False) for path in (out, reference))
                checks.same_object(f"{label}: equal", its, mine)
                checks.same_object(
                    f"{label}: weights_only",
                    saving.load(reference, weights_only=True),
                    saving.load(out, weights_only=True),
                    or_more=True,
                )


def every_dtype(checks):
    """Each dtype that PyTorch pickles, those without a class of storage too."""
    for dtype in (v for v in vars(torch).values() if isinstance(v, torch.dtype)):
        try:
            obj = {"w": torch.arange(6).to(dtype).reshape(2, 3).t(), "e": torch.zeros(0, 2, dtype=dtype)}
            data = pickle.dumps(obj, 4)
            loaded = pickle.loads(data)
        except Exception:
            continue
        source = checks.path(".pkl")
        source.write_bytes(data)
        out = checks.written(str(dtype), source, suffix=".pt")
        if out:
            checks.same_object(f"{dtype}: equal", loaded, saving.load(out, weights_only=True))


def tags(checks):
    """Storages that say they lay on GPUs, and come to the CPU without one."""
    obj = {"a": torch.ones(3), "b": torch.zeros(2, 2)}
    with saving.tagged("cuda:1", "cuda:0"):
        source = dumped(checks, obj, 3)
    report = checks.run("tags: inspect", "inspect", "--json", source)
    checks.suite.equal("tags", {t["device"] for t in report.json["tensors"]}, {"cuda:0", "cuda:1"})
    out = checks.written("tags to cpu", source, "--to", "cpu", suffix=".pt")
    checks.same_object("tags to cpu", obj, saving.load(out, weights_only=True))


def of_arrays(checks):
    """Arrays of every dtype, byte order, memory order and shape, in every protocol."""
    expected = collections.OrderedDict(arrays.every_array())
    for axes in ((1, 0, 2), (2, 0, 1), (0, 2, 1)):  # numpy 2.4 keeps these in protocol 5
        expected[f"by axes {axes}"] = arrays.array("f4", (2, 3, 4)).transpose(axes)
    for protocol in PROTOCOLS:
        label = f"arrays, protocol {protocol}"
        source = dumped(checks, {"model": expected, "epoch": 3, "lr": np.float64(0.1)}, protocol)
        loaded = pickle.loads(source.read_bytes())["model"]
        weights = checks.written(f"{label}: weights", source, "--weights-only", suffix=".pt")
        arrays.compare(checks, f"{label}: weights", loaded, arrays.as_arrays(weights))
        got = saving.load(weights, weights_only=True)
        strides = {key: tuple(s // a.itemsize for s in a.strides) for key, a in loaded.items() if a.size > 1}
        checks.suite.equal(f"{label}: strides", {key: got[key].stride() for key in strides}, strides)
        zipped = checks.written(f"{label}: npz", source, "--weights-only", suffix=".npz")
        arrays.compare(checks, f"{label}: npz", loaded, arrays.loaded(zipped))
        kept = checks.written(f"{label}: kept", source, suffix=".pt")
        again = saving.load(kept, weights_only=False)
        checks.suite.check(f"{label}: kept, scalars too", again["lr"] == 0.1 and type(again["lr"]) is np.float64)
        arrays.compare(checks, f"{label}: kept", loaded, again["model"])
        checks.suite.equal(f"{label}: kept as arrays", {type(a) for a in again["model"].values()}, {np.ndarray})
        digests = [checks.ckpt("digest", *options, path).text for path, *options in ((source, "--root", "model"), (weights,), (zipped,))]
        checks.suite.check(f"{label}: one digest", len(set(digests)) == 1 and digests[0], digests)


def kinds_of_arrays(checks):
    """What no tensor is stays what it is, beside what one is."""
    class Weights(np.ndarray):
        pass

    Weights.__module__, Weights.__qualname__ = __name__, "Weights"
    globals()["Weights"] = Weights
    odd = {
        "masked": np.ma.array([1.0, 2.0], mask=[0, 1]),
        "records": np.zeros(2, dtype=[("x", "f4"), ("y", "i4", (2,))]),
        "objects": np.array([None, {"a": 1}], dtype=object),
        "text": np.array(["ab", "c"]),
        "dates": np.array(["2020-01-01"], dtype="M8[D]"),
        "long": np.zeros(2, dtype=np.longdouble),
        "subclass": np.zeros(2, dtype="f4").view(Weights),
    }
    for name, value in odd.items():
        for protocol in PROTOCOLS:
            label = f"{name}, protocol {protocol}"
            source = dumped(checks, {"good": np.arange(3.0), "odd": value}, protocol)
            report = checks.run(label, "inspect", "--json", source)
            names = [t["name"] for t in report.json["tensors"]]  # a masked array's state holds a value to fill in
            checks.suite.equal(f"{label}: names", [n for n in names if n != "odd.state.6"], ["good"])
            checks.suite.check(f"{label}: told", any("no tensor" in w for w in report.json["warnings"]), report)
            out = checks.written(label, source, suffix=".pt")
            again = saving.load(out, weights_only=False)["odd"]
            same = type(again) is type(value) and again.dtype == value.dtype and repr(again) == repr(value)
            checks.suite.check(f"{label}: kept", same, lambda: f"{again!r} {value!r}")
    matrix = dumped(checks, np.matrix([[1.0, 2.0], [3.0, 4.0]]), 4)
    out = checks.written("matrix", matrix, "--weights-only", suffix=".npy", code=2)
    report = checks.run("matrix", "inspect", "--json", matrix)
    checks.suite.equal("matrix: a tensor alone", [t["shape"] for t in report.json["tensors"]], [[2, 2]])


def several(checks):
    """pickle.dump twice: the first counts, as for pickle.load."""
    source = checks.path(".pkl")
    source.write_bytes(pickle.dumps({"a": torch.ones(2)}, 4) + pickle.dumps({"b": torch.ones(2)}, 4))
    done = checks.run("two pickles", "inspect", source)
    checks.suite.check("two pickles: told", "there is 1 more" in done.err + done.text, done)
    out = checks.written("two pickles", source, suffix=".pt")
    checks.same_object("two pickles", {"a": torch.ones(2)}, saving.load(out, weights_only=True))


def out_of_band(checks):
    buffers = []
    source = checks.path(".pkl")
    source.write_bytes(pickle.dumps(np.arange(5.0), 5, buffer_callback=buffers.append))
    done = checks.run("buffers elsewhere", "inspect", source, code=3)
    checks.suite.check("buffers elsewhere: named", "NEXT_BUFFER" in done.err, done)


def nested_in_files(checks):
    """Storages pickled within what torch.save writes stay calls, which PyTorch makes."""
    obj = {"w": torch.ones(2), "inner": Holder(torch.arange(4.0))}
    for way in (saving.ZIP, saving.LEGACY):
        source = checks.path()
        way.save(obj, source)
        report = checks.run(f"nested in {way.name}", "inspect", "--json", source)
        verdicts = {g["name"]: g["verdict"] for g in report.json["globals"]}
        checks.suite.equal(f"nested in {way.name}", verdicts.get("torch.storage._load_from_bytes"), "known")
        out = checks.written(f"nested in {way.name}", source)
        checks.same_object(f"nested in {way.name}", saving.load(source, weights_only=False), saving.load(out, weights_only=False))


class Holder:
    """Pickles its storage itself, as a plain pickle would."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __reduce__(self):
        buffer = io.BytesIO()
        torch.save(self.tensor._typed_storage(), buffer, _use_new_zipfile_serialization=False)
        return torch.storage._load_from_bytes, (buffer.getvalue(),)


def old_tar(path, obj, tensors, views=(), form=tarfile.PAX_FORMAT):
    """What PyTorch 0.1's torch.save wrote (torch/serialization.py, legacy_load). `tensors`: key, storage's key, shape,
    stride, offset; storages are made of what these need."""
    parts = {name: io.BytesIO() for name in ("sys_info", "pickle", "tensors", "storages")}
    pickle.dump({"protocol_version": 1000, "little_endian": True}, parts["sys_info"], 2)
    roots = sorted({key for _, key, *_ in tensors} - {view[0] for view in views} | {view[1] for view in views})
    pickle.dump(len(roots), parts["storages"], 2)
    for key in roots:
        pickle.dump((key, "cpu", torch.FloatStorage), parts["storages"], 2)
        numbers = [float(key * 100 + i) for i in range(12)]
        parts["storages"].write(struct.pack("<q12f", 12, *numbers))
    pickle.dump(list(views), parts["storages"], 2)
    pickle.dump(len(tensors), parts["tensors"], 2)
    for key, storage, shape, stride, offset in tensors:
        pickle.dump((key, storage, torch.FloatTensor), parts["tensors"], 2)
        numbers = (len(shape), *shape, *stride, offset)
        parts["tensors"].write(struct.pack(f"<{len(numbers)}q", *numbers))

    class Ids(pickle.Pickler):
        def persistent_id(self, value):
            return value.id if isinstance(value, Id) else None

    Ids(parts["pickle"], 2).dump(obj)
    with tarfile.open(path, "w", format=form) as tar:
        for name, part in parts.items():
            info = tarfile.TarInfo(name)
            info.size = len(part.getvalue())
            tar.addfile(info, io.BytesIO(part.getvalue()))


class Id:
    def __init__(self, value):
        self.id = value


def tars(checks):
    """Views, shared tensors and storages of PyTorch 0.1, against torch.load of the same file."""
    tensors = [(1, 50, (3, 4), (4, 1), 0), (2, 50, (4, 3), (1, 4), 0), (3, 51, (2,), (3,), 1), (4, 60, (2, 2), (2, 1), 0), (5, 50, (), (), 5)]
    views = [(60, 50, 4, 6)]
    obj = collections.OrderedDict(
        [("a", Id("1")), ("t", Id("2")), ("again", Id("1")), ("s", Id("3")), ("v", Id("4")), ("zero", Id("5")), ("n", [1, "two", {3: None}])]
    )
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT):
        source = checks.path(".tar")
        old_tar(source, obj, tensors, views, form)
        loaded = torch.load(source, weights_only=False)
        seen(checks, f"tar {form}", source, loaded)
        for options in ((), ("--format", "torch-legacy")):
            out = checks.written(f"tar {form} {options}", source, "--verify=full", *options, suffix=".pt")
            got = saving.load(out, weights_only=True)
            reference = checks.path()
            torch.save(loaded, reference)
            checks.same_object(f"tar {form} {options}", saving.load(reference, weights_only=True), got)
        packed = checks.path(".tar.gz")
        packed.write_bytes(gzip.compress(source.read_bytes(), 1))
        out = checks.written(f"tar {form} in gzip", packed, "--no-gzip", suffix=".pt")
        checks.same_object(f"tar {form} in gzip", saving.load(reference, weights_only=True), saving.load(out, weights_only=True))


def archives(checks):
    """A tar around a checkpoint, as Python's tarfile writes it in each format and compression."""
    inner = checks.path()
    saving.ZIP.save(cases.ALL["tied"](), inner)
    expected = saving.load(inner, weights_only=True)
    for mode, suffix in (("w", ".tar"), ("w:gz", ".tar.gz")):
        for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT):
            source = checks.path(suffix)
            with tarfile.open(source, mode, format=form) as tar:
                tar.add(inner, "folder/" * 12 + "größe.pt")
                info = tarfile.TarInfo("config.json")
                info.size = 2
                tar.addfile(info, io.BytesIO(b"{}"))
            out = checks.written(f"{suffix} {form}", source, "--verify=full", suffix=".pt")
            checks.same_object(f"{suffix} {form}", expected, saving.load(out, weights_only=True))
            done = checks.run(f"{suffix} {form}: in place", "convert", "--in-place", source, "--to", "cpu", code=2)
            checks.suite.check(f"{suffix} {form}: hint", "hint: tar xf" in done.err, done)


GROUPS = [tensors, every_dtype, tags, of_arrays, kinds_of_arrays, several, out_of_band, nested_in_files, tars, archives]
