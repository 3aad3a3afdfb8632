"""What the groups that run `ckpt eval` share: the samples that ship, files to make, and how it ended."""

import csv
import gzip
import io
import struct

import torch
from harness import ROOT

SHARED = ROOT.parent / "shared"
REFERENCE = SHARED / "reference"
MNIST = SHARED / "corpus" / "datasets" / "mnist"
CAPTCHAS = SHARED / "corpus" / "datasets" / "captcha"
DIGITS_MODEL = ROOT / "samples" / "digits" / "fnn_digits_dp.pt.gz"  # keys with module., tags cuda:0
DIGITS = ROOT / "samples" / "digits" / "digits_test.pt.gz"
CAPTCHA_MODEL = ROOT / "samples" / "captcha" / "captcha_resnet.pt.gz"
CAPTCHA_SET = ROOT / "samples" / "captcha" / "testing_set.0.pt"
DONE, NO, USAGE, INPUT, UNAVAILABLE, OUTPUT = 0, 1, 2, 3, 5, 6
OF_EACH_RUN = ("seconds", "samples_per_second", "memory")  # what of --json is never the same twice


def loaded(path):
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return torch.load(io.BytesIO(data), weights_only=True, map_location="cpu")


def saved(t, value, packed=False, name=None, **options):
    path = t.folder / name if name else t.path(".pt")
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    path.write_bytes(gzip.compress(buffer.getvalue(), 1) if packed else buffer.getvalue())
    return path


def digits_state():
    """The sample's weights with plain keys on the CPU."""
    return {key.removeprefix("module."): value for key, value in loaded(DIGITS_MODEL).items()}


def write_idx(path, array, packed=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()
    path.write_bytes(gzip.compress(data, 1) if packed else data)


def result(t, name, model, data, *options, **how):
    """What --json says; None, and a failure, where it did not end well."""
    done = t.ckpt("eval", model, "--data", data, "--json", *options, **how)
    return done.json if t.suite.check(f"{name}: exit 0", done.code == DONE, done) else None


def counts(found):
    """What must be the same however the samples lay and were divided."""
    return found and {key: found[key] for key in ("samples", "correct", "not_finite", "per_class", "data_digest", "digest")}


def rows(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def ends(t, name, done, code, *phrases):
    """It ended with `code`, and said all of `phrases` somewhere."""
    said = done.text + done.err
    missing = [phrase for phrase in phrases if phrase not in said]
    t.suite.check(name, done.code == code and not missing, lambda: f"expected exit {code} and {missing}\n{done}")
