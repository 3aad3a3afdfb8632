#!/usr/bin/env python3
"""Test sets as eval/datasets reads them, beside what torch and numpy hold.

    tests/eval/test_sets.py --ckpt build/release/bin/ckpt

Asks ckpt_dump_data, which stands beside ckpt. Every file that is read here was saved here.
"""

import gzip
import hashlib
import io
import struct
import sys
from pathlib import Path

import numpy
import torch
from safetensors.torch import save_file

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

SHARED = harness.ROOT.parent / "shared"
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class Sets:
    """Asks for a test set, and compares."""

    def __init__(self, suite, ckpt, folder):
        self.suite, self.ckpt, self.folder = suite, ckpt, folder
        self.dump = harness.Ckpt(Path(ckpt.path).with_name("ckpt_dump_data"))
        self.random = torch.Generator().manual_seed(1)
        self.count = 0

    def path(self, suffix=""):
        self.count += 1
        return self.folder / f"{self.count}{suffix}"

    def saved(self, value, packed=False, **options):
        buffer = io.BytesIO()
        torch.save(value, buffer, **options)
        path = self.path()
        path.write_bytes(gzip.compress(buffer.getvalue(), 1) if packed else buffer.getvalue())
        return path

    def bytes(self, *shape):
        return torch.randint(0, 256, shape, dtype=torch.uint8, generator=self.random)

    def floats(self, *shape):
        return torch.randn(*shape, generator=self.random)

    def classes(self, count, classes, positions=1):
        return torch.randint(0, classes, (count, positions), generator=self.random)

    def read(self, path, shape, classes, positions=1, split="testing", step=7):
        """(inputs, labels, digest), or how it failed."""
        out = self.path()
        done = self.dump(path, out, split, str(step), str(positions), str(classes), *map(str, shape))
        if done.code:
            return done
        line, rest = out.read_bytes().split(b"\n", 1)
        dtype, count, digest = line.decode().split()
        kind = numpy.dtype(dtype)
        size = int(count) * int(numpy.prod(shape)) * kind.itemsize
        inputs = numpy.frombuffer(rest[:size], kind).reshape(int(count), *shape)
        return inputs, numpy.frombuffer(rest[size:], "<i4").reshape(int(count), positions), digest

    def same(self, name, path, inputs, labels, classes, **options):
        """`inputs`, `labels`: tensors as the model shall get them."""
        inputs, labels = inputs.contiguous().numpy(), labels.int().contiguous().numpy()
        got = self.read(path, inputs.shape[1:], classes, positions=labels.shape[1], **options)
        if not self.suite.check(f"{name}: read", isinstance(got, tuple), got):
            return
        self.suite.equal(f"{name}: dtype", str(got[0].dtype), str(inputs.dtype))
        self.suite.check(f"{name}: inputs", got[0].tobytes() == inputs.tobytes())
        self.suite.check(f"{name}: labels", numpy.array_equal(got[1], labels), lambda: f"{got[1]}\n{labels}")
        self.suite.equal(f"{name}: digest", got[2], digest_of(inputs, labels))


def digest_of(inputs, labels):
    """docs/eval.md, in Python."""
    total = 0
    for index, (sample, label) in enumerate(zip(inputs, labels)):
        text = struct.pack("<Q", index) + str(inputs.dtype).encode() + sample.tobytes() + label.astype("<i4").tobytes()
        total += int.from_bytes(hashlib.sha256(text).digest(), "big")
    return f"{total % 2**256:064x}"


def containers(t):
    inputs, labels = t.bytes(50, 28, 28), t.classes(50, 10)
    flat = inputs.reshape(50, 784)
    for name, path in {
        "tuple": t.saved((inputs, labels[:, 0])),
        "list": t.saved([inputs, labels[:, 0]]),
        "legacy": t.saved((inputs, labels[:, 0]), _use_new_zipfile_serialization=False),
        "gzip": t.saved((inputs, labels[:, 0]), packed=True),
        "legacy in gzip": t.saved((inputs, labels[:, 0]), packed=True, _use_new_zipfile_serialization=False),
        "dict": t.saved({"labels": labels[:, 0], "images": inputs}),
        "TensorDataset": t.saved(torch.utils.data.TensorDataset(inputs, labels[:, 0])),
        "with a plane": t.saved((inputs[:, None], labels)),
        "flat": t.saved((flat, labels)),
    }.items():
        t.same(name, path, flat, labels, 10)


def input_dtypes(t):
    labels = t.classes(20, 5)
    for dtype in FLOATS:
        inputs = t.floats(20, 3, 4).to(dtype)
        inputs[3, 1, 2], inputs[4, 0, 0] = float("inf"), float("-inf")
        inputs[5] *= 1e-6
        t.same(str(dtype), t.saved((inputs, labels)), inputs.float(), labels, 5)
    for dtype in (torch.int64, torch.int16, torch.bool, torch.complex64):
        refused = t.read(t.saved((torch.ones(20, 3, 4).to(dtype), labels)), (3, 4), 5)
        name = str(dtype).removeprefix("torch.")
        t.suite.check(f"{dtype} refused", not isinstance(refused, tuple) and f"inputs are {name}" in refused.err, refused)


def half_precision_whole(t):
    """Every number that float16 and bfloat16 have."""
    labels = t.classes(256, 5)
    for dtype in (torch.float16, torch.bfloat16):
        inputs = torch.arange(65536, dtype=torch.int32).to(torch.uint16).view(dtype).reshape(256, 256)
        got = t.read(t.saved((inputs, labels)), (256,), 5)
        t.suite.check(str(dtype), isinstance(got, tuple) and
                      numpy.array_equal(got[0], inputs.float().numpy(), equal_nan=True), got)


def targets(t):
    inputs = t.bytes(40, 6)
    for positions, classes in ((1, 10), (4, 36)):
        labels = t.classes(40, classes, positions)
        hot = torch.nn.functional.one_hot(labels, classes)
        soft = torch.softmax(t.floats(40, positions, classes), 2)
        forms = {f"{dtype}": labels.to(dtype) for dtype in INTEGERS}
        forms |= {f"one-hot {dtype}": hot.to(dtype) for dtype in (*FLOATS, *INTEGERS, torch.bool)}
        forms |= {"one-hot flat": hot.float().reshape(40, -1)}
        for name, form in forms.items():
            t.same(f"{positions} of {classes}, {name}", t.saved((inputs, form)), inputs, labels, classes)
        for dtype in FLOATS:
            told = soft.to(dtype)
            t.same(f"{positions} of {classes}, soft {dtype}", t.saved((inputs, told)), inputs, told.argmax(2), classes)


def layouts(t):
    labels = t.classes(30, 36, 4)
    for name, inputs in {"bytes": t.bytes(30, 3, 56, 24), "floats": torch.rand(30, 3, 56, 24, generator=t.random)}.items():
        for how, given in {
            "as it is": inputs,
            "channels_last": inputs.contiguous(memory_format=torch.channels_last),
            "H, W, C": inputs.permute(0, 3, 2, 1).contiguous(),
            "H, W, C as a view": inputs.permute(0, 3, 2, 1),
            "C, H, W": inputs.transpose(2, 3).contiguous(),
        }.items():
            t.same(f"{name}, {how}", t.saved((given, labels)), inputs, labels, 36)


def views(t):
    whole = t.bytes(60, 10, 8)
    labels = t.classes(60, 10)
    for name, (inputs, told) in {
        "a slice": (whole[20:30], labels[20:30]),
        "every second": (whole[::2], labels[::2]),
        "columns": (whole[:, 3:7, 2:5], labels),
        "samples last": (whole.permute(1, 2, 0).contiguous().permute(2, 0, 1), labels),
        "expanded": (whole[:1].expand(9, 10, 8), labels[:1].expand(9, 1)),
        "one storage for both": (whole.reshape(60, 80)[:, :79], whole.reshape(60, 80)[:, 79:] % 10),
    }.items():
        t.same(name, t.saved((inputs, told)), inputs, told, 10)


def folders(t):
    folder = t.path()
    folder.mkdir()
    inputs, labels = t.bytes(33, 6), t.classes(33, 10)
    for i in range(11):
        part = slice(3 * i, 3 * i + 3)
        torch.save((inputs[part], labels[part]), folder / f"validating_set.{i}.pt")
    for step in (1, 2, 100):
        t.same(f"steps of {step}", folder, inputs, labels, 10, split="validating", step=step)
    (folder / "validating_set.4.pt").unlink()
    gap = t.read(folder, (6,), 10, split="validating")
    t.suite.check("a gap", not isinstance(gap, tuple) and "no file validating_set.4.pt" in gap.err, gap)


def numpy_archives(t):
    inputs, labels = t.bytes(20, 28, 28), t.classes(20, 10)
    for save in (numpy.savez, numpy.savez_compressed):
        for names in (("images", "labels"), ("x_test", "y_test"), ("x", "y")):
            save(path := t.path(".npz"), **dict(zip(names, (inputs.numpy(), labels[:, 0].numpy()))))
            t.same(f"{save.__name__}, {names[0]}", path, inputs.reshape(20, 784), labels, 10)
    numpy.savez(path := t.path(".npz"), images=numpy.asfortranarray(inputs.numpy()), labels=labels.numpy().astype(">i4"))
    t.same("columns first, big-endian", path, inputs.reshape(20, 784), labels, 10)


def safetensors_files(t):
    inputs, labels = t.bytes(20, 28, 28), t.classes(20, 10)
    for names in (("images", "labels"), ("inputs", "targets"), ("x", "y")):
        save_file(dict(zip(names, (inputs, labels[:, 0].contiguous()))), path := t.path(".safetensors"))
        t.same(f"safetensors, {names[0]}", path, inputs.reshape(20, 784), labels, 10)


def shared_sets(t):
    mnist = SHARED / "corpus/datasets/mnist"
    if not mnist.exists():
        t.suite.skip("MNIST", f"no {mnist}")
    else:
        images = numpy.frombuffer(gzip.open(mnist / "t10k-images-idx3-ubyte.gz").read()[16:], "u1").reshape(-1, 784)
        labels = numpy.frombuffer(gzip.open(mnist / "t10k-labels-idx1-ubyte.gz").read()[8:], "u1").reshape(-1, 1)
        t.same("MNIST", mnist, torch.from_numpy(images.copy()), torch.from_numpy(labels.copy()), 10, step=999)
    for name in ("captcha_testing_set.0.pt", "testing_set.0.pt"):
        path = SHARED / "reference" / name
        if not path.exists():
            t.suite.skip(name, f"no {path}")
            continue
        inputs, hot = torch.load(io.BytesIO(gzip.open(path).read()), weights_only=True)
        t.same(name, path, inputs, hot.reshape(-1, 4, 36).argmax(2), 36)


GROUPS = [containers, input_dtypes, half_precision_whole, targets, layouts, views, folders, numpy_archives, safetensors_files, shared_sets]


def main():
    options = harness.parse(harness.parser(__doc__.split("\n")[0]))
    suite = harness.Suite()
    for group in GROUPS:
        with harness.temporary_folder() as folder, suite.group(group.__name__.replace("_", " ")):
            group(Sets(suite, harness.Ckpt(options.ckpt), folder))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
