"""What one target keeps, in the form in which another reads it."""

import contextlib
import io
import pickle
import random
import re
import struct
import sys
import zipfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS / "data"), str(TESTS / "bad")]
from forge import call, legacy, name, program  # noqa: E402
from other_formats import tar  # noqa: E402
from scan_cases import octets  # noqa: E402

LARGEST = 20_000  # bytes of an input: everything that has a place in a checkpoint, many times


def zip_members(content):
    """Name and bytes of each that Python reads: fuzzing has made them."""
    members = []
    with contextlib.suppress(Exception), zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            with contextlib.suppress(Exception):
                if member.file_size <= LARGEST:
                    members.append((member.filename, archive.read(member)))
    return members


def pickles_of(members):
    return [data for name, data in members if name.endswith(".pkl")]


def legacies(content, members):
    """The file before PyTorch 1.6 that has it for its object, and those of a zip's pickles: alone and beside their storages,
    whose ids say that they are no view."""
    for code in (content, *pickles_of(members)):
        yield legacy(code, keys=pickle.dumps([], 2), data=b"")
    for name, data in members:
        folder, _, file = name.rpartition("/")
        if file != "data.pkl":
            continue
        at = f"{folder}/data/"
        storages = {name.removeprefix(at): held for name, held in members if name.startswith(at)}
        counted = (struct.pack("<q", len(held) // 4) + held for held in storages.values())  # most are float32
        code = re.sub(rb"t((?:q.|r.{4})?Q)", rb"Nt\1", data, flags=re.DOTALL)
        yield legacy(code, keys=pickle.dumps(list(storages), 2), data=b"".join(counted))


def tars(content, members):
    """An archive around it, and PyTorch 0.1's that have it, or a zip's pickles, for their objects."""
    yield tar([("model", content)])
    nothing = pickle.dumps(0, 2)
    for code in (content, *pickles_of(members)):
        yield tar([("pickle", code), ("tensors", nothing), ("storages", nothing + pickle.dumps([], 2))])


def in_bytes(content):
    """A pickle that has torch load the file out of bytes, as those of storages that were pickled do."""
    return program(call(name("torch.storage", "_load_from_bytes"), octets(content)), 3)


def own_forms(target, content):
    """What another target keeps, as this one reads files of any format."""
    if target == "program":
        yield random.randbytes(1) + content
        return
    yield content
    if target == "plain_pickle":
        yield in_bytes(content)
    if target in ("plain_pickle", "torchscript"):
        yield from pickles_of(zip_members(content))
    elif target == "torch_legacy":
        yield from legacies(content, zip_members(content))
    elif target == "torch_tar" and content[257:262] != b"ustar":
        yield from tars(content, zip_members(content))
