"""The ways in which PyTorch saves an object, and in which it is loaded again."""

import contextlib
import gzip
import io
import itertools
import warnings
import zipfile
from unittest import mock

import torch

warnings.filterwarnings("ignore")


class Way:
    """One way of saving: `name`, and options of torch.save."""

    def __init__(self, name, protocol=2, legacy=False, packed=False):
        self.name, self.protocol, self.legacy, self.packed = name, protocol, legacy, packed

    @property
    def suffix(self):
        return ".pt.gz" if self.packed else ".pt"

    def save(self, obj, path):
        """False where PyTorch itself cannot save the object this way."""
        buffer = io.BytesIO()
        try:
            torch.save(
                obj,
                buffer if self.packed else path,
                pickle_protocol=self.protocol,
                _use_new_zipfile_serialization=not self.legacy,
            )
        except Exception:
            return False
        if self.packed:
            with gzip.GzipFile(path, "wb", compresslevel=1) as out:
                out.write(buffer.getvalue())
        return True


ZIP, LEGACY = Way("zip"), Way("legacy", legacy=True)
WAYS = [
    ZIP,
    Way("zip, protocol 3", 3),
    Way("zip, protocol 4", 4),
    Way("zip, protocol 5", 5),
    Way("gzip", packed=True),
    LEGACY,
    Way("legacy, protocol 4", 4, legacy=True),
    Way("legacy, gzip", legacy=True, packed=True),
]


@contextlib.contextmanager
def tagged(*devices):
    """While this lasts, storages are saved as lying on these devices in turn."""
    turn = itertools.cycle(devices)
    known = {}

    def location(storage):
        key = getattr(storage, "_untyped_storage", storage)._cdata
        if key not in known:
            known[key] = next(turn)
        return known[key]

    with mock.patch.object(torch.serialization, "location_tag", location):
        yield


class Failed:
    def __init__(self, error):
        self.error = error

    def __repr__(self):
        return f"{type(self.error).__name__}: {self.words()}"

    def words(self):
        """The last thing that torch says of its reasons, below the advice."""
        text = str(self.error).partition("\n\nCheck the documentation")[0].strip()
        return text.splitlines()[-1][-250:] if text else ""


def load(path, **options):
    """What torch.load gives, or Failed. The files are this test's own."""
    try:
        if str(path).endswith(".gz"):
            with gzip.GzipFile(path, "rb") as file:
                return torch.load(io.BytesIO(file.read()), **options)
        return torch.load(path, **options)
    except Exception as error:
        return Failed(error)


def locations(path, **options):
    """The location tags, in the order in which they are asked for."""
    seen = []

    def note(storage, tag):
        seen.append(tag)
        return storage

    loaded = load(path, map_location=note, weights_only=False, **options)
    return seen if not isinstance(loaded, Failed) else loaded


def big_endian(source, target, dtypes):
    """A copy of a zip as a big-endian machine would have written it; `dtypes`: of each storage, by key."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            name = info.filename.partition("/")[2]
            if name == "byteorder":
                data = b"big"
            elif name.startswith("data/"):
                data = swapped(data, dtypes[name.removeprefix("data/")])
            new.writestr(zipfile.ZipInfo(info.filename, (1980, 1, 1, 0, 0, 0)), data)


def swapped(data, dtype):
    size = torch.empty(0, dtype=dtype).element_size() // (2 if dtype.is_complex else 1)
    return b"".join(data[i : i + size][::-1] for i in range(0, len(data), size))
