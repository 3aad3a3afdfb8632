"""convert --dtype against torch.Tensor.to(), to the last bit: every small float, and floats of every kind.

PyTorch has two ways to cast on a CPU, vector code for what is contiguous and scalar code for the rest. They agree in all
but some NaNs: as bfloat16 0xFFFF of the one, c10's 0x7FC0 of the other; as float32, of float16, 0x7FFFFFFF in the last few
elements, which fill no vector. ckpt writes what the scalar code gives.
"""

import numpy
import saving
import torch
from saving import ZIP, Failed
from torch import nn

TARGETS = [getattr(torch, n) for n in "float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2".split()]
FLOATS, DOUBLES = 10_000_000, 1_000_000
INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits(tensor):
    return tensor.view(INTEGERS[tensor.element_size()])


def every_small_float():
    for dtype in (torch.float16, torch.bfloat16):
        yield torch.arange(-(2**15), 2**15).to(torch.int16).view(dtype)
    for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu"):
        yield torch.arange(256).to(torch.uint8).view(getattr(torch, f"float8_{name}"))


def boundaries():
    """Floats that end in each 12 bits that matter to some target: its own values, halfway between two, and beside them."""
    upper = torch.arange(2**20, dtype=torch.int64) << 12
    return torch.cat([upper + low for low in (0, 1, 0x7FF, 0x800, 0x801, 0xFFF)])


def floats():
    """Any bits; of every 16 one NaN or infinity and one denormal; and the boundaries."""
    torch.manual_seed(11)
    some = torch.randint(0, 2**32, (FLOATS - 6 * 2**20,))
    some[::16] |= 0x7F800000
    some[1::16] &= ~0x7F800000
    every = torch.cat([some, boundaries()])
    return torch.where(every >= 2**31, every - 2**32, every).to(torch.int32).view(torch.float32)


def doubles():
    """Any bits; half of them with exponents that smaller floats have; halfway between two floats; NaNs; denormals."""
    torch.manual_seed(12)
    some = torch.randint(-(2**63), 2**63 - 1, (DOUBLES,))
    exponents = torch.randint(1023 - 155, 1023 + 130, (DOUBLES // 2,)) << 52
    some[::2] = (some[::2] & ~(0x7FF << 52)) | exponents
    some[::8] = (some[::8] & ~(2**29 - 1)) | 2**28  # a tie of float32
    some[2::8] = (some[2::8] & ~(2**42 - 1)) | 2**41  # … and of float16
    some[1::16] |= 0x7FF << 52
    some[3::16] &= ~(0x7FF << 52)
    return some.view(torch.float64)


def scalar_cast(tensor, dtype):
    """By PyTorch's scalar code, which takes what is not contiguous."""
    spread = torch.empty(2 * tensor.numel(), dtype=tensor.dtype)[::2]
    made = torch.empty(2 * tensor.numel(), dtype=dtype)[::2]
    return made.copy_(spread.copy_(tensor)).clone(memory_format=torch.contiguous_format)


def compare(checks, name, source, expected, got):
    wrong = (bits(expected) != bits(got)).nonzero().flatten()
    return checks.suite.check(
        name,
        not len(wrong),
        lambda: "\n".join(
            [f"{len(wrong)} of {expected.numel()} differ"]
            + [f"{word(source, i)} became {word(got, i)}, not {word(expected, i)}" for i in wrong[:5]]
        ),
    )


def word(tensor, i):
    size = tensor.element_size()
    return f"{bits(tensor)[i].item() & (1 << 8 * size) - 1:#0{2 * size + 2}x}"


def casts(checks, source):
    """The tensor in a file, cast to every target."""
    path = checks.path()
    ZIP.save({"x": source}, path)
    for dtype in TARGETS:
        label = f"{source.dtype} to {dtype}"
        out = checks.written(label, path, "--dtype", str(dtype).removeprefix("torch."))
        if out is None:
            continue
        got = saving.load(out, weights_only=True)["x"]
        if not checks.suite.equal(f"{label}: dtype", got.dtype, dtype):
            continue
        expected = scalar_cast(source, dtype) if dtype != source.dtype else source
        compare(checks, label, source, expected, got)
        vectors = source.to(dtype)
        if dtype == torch.bfloat16 and source.dtype != dtype:
            vectors[source.to(torch.float32).isnan()] = torch.tensor(0x7FC0, dtype=torch.int16).view(dtype)
        compare(checks, f"{label}: by PyTorch's vector code", source, vectors, got)
        out.unlink()


def every_dtype(checks):
    elements = 0
    for source in (*every_small_float(), floats(), doubles()):
        casts(checks, source)
        elements += source.numel() * sum(dtype != source.dtype for dtype in TARGETS)
    checks.suite.figure("interop.cast-elements", elements)


def what_requires_grad(checks):
    """A Parameter does in every dtype; of a plain tensor PyTorch cannot load what it saves as float8."""
    path = checks.path()
    ZIP.save({"plain": torch.ones(2, requires_grad=True), "parameter": nn.Parameter(torch.ones(2))}, path)
    for dtype in TARGETS:
        label = f"requires grad, {dtype}"
        out = checks.written(label, path, "--dtype", str(dtype).removeprefix("torch."))
        loaded = saving.load(out, weights_only=True)
        if not checks.suite.check(f"{label}: loads", not isinstance(loaded, Failed), repr(loaded)):
            continue
        got = [loaded[name].requires_grad for name in ("plain", "parameter")]
        checks.suite.equal(label, got, ["float8" not in str(dtype), True])


def lazy_negatives(checks):
    """What shares a storage with what it is the negative of. PyTorch negates no float8."""
    path = checks.path()
    pairs = torch.randn(5, dtype=torch.cfloat)
    ZIP.save({"real": pairs.real, "negative": pairs.conj().imag, "apart": pairs.conj().imag[1:3]}, path)
    source = saving.load(path, weights_only=True)
    for dtype in TARGETS:
        label = f"lazy negatives, {dtype}"
        out = checks.written(label, path, "--dtype", str(dtype).removeprefix("torch."))
        got = saving.load(out, weights_only=True)
        for name, tensor in source.items():
            expected = scalar_cast(tensor.resolve_neg(), dtype)
            compare(checks, f"{label}: {name}", tensor.resolve_neg(), expected, got[name].resolve_neg().contiguous())
        kept = "float8" not in str(dtype)
        checks.suite.equal(f"{label}: is one", [got[name].is_neg() for name in source], [False, kept, kept])


def quantised(checks):
    """The scales by which integers are read are no weights: they stay what they are."""
    path = checks.path()
    scales = torch.tensor([0.1, 0.25, 0.3], dtype=torch.float64)
    made = torch.quantize_per_channel(torch.randn(3, 4), scales, torch.zeros(3, dtype=torch.int64), 0, torch.qint8)
    ZIP.save({"q": made, "w": torch.ones(2)}, path)
    for dtype in TARGETS:
        out = checks.written(f"quantised, {dtype}", path, "--dtype", str(dtype).removeprefix("torch."))
        got = saving.load(out, weights_only=True)
        checks.suite.equal(f"quantised, {dtype}: scales", got["q"].q_per_channel_scales().tolist(), scales.tolist())
        checks.suite.equal(f"quantised, {dtype}: the weight", got["w"].dtype, dtype)


class OnDevice:
    """Pickled as a call of torch._utils' that puts what it is given on a device that is not here."""

    def __init__(self, call, given):
        self.reduced = (call, (given, torch.float32, "xla:0", False))

    def __reduce__(self):
        return self.reduced


def on_devices(checks):
    """What is put on a device from an array stays, and that is said."""
    path, out = checks.path(), checks.path()
    made = {
        "from_array": OnDevice(torch._utils._rebuild_device_tensor_from_numpy, numpy.arange(4, dtype=numpy.float32)),
        "from_tensor": OnDevice(torch._utils._rebuild_device_tensor_from_cpu_tensor, torch.arange(4.0)),
        "plain": torch.ones(3),
    }
    ZIP.save(made, path)
    done = checks.run("on devices", "convert", path, out, "--dtype", "float16")
    checks.suite.check("on devices: what stays", "1 tensor, which is a numpy array or of a class of its own, keeps its dtype" in done.err, done)
    found = {tensor["name"]: tensor["dtype"] for tensor in checks.ckpt("inspect", "--json", out).json["tensors"]}
    checks.suite.equal("on devices: dtypes", found, {"from_array": "float32", "from_tensor": "float16", "plain": "float16"})


def views_of_bytes(checks):
    """Numbers that have no storage class, in one of bytes that has: an edit of the one leaves them their dtype."""
    flat = torch.arange(40, dtype=torch.uint8)
    parts = {"w": flat[8:24].view(torch.float8_e4m3fn), "s": flat[24:32].view(torch.uint16)}
    twin = flat.clone()
    module = nn.Module()
    module.register_parameter("p", nn.Parameter(parts["w"], requires_grad=False))
    module.register_parameter("again", module.p)
    module.register_buffer("b", flat)
    for title, obj, options in (
        ("cut up", {"flat": flat, **parts}, ["--compact", "--drop", "flat"]),
        ("cut up, all", {"flat": flat[:9], "w": flat[:9].view(torch.float8_e4m3fn)}, ["--compact"]),
        ("closed up", {"flat": flat, "t": parts["w"].view(4, 4).t()}, ["--contiguous"]),
        ("made one", {"a": flat, "w": parts["w"], "b": twin, "x": twin.view(torch.float8_e4m3fn)}, ["--dedupe"]),
        ("of a module", module, ["--weights-only"]),
        ("averaged", {"flat": flat, **parts}, None),
    ):
        source, out = checks.path(), checks.path()
        ZIP.save(obj, source)
        command = ["average", source, source] if options is None else ["convert", source, *options]
        checks.run(f"views of bytes, {title}", *command, out, "--verify=full")
        wanted = obj.state_dict() if isinstance(obj, nn.Module) else obj
        got = saving.load(out, weights_only=True)
        for name in got:
            same = got[name].dtype == wanted[name].dtype and torch.equal(bits(got[name]), bits(wanted[name]))
            checks.suite.check(f"views of bytes, {title}: {name}", same, repr(got[name]))


GROUPS = [every_dtype, what_requires_grad, lazy_negatives, quantised, on_devices, views_of_bytes]
