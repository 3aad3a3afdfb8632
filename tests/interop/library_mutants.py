"""Damaged files of every format that PyTorch's own test in mutants.py does not make: where the format's library and
ckpt both read one, both have read the same; where one of them refuses, the reason is one that somebody has looked at.

Nothing that is unpickled here finds a name but those that the undamaged files call for.
"""

import contextlib
import io
import pickle
import random
import re
import sys
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import differences
import harness
import numpy
import torch
import torch_worker
from mutants import Tally, digests, inspected, unlike
from mutating import saved
from torch.distributed.checkpoint.metadata import _MEM_FORMAT_ENCODING

sys.path.insert(1, str(harness.ROOT / "tests" / "formats"))
import libraries  # noqa: E402

SEED = 20241122
COUNT = 400  # of each format
NUMBERS = (0, 1, 2, 3, 4, 7, 8, 16, 64, 127, 128, 255, 256, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 64) - 1)


def tensors(library):
    """Small, so that changes meet what describes them."""
    if library.name == "npy":
        return {"": torch.arange(6.0).reshape(2, 3)}
    shared = {
        "fc.weight": torch.arange(6.0).reshape(2, 3),
        "ids": torch.tensor([5, -7]),
        "f16": torch.arange(3.0).half(),
        "bytes": torch.arange(5, dtype=torch.uint8),
    }
    if library.name == "gguf":
        del shared["bytes"]
    return dict(sorted(shared.items(), key=lambda item: "." in item[0]))  # a module's own before its children's


class Mutator:
    """Changes files where it hurts, and puts right what would stop a reader at the door."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def place(self, data):
        """More often near the beginning, where the headers are."""
        reach = len(data) if self.random.random() < 0.5 else min(len(data), 300)
        return self.random.randrange(reach) if reach else 0

    def flip(self, data):
        at = self.place(data)
        return data[:at] + bytes([data[at] ^ 1 << self.random.randrange(8)]) + data[at + 1 :]

    def digit(self, data):
        places = [i for i, byte in enumerate(data) if 0x30 <= byte <= 0x39]
        if not places:
            return self.flip(data)
        at = self.random.choice(places)
        return data[:at] + b"%d" % self.random.randrange(10) + data[at + 1 :]

    def letter(self, data):
        places = [i for i, byte in enumerate(data) if 0x41 <= byte <= 0x7A]
        if not places:
            return self.flip(data)
        at = self.random.choice(places)
        return data[:at] + bytes([self.random.randrange(0x20, 0x7F)]) + data[at + 1 :]

    def number(self, data):
        width = self.random.choice((1, 2, 4, 8))
        at = self.place(data)
        value = self.random.choice(NUMBERS) % (1 << 8 * width)
        return (data[:at] + value.to_bytes(width, self.random.choice(("little", "big"))) + data[at + width :])[: max(len(data), 1)]

    def cut(self, data):
        return data[: self.place(data)]

    def drop(self, data):
        at = self.place(data)
        return data[:at] + data[at + self.random.randint(1, 9) :]

    def double(self, data):
        at = self.place(data)
        end = at + self.random.randint(1, 40)
        return data[:end] + data[at:end] + data[end:]

    def bytes(self, data):
        if not data:
            return b"\0"
        for _ in range(self.random.choice((1, 1, 1, 1, 2))):
            kinds = [self.flip, self.digit, self.letter, self.number] * 3 + [self.cut, self.drop, self.double]
            data = self.random.choice(kinds)(data) or b"\0"
        return data

    def one_of(self, members):
        """Of {name: bytes} one changed, taken away or doubled; what is small and says much is changed most."""
        name = self.random.choice(list(members))
        kind = self.random.random()
        if kind < 0.9:
            members[name] = self.bytes(members[name])
        elif kind < 0.95:
            del members[name]
        else:
            members[name + self.random.choice(("", "2", "/x"))] = members[name]
        return members

    def zip(self, data):
        """A member changed, its checksum right; or the container itself."""
        if self.random.random() < 0.2:
            return self.bytes(data)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {info.filename: archive.read(info) for info in archive.infolist()}
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, content in self.one_of(members).items():
                archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
        return out.getvalue()

    def tar(self, data):
        if self.random.random() < 0.2:
            return self.bytes(data)
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            members = {info.name: archive.extractfile(info).read() for info in archive}
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, content in self.one_of(members).items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
        return out.getvalue()

    def safetensors(self, data):
        if self.random.random() < 0.4:
            return self.bytes(data)
        size = int.from_bytes(data[:8], "little")
        header = self.bytes(data[8 : 8 + size])
        return len(header).to_bytes(8, "little") + header + data[8 + size :]

    def change(self, library, data):
        if library.name in ("npz", "torchscript"):
            return self.zip(data)
        return {"torch-tar": self.tar, "safetensors": self.safetensors}.get(library.name, self.bytes)(data)


# What the undamaged files call for.
NAMES = {
    "collections": ("OrderedDict",),
    "numpy": ("dtype", "ndarray"),
    "numpy._core.multiarray": ("_reconstruct", "scalar"),
    "numpy._core.numeric": ("_frombuffer",),
    "torch": ("FloatStorage", "LongStorage", "HalfStorage", "ByteStorage", "FloatTensor", "LongTensor", "HalfTensor", "ByteTensor", "Size"),
    "torch._utils": ("_rebuild_tensor_v2",),
    "torch.serialization": ("_get_layout",),
    "torch.distributed.checkpoint.metadata": (
        "Metadata", "TensorStorageMetadata", "TensorProperties", "ChunkStorageMetadata", "MetadataIndex", "_MEM_FORMAT_ENCODING", "StorageMeta"),
    "torch.distributed.checkpoint.filesystem": ("_StorageInfo",),
    "pathlib": ("PosixPath",),
}


ENUMS = (_MEM_FORMAT_ENCODING,)


class Unpickler(pickle.Unpickler):
    def refuse(self, what):
        raise pickle.UnpicklingError(f"not looked up: {what}")

    def member(self, kind, name):
        if kind not in ENUMS:
            self.refuse(f"{kind}.{name}")
        if name not in kind.__members__:
            raise AttributeError(f"{kind} has no attribute {name}")
        return kind[name]

    def find_class(self, module, name):
        if (module, name) == ("torch.storage", "_load_from_bytes"):
            return lambda data: torch.load(io.BytesIO(data), pickle_module=CAREFUL, weights_only=False)
        if (module, name) == ("builtins", "getattr"):  # as Debian 12's Python pickles an enum's member
            return self.member
        if module == "torch" and isinstance(found := getattr(torch, name, None), (torch.dtype, torch.layout)):
            return found
        if name not in NAMES.get(module, ()):
            self.refuse(f"{module}.{name}")
        return super().find_class(module, name)


CAREFUL = SimpleNamespace(
    Unpickler=Unpickler,
    UnpicklingError=pickle.UnpicklingError,
    load=lambda file, **how: Unpickler(file, **how).load(),
    __name__="pickle",
)


def native(array):
    return torch.from_numpy(numpy.asarray(array, dtype=array.dtype.newbyteorder("=")))


def load(library, path):
    """As libraries.py loads it, but that nothing damaged is unpickled as it likes."""
    if library.name == "torch-tar":
        return torch.load(path, pickle_module=CAREFUL, weights_only=False)
    if library.name == "pickle":
        with path.open("rb") as file:
            return CAREFUL.load(file)
    if library.name == "npz":
        with numpy.load(path, allow_pickle=False) as arrays:
            listed = [name for name in arrays.files if f"{name}.npy" in arrays.zip.namelist()]  # others ckpt leaves, and says so
            return {name: native(arrays[name]) for name in listed}
    if library.name == "npy":
        return {"": native(numpy.load(path, allow_pickle=False))}
    if library.name == "dcp":
        from torch.distributed.checkpoint import filesystem

        filesystem.pickle = CAREFUL
        with (path / ".metadata").open("rb") as file:
            CAREFUL.load(file)  # which says what is wrong with it, where DCP says that there is none
    return library.load(path)


def read(library):
    def one(path):
        try:
            found = load(library, path)
        except Exception as error:
            return {"refused": torch_worker.reason(error)}
        except BaseException as error:  # of torch.distributed: the cause is the last line
            return {"refused": str(error).strip().splitlines()[-1]}
        return torch_worker.listed(found)

    return one


def saved_alike(library, base):
    """Saved as in any other run, so that each run makes the same mutants: no address stands in it, no random id, no folder."""
    by_key = mock.patch.object(torch.TypedStorage, "__reduce__", lambda of: (torch.storage._load_from_bytes, (saved(of, legacy=True),)))
    by_id = mock.patch("torch.distributed.checkpoint.filesystem._generate_uuid", return_value="0" * 36)
    with by_key, by_id, contextlib.chdir(base.parent):
        library.save(tensors(library), Path(base.name))


def changed(library, mutator, base, path):
    """One more file or folder."""
    if base.is_dir():
        path.mkdir()
        members = {file.name: file.read_bytes() for file in sorted(base.iterdir())}
        name = mutator.random.choice([*members, *[name for name in members if "metadata" in name or "json" in name] * 3])
        members[name] = mutator.safetensors(members[name]) if name.endswith(".safetensors") else mutator.bytes(members[name])
        for name, content in members.items():
            (path / name).write_bytes(content)
    else:
        path.write_bytes(mutator.change(library, base.read_bytes()))
    return path


def differential(checks):
    """Mutants of files that each format's own library wrote, read by it and by ckpt."""
    both = 0
    tried = [library for library in libraries.ALL if library.name not in ("torch", "torch-legacy")]
    for library in tried:
        mutator = Mutator(SEED)
        base = checks.folder / f"{library.name}{library.suffix}"
        saved_alike(library, base)
        folder = checks.folder / f"mutants-{library.name}"
        folder.mkdir()
        paths = [changed(library, mutator, base, folder / f"{i:04}{library.suffix}") for i in range(COUNT)]
        theirs = torch_worker.load_all(paths, read(library))
        ours = inspected(checks.ckpt, paths)
        tally = Tally(checks.suite, differences.OF_LIBRARIES, library.library, ordered=not base.is_dir(),
                      lists_more=library.name == "torchscript")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda row: tally.compare(checks.ckpt, *row), zip(paths, theirs, ours)))
        tally.report(library.name, len(paths))
        both += tally.counts["both read"]
    checks.suite.figure("interop.other-formats", len(tried))
    checks.suite.figure("interop.mutants-of-them", COUNT * len(tried))
    checks.suite.figure("interop.of-them-read-by-both", both)


def by_design(checks):
    """Sound files that torch.load(weights_only=True) refuses and ckpt reads, as torch itself reads what was saved here."""
    by_name = {library.name: library for library in libraries.ALL}
    for what, words, _ in differences.BY_DESIGN:
        library = by_name[what.split(",")[0]]
        for protocol in (4, 5) if "protocols" in what else (None,):
            path = checks.path(library.suffix)
            if protocol:
                torch.save(tensors(library), path, pickle_protocol=protocol)
            else:
                library.save(tensors(library), path)
            theirs = torch_worker.load(path)
            checks.suite.check(f"{what}: PyTorch refuses it", re.search(words, theirs.get("refused", "")), theirs)
            truth = torch_worker.listed(torch.load(path, weights_only=False) if protocol else library.load(path))["tensors"]
            [ours] = inspected(checks.ckpt, [path])
            problem = unlike(truth, ours["tensors"], digests(checks.ckpt, path)) if isinstance(ours, dict) else ours
            checks.suite.check(f"{what}: ckpt reads it", problem is None, problem)


GROUPS = [by_design, differential]
