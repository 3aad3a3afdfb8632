"""The lies of zip_attacks.py and zip_header_attacks.py, told of numpy's archives and of TorchScript's."""

import zip_attacks
import zip_header_attacks
from attack import fine, refused
from forge import Part, archive, npy
from script_attacks import script_parts
from zip_attacks import Kind


def arrays():
    return [Part(f"{name}.npy", npy()) for name in "abc"]


NPZ, SCRIPT = Kind("npz", ".npz", arrays), Kind("torchscript", ".pt", script_parts)


def attacks():
    for kind in (NPZ, SCRIPT):
        yield from zip_attacks.beside(kind)
        yield from zip_header_attacks.of(kind)
    folded = [*script_parts(), Part("r/DATA/0", b"x")]
    yield SCRIPT.attack("case-folded", archive(folded), refused("equal but for case"))
    # To numpy they are two names, as of two variables.
    yield NPZ.attack("case-folded", archive([*arrays(), Part("A.npy", npy())]), fine("4 tensors"))
