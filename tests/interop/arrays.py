"""numpy's files, both ways: what numpy saved is read, and what ckpt writes numpy loads, byte for byte where it can be."""

import gzip
import io
import itertools

import cases
import numpy as np
import saving
import torch
from numpy.lib import format as npy_format
from saving import ZIP
from torch_worker import named_tensors

CODES = ("b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16")
SHAPES = ((), (1,), (5,), (0,), (0, 3), (3, 4), (2, 1, 3), (2, 3, 4, 5))
UNSUPPORTED = 3
# Objects of nothing but tensors that numpy has arrays for, under names.
HELD = ("tied", "views", "data parallel", "many")


def array(code, shape, order="<", fortran=False):
    """Bits of every kind: NaNs, infinities and denormals among the floats."""
    random = np.random.default_rng(len(shape))
    size = int(np.prod(shape)) * np.dtype(code).itemsize
    bits = random.integers(0, 2 if code == "b1" else 256, size, dtype=np.uint8)
    values = np.frombuffer(bits.tobytes(), dtype=order + code).reshape(shape)
    return np.asfortranarray(values) if fortran else values


def every_array():
    for code, shape, order, fortran in itertools.product(CODES, SHAPES, "<>", (False, True)):
        yield f"{code}{'x'.join(map(str, shape))}{order}{'F' if fortran else 'C'}", array(code, shape, order, fortran)


def native(values):
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def same_bits(a, b):
    a, b = native(a), native(b)
    return a.dtype == b.dtype and a.shape == b.shape and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


def compare(checks, name, expected, got):
    """Arrays by name, in their order."""
    checks.suite.equal(f"{name}: names", list(got), list(expected))
    wrong = [key for key in expected if key in got and not same_bits(np.asarray(expected[key]), np.asarray(got[key]))]
    checks.suite.equal(f"{name}: arrays that are others", wrong, [])


def loaded(path):
    with np.load(path) as file:
        return {key: file[key] for key in file.files}


def as_arrays(path, **options):
    return {key: t.numpy() for key, t in saving.load(path, weights_only=True, **options).items()}


def from_npz(checks):
    """Every dtype, byte order, memory order and shape: to torch, to the old format, and to npz again."""
    expected = dict(every_array())
    for save in (np.savez, np.savez_compressed):
        label, source = save.__name__, checks.path(".npz")
        save(source, **expected)
        checks.run(f"{label}: verify", "verify", source)
        zipped = checks.written(f"{label} to torch", source, suffix=".pt")
        compare(checks, f"{label} to torch", expected, as_arrays(zipped))
        compare(checks, f"{label} to torch, mapped", expected, as_arrays(zipped, mmap=True))
        strides = {key: tuple(s // a.itemsize for s in a.strides) for key, a in expected.items() if a.size > 1}
        got = {key: t.stride() for key, t in saving.load(zipped, weights_only=True).items() if t.numel() > 1}
        checks.suite.equal(f"{label} to torch: strides", got, strides)
        again = checks.written(f"{label} to npz", source, "--verify=full")
        compare(checks, f"{label} to npz", expected, loaded(again))
        digests = [checks.ckpt("digest", path).text for path in (source, zipped, again)]
        checks.suite.check(f"{label}: one digest", len(set(digests)) == 1 and digests[0], digests)
    packed = checks.path(".npz.gz")
    packed.write_bytes(gzip.compress(source.read_bytes(), 1))
    compare(checks, "npz in gzip", expected, as_arrays(checks.written("npz in gzip", packed, "--no-gzip", suffix=".pt")))


def old_dtypes_to_legacy(checks):
    held = {key: a for key, a in every_array() if key[:2] not in ("u2", "u4", "u8")}
    source = checks.path(".npz")
    np.savez(source, **held)
    out = checks.written("npz to legacy", source, "--format", "torch-legacy", suffix=".pt")
    compare(checks, "npz to legacy", held, as_arrays(out))


def from_npy(checks):
    """Every version; the bytes that ckpt writes are those that numpy.save would have written."""
    for name, values in every_array():
        source = checks.path(".npy")
        np.save(source, values)
        out = checks.written(f"{name}", source)
        wanted = io.BytesIO()
        np.save(wanted, values if values.dtype.byteorder != ">" else native(values))
        checks.suite.check(f"{name}: numpy's own bytes", out and out.read_bytes() == wanted.getvalue())
        source.unlink(), out and out.unlink()
    values = array("f4", (3, 4))
    for version in ((1, 0), (2, 0), (3, 0)):
        source = checks.path(".npy")
        with open(source, "wb") as file:
            npy_format.write_array(file, values, version=version)
        out = checks.written(f"version {version}", source, suffix=".pt")
        checks.suite.check(f"version {version}", same_bits(saving.load(out, weights_only=True).numpy(), values))
        mapped = np.load(checks.written(f"version {version}, again", source), mmap_mode="r")
        checks.suite.check(f"version {version}, mapped", isinstance(mapped, np.memmap) and same_bits(mapped, values))


def names(checks):
    """Names as numpy has them: folders, other scripts, case, none."""
    expected = {name: np.arange(i) for i, name in enumerate(("W", "w", "block/0/weight", "größe", "", "a.b", "x.npy"))}
    source = checks.path(".npz")
    np.savez(source, **expected)
    compare(checks, "names to npz", expected, loaded(checks.written("names to npz", source)))
    compare(checks, "names to torch", expected, as_arrays(checks.written("names to torch", source, suffix=".pt")))


def what_numpy_alone_reads(checks):
    """Arrays that no tensor is: refused, by the array's name."""
    odd = {
        "objects": np.array([{"a": 1}], dtype=object),
        "text": np.array(["ab", "c"]),
        "bytes": np.array([b"ab"]),
        "dates": np.array(["2020-01-01"], dtype="M8[D]"),
        "records": np.zeros(2, dtype=[("x", "f4"), ("y", "i4", (2,))]),
        "long doubles": np.zeros(2, dtype=np.longdouble),
        "raw": np.zeros(2, dtype="V3"),
    }
    for name, values in odd.items():
        source = checks.path(".npz")
        np.savez(source, good=np.zeros(2), odd=values)
        done = checks.run(f"{name}: refused", "inspect", source, code=UNSUPPORTED)
        checks.suite.check(f"{name}: by the array's name, with a hint", "'odd.npy'" in done.err and "hint: " in done.err, done)


def to_npz(checks):
    """What PyTorch saved becomes arrays by name, equal to the last bit."""
    held = {name: cases.ALL[name]() for name in HELD}
    held["every dtype"] = {str(a.dtype): torch.from_numpy(a) for _, a in every_array() if a.dtype.isnative and a.shape == (3, 4)}
    held["lazy views"] = {"conj": torch.randn(3, 4, dtype=torch.complex64).conj(), "neg": torch.randn(4, dtype=torch.cfloat).conj().imag}
    held["nested"] = {"a": [torch.ones(2), {"b": torch.zeros(1)}], 5: torch.ones(1), "t": (torch.ones(2, 3).t(),)}
    for name, saved in held.items():
        source = checks.path()
        ZIP.save(saved, source)
        obj = saving.load(source, weights_only=True)
        expected = {key: t.detach().resolve_conj().resolve_neg().numpy() for key, t in named_tensors(obj)}
        out = checks.written(f"{name} to npz", source, suffix=".npz")
        compare(checks, f"{name} to npz", expected, loaded(out))
        back = checks.written(f"{name} to npz and back", out, suffix=".pt")
        compare(checks, f"{name} to npz and back", expected, as_arrays(back))


def what_numpy_lacks(checks):
    """Refused by the tensor's name."""
    odd = {dtype: torch.zeros(2, dtype=getattr(torch, dtype)) for dtype in ("bfloat16", "float8_e4m3fn", "complex32")}
    odd["quint8"] = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
    odd["sparse_coo"] = torch.eye(2).to_sparse()
    odd["meta"] = torch.empty(2, device="meta")
    for name, t in odd.items():
        source = checks.path()
        ZIP.save({"good": torch.ones(1), "layer.odd": t}, source)
        out = checks.path(".npz")
        done = checks.run(f"{name}: refused", "convert", source, out, code=UNSUPPORTED)
        checks.suite.check(f"{name}: by its name", f"tensor 'layer.odd' is" in done.err and name in done.err, done)
        checks.suite.check(f"{name}: no output", not out.exists())


GROUPS = [from_npz, old_dtypes_to_legacy, from_npy, names, what_numpy_alone_reads, to_npz, what_numpy_lacks]
