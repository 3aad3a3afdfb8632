"""What `recover` is tried on: a checkpoint, the places of its tensors in the files that PyTorch makes of it, and what must come back."""

import collections
import gzip
import io
import struct
import zipfile
import zlib

import torch
from equal import differences

WHOLE, SOME, NONE = 0, 1, 3


def sample():
    """A trainer's file; no two tensors hold the same bytes."""
    torch.manual_seed(7)
    model = collections.OrderedDict()
    for i in range(4):
        model[f"layer{i}.weight"] = torch.randn(6 + i, 11)
        model[f"layer{i}.bias"] = torch.randn(6 + i)
    model["tied"] = model["layer0.weight"]
    model["view"] = model["layer1.weight"][2:, ::2]
    model["steps"] = torch.tensor(12345)
    model["wide"] = torch.randn(300, 7, dtype=torch.float64)
    return {
        "epoch": 3,
        "model": model,
        "several": [torch.randn(5), ("a", torch.randn(9)), "z"],
        "optimizer": {"state": {0: {"step": 1, "exp_avg": torch.randn(13)}}, "param_groups": [{"lr": 0.1}]},
        "note": "last",
    }


def tensors(value, path=()):
    """{name: tensor}, by the names that ckpt gives them."""
    if isinstance(value, torch.Tensor):
        return {".".join(path): value}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    return {name: t for key, item in items for name, t in tensors(item, (*path, str(key))).items()}


def without(value, lost, path=()):
    """What is to be written: entries of lost tensors are gone, elsewhere None takes their place."""
    gone = lambda key: ".".join((*path, str(key))) in lost
    if isinstance(value, dict):
        kept = ((k, without(v, lost, (*path, str(k)))) for k, v in value.items() if not gone(k))
        return type(value)(kept)
    if isinstance(value, (list, tuple)):
        return type(value)(None if gone(i) else without(v, lost, (*path, str(i))) for i, v in enumerate(value))
    return value


def saved(obj, legacy=False):
    buffer = io.BytesIO()
    torch.save(obj, buffer, _use_new_zipfile_serialization=not legacy)
    return buffer.getvalue()


def repacked(data, method=zipfile.ZIP_STORED, wide=False, check=True):
    """The zip as another program writes it: sizes in local headers, no records but the version."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w", method) as archive:
        for name in source.namelist():
            if name.endswith(("/data.pkl", "/version")) or "/data/" in name:
                with archive.open(zipfile.ZipInfo(name), "w", force_zip64=wide) if wide else archive.open(name, "w") as f:
                    f.write(source.read(name))
    return out.getvalue() if check else unchecked(out.getvalue())


def unchecked(data):
    """The same without checksums, as torch writes it with compute_crc32=False: every CRC-32 is 0."""
    data = bytearray(data)
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        at = archive.start_dir
        for member in archive.infolist():
            data[member.header_offset + 14 : member.header_offset + 18] = bytes(4)
            data[at + 16 : at + 20] = bytes(4)
            at += 46 + sum(struct.unpack_from("<HHH", data, at + 28))
    return bytes(data)


def places(data, obj):
    """{name: (begin, end)} of each tensor's storage in the file."""
    found = {}
    for name, tensor in tensors(obj).items():
        content = bytes(tensor.untyped_storage())
        begin = data.find(content)
        assert begin >= 0 and data.find(content, begin + 1) < 0, name
        found[name] = begin, begin + len(content)
    return found


def members(data):
    """(name, header, data, end) of each member of a zip."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            name, extra = struct.unpack_from("<HH", data, member.header_offset + 26)
            begin = member.header_offset + 30 + name + extra
            yield member.filename, member.header_offset, begin, begin + member.compress_size


# Of a stream that is cut, ISA-L gives up to two bytes less than zlib: it looks symbols up by three.
ISAL_KEEPS = 2


def inflated(packed):
    """How much of a cut gzip file there is."""
    return len(zlib.decompressobj(31).decompress(packed))


def loaded(path):
    packed = path.read_bytes()[:2] == b"\x1f\x8b"
    with gzip.open(path) if packed else path.open("rb") as file:
        return torch.load(file, weights_only=True)


class Sample:
    def __init__(self, checks, obj):
        self.checks, self.suite, self.obj = checks, checks.suite, obj
        self.tensors = tensors(obj)
        self.source, self.out = checks.path(".pt"), checks.path(".pt")

    def recover(self, name, data, code, *options):
        self.source.write_bytes(data)
        self.out.unlink(missing_ok=True)
        done = self.checks.ckpt("recover", self.source, self.out, "--json", *options)
        self.suite.check(f"{name}: exit {code}", done.code == code, done)
        if code in (WHOLE, SOME):
            self.suite.check(f"{name}: there is an output", self.out.exists(), done)
        else:
            self.suite.check(f"{name}: there is no output", not self.out.exists(), done)
        return done

    def told(self, done):
        """Names of tensors that are whole."""
        return {t["name"] for t in done.json["tensors"] if t["survival"] == "whole"} if done.out else set()

    def check(self, name, data, whole, *options, possible=frozenset()):
        """Exactly `whole` is said to be whole, and written; each of `possible` may be."""
        lost = set(self.tensors) - whole
        done = self.recover(name, data, NONE if not whole else SOME if lost else WHOLE, *options)
        if whole and self.out.exists():
            whole = whole | (possible & self.told(done))
            lost = set(self.tensors) - whole
            self.suite.equal(f"{name}: what is whole", self.told(done), whole, done)
            found = differences(without(self.obj, lost), loaded(self.out))
            self.suite.check(f"{name}: what is written", not found, lambda: "\n".join(found))

    def check_equal(self, name, done):
        """What was written is as it was saved, whatever is missing. Returns its names."""
        got = tensors(loaded(self.out))
        for key, tensor in got.items():
            good = key in self.tensors and torch.equal(tensor, self.tensors[key])
            self.suite.check(f"{name}: {key} is as it was", good, done)
        return set(got)


def whole_until(place, cut):
    return {name for name, (_, end) in place.items() if end <= cut}
