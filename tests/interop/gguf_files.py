"""GGUF: what the gguf package writes is read as its own reader reads it, to the last bit."""

import json
import struct
from pathlib import Path

import gguf
import numpy as np
import safetensors
import saving
import torch
from gguf import GGMLQuantizationType as Type
from gguf import GGUFEndian, GGUFReader, GGUFValueType, GGUFWriter

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "good"
PLAIN = {Type.F32, Type.F16, Type.F64, Type.I8, Type.I16, Type.I32, Type.I64}
REFUSED, TORCH = 3, {Type.BF16: torch.bfloat16}


def random(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def blocks(kind, rows=3):
    """Rows of any bits."""
    size, nbytes = gguf.GGML_QUANT_SIZES[kind]
    bits = np.random.default_rng(int(kind)).integers(0, 256, (rows, 2 * nbytes), dtype=np.uint8)
    return bits, size


def write(path, tensors, endian=GGUFEndian.LITTLE, metadata=None, alignment=None):
    writer = GGUFWriter(path, "test", endianess=endian)
    if alignment:
        writer.add_custom_alignment(alignment)
    for key, (value, kind) in (metadata or {}).items():
        writer.add_array(key, value) if kind is GGUFValueType.ARRAY else writer.add_key_value(key, value, kind)
    for name, (values, kind) in tensors.items():
        writer.add_tensor(name, values, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def as_read(tensor):
    """What GGUFReader gives, as torch has it: bfloat16 as such, all else with its dtype and shape."""
    data = np.array(tensor.data)
    if tensor.tensor_type is Type.BF16:
        return torch.from_numpy(data).view(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(data.astype(data.dtype.newbyteorder("="))))


def compare(checks, label, source, *options, expected=None):
    if expected is None:
        expected = {t.name: as_read(t) for t in GGUFReader(source).tensors}
    out = checks.written(label, source, *options, suffix=".pt")
    if out:
        got = saving.load(out, weights_only=True)
        checks.same_object(label, expected, got)
    checks.run(f"{label}: verify", "verify", source)


def every_type(checks):
    """Plain and in blocks, both byte orders, several alignments."""
    tensors = {
        "f32": (random((3, 4)), None),
        "f16": (random((2, 3, 5)).astype(np.float16), None),
        "f64": (random((7,)).astype(np.float64), None),
        **{f"i{8 * n}": (np.arange(-3, 9).astype(f"i{n}").reshape(4, 3), None) for n in (1, 2, 4, 8)},
        "f32 of one": (random((1,)), None),
        "f32 of four dimensions": (random((2, 3, 4, 5)), None),
    }
    for endian in GGUFEndian:
        for alignment in (None, 8, 4096):
            source = checks.path(".gguf")
            write(source, tensors, endian, alignment=alignment)
            compare(checks, f"plain types, {endian.name}, alignment {alignment}", source)
    kinds = {k: blocks(k)[0] for k in gguf.GGML_QUANT_SIZES if k not in PLAIN}
    source = checks.path(".gguf")
    write(source, {k.name: (bits, k) for k, bits in kinds.items()})
    compare(checks, "every type in blocks", source)
    shown = checks.run("every type in blocks: inspect", "inspect", source).text
    missing = [k.name for k in kinds if k is not Type.BF16 and f"1 {k.name}" not in shown]
    checks.suite.equal("every type in blocks: counted by name", missing, [])


def numbers(checks):
    """--dequantize, to the bit, of any scales: denormals, infinities, NaN."""
    scales = np.arange(0, 65536, 7, dtype=np.uint16)
    for kind in (Type.Q8_0, Type.Q4_0):
        _, nbytes = gguf.GGML_QUANT_SIZES[kind]
        bits = np.random.default_rng(1).integers(0, 256, (scales.size, nbytes), dtype=np.uint8)
        bits[:, :2] = scales.view(np.uint8).reshape(-1, 2)
        source = checks.path(".gguf")
        write(source, {"any": (bits, kind), "plain": (random((3,)), None), "rows": (bits[:64].reshape(4, 4, -1), kind)})
        with np.errstate(all="ignore"):
            values = {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in GGUFReader(source).tensors}
        expected = {name: torch.from_numpy(np.ascontiguousarray(v)) for name, v in values.items()}
        compare(checks, f"--dequantize {kind.name}", source, "--dequantize", expected=expected)
        again = checks.path(".npz")
        checks.run(f"--dequantize {kind.name} to npz", "convert", source, again, "--dequantize")
        with np.load(again) as file:
            same = [k for k, v in values.items() if file[k].tobytes() != v.astype("<f4").tobytes()]
        checks.suite.equal(f"--dequantize {kind.name} to npz: others", same, [])
        real = checks.path(".gguf")
        write(real, {"w": (gguf.quants.quantize(random((4, 64)), kind), kind)})
        shown = checks.run(f"{kind.name}: digest", "digest", "--dequantize", real).text
        out = checks.written(f"{kind.name}: converted", real, "--dequantize", suffix=".pt")
        checks.suite.equal(f"{kind.name}: one digest", checks.ckpt("digest", out).text, shown)
    for kind in gguf.GGML_QUANT_SIZES:
        if kind in PLAIN or kind in (Type.BF16, Type.Q8_0, Type.Q4_0):
            continue
        source = checks.path(".gguf")
        write(source, {"the weight": (blocks(kind)[0], kind)})
        done = checks.run(f"--dequantize {kind.name}", "digest", "--dequantize", source, code=REFUSED)
        checks.suite.check(f"--dequantize {kind.name}: named", "'the weight'" in done.err and kind.name in done.err, done)


def metadata(checks):
    """Every type of value."""
    values = {
        "u8": (255, GGUFValueType.UINT8, "255"),
        "i8": (-128, GGUFValueType.INT8, "-128"),
        "u16": (65535, GGUFValueType.UINT16, "65535"),
        "i16": (-32768, GGUFValueType.INT16, "-32768"),
        "u32": (2**32 - 1, GGUFValueType.UINT32, "4294967295"),
        "i32": (-(2**31), GGUFValueType.INT32, "-2147483648"),
        "u64": (2**64 - 1, GGUFValueType.UINT64, "18446744073709551615"),
        "i64": (-(2**63), GGUFValueType.INT64, "-9223372036854775808"),
        "f32": (0.1, GGUFValueType.FLOAT32, "0.1"),
        "f64": (0.1, GGUFValueType.FLOAT64, "0.1"),
        "nan": (float("nan"), GGUFValueType.FLOAT32, '"nan"'),
        "yes": (True, GGUFValueType.BOOL, "true"),
        "no": (False, GGUFValueType.BOOL, "false"),
        "text": ('größe "x"\n', GGUFValueType.STRING, 'größe "x"\n'),
        "numbers": ([1, 2, 3], GGUFValueType.ARRAY, "[1, 2, 3]"),
        "floats": ([0.5, 1.5], GGUFValueType.ARRAY, "[0.5, 1.5]"),
        "words": (["a", 'b"'], GGUFValueType.ARRAY, '["a", "b\\""]'),
        "bools": ([True, False], GGUFValueType.ARRAY, "[true, false]"),
        "bytes": (b"\x01\xff", GGUFValueType.ARRAY, "[1, 255]"),
        "many": ([str(i) for i in range(1000)], GGUFValueType.ARRAY, json.dumps([str(i) for i in range(1000)])),
        "many numbers": (list(range(1000)), GGUFValueType.ARRAY, json.dumps(list(range(1000)))),
    }
    for endian in GGUFEndian:
        source = checks.path(".gguf")
        write(source, {"x": (random((2,)), None)}, endian, {k: (v, kind) for k, (v, kind, _) in values.items()})
        shown = checks.run(f"metadata, {endian.name}", "inspect", "--json", source).json["metadata"]
        text = shown["entries"]
        for key, (_, _, expected) in values.items():
            got = str(text.get(key))
            checks.suite.check(f"metadata, {endian.name}: {key}", got == expected, got)


def first_version(checks):
    """Version 1 counts in 32 bits; the package reads 2 and 3 only."""
    source = checks.path(".gguf")
    name, data = b"w", np.arange(6, dtype="<f4")
    head = b"GGUF" + struct.pack("<III", 1, 1, 1)
    head += struct.pack("<I", 3) + b"a.b" + struct.pack("<II", 8, 2) + b"hi"
    head += struct.pack("<I", 1) + name + struct.pack("<IIIIQ", 2, 3, 2, 0, 0)
    source.write_bytes(head + b"\0" * (-len(head) % 32) + data.tobytes())
    compare(checks, "version 1", source, expected={"w": torch.arange(6.0).reshape(2, 3)})
    second = checks.path(".gguf")
    write(second, {"w": (data.reshape(2, 3), None)})
    raw = bytearray(second.read_bytes())
    raw[4] = 2
    second.write_bytes(raw)
    compare(checks, "version 2", second)


def splits(checks):
    """Parts of a model, the first of which may hold no tensor; one of them says that it is a part."""
    paths = []
    for number, tensors in enumerate(({}, {"a": (random((2, 32)), Type.F32)}, {"b": (random((3,)), Type.F32)})):
        paths.append(checks.path(".gguf"))
        split = {"split.no": (number, GGUFValueType.UINT16), "split.count": (3, GGUFValueType.UINT16), "note": ("x", GGUFValueType.STRING)}
        write(paths[-1], tensors, metadata=split)
    done = checks.run("a part of a model", "convert", paths[1], checks.path())
    checks.suite.check("a part of a model: said", "this is one of 3 parts of a model" in done.err, done)
    out = checks.path(".safetensors")
    checks.run("parts of a model, merge", "merge", *paths, out)
    with safetensors.safe_open(out, "pt") as file:
        checks.suite.equal("parts of a model: tensors", sorted(file.keys()), ["a", "b"])
        said = set(file.metadata())
    checks.suite.check("parts of a model: no split", "note" in said and not any(key.startswith("split.") for key in said), said)


def real_files(checks):
    if not CORPUS.exists():
        return checks.suite.skip("real GGUF files", f"no shared corpus at {CORPUS}")
    for source in sorted(CORPUS.glob("*.gguf")):
        try:
            GGUFReader(source)
        except (IndexError, ValueError):  # it went through a program that took it for text
            checks.run(f"{source.name}: refused as by the package", "inspect", source, code=REFUSED)
        else:
            compare(checks, source.name, source)


GROUPS = [every_type, numbers, metadata, first_version, splits, real_files]
