"""Where ckpt and a format's own library do not both read a file, and why that is right. docs/trust.md shows it."""

from dataclasses import dataclass


@dataclass
class Difference:
    reader: str  # who reads it: "ckpt" or "library"
    words: str  # what the other one says, a regular expression
    why: str


ARCHIVE = "an archive that contradicts itself: PyTorch looks at the directory alone"
STRANGE_ID = "an id that no torch.save writes: with map_location PyTorch does not look"
NOT_TAKEN = "a name or an opcode that weights_only does not take: ckpt shows it and runs nothing"
CALL = "a call that fails in Python: ckpt calls nothing"
CODE = "TorchScript whose code does not compile: to ckpt it is text, and it is passed on"

OF_TORCH = [
    Difference("library", r"the bytes have CRC-32", "PyTorch compares no CRC"),
    Difference("library", r"in the (local header|data descriptor) of|no (local header|data descriptor)|member '.*' (has flags|lies on disk|overlaps)", ARCHIVE),
    Difference("library", r"after the last record|reaches (into the directory|past the end of the file)|a directory (record )?of", ARCHIVE),
    Difference("library", r"before the first member|the end record|equal but for case|extra field", ARCHIVE),
    Difference("library", r"is (encrypted|compressed by method)", ARCHIVE),
    Difference("library", r"is a (symbolic link|device, pipe or socket|folder of)", "a member that is no file: PyTorch does not look"),
    Difference("library", r"the archive has no member '.*version'", "an archive without the version that torch.save writes"),
    Difference("library", r"which the list of keys lacks", "a legacy storage that the file does not hold: PyTorch leaves its memory unset"),
    Difference("library", r"the file counts \d+ elements", "a legacy storage of another size than the pickle says: PyTorch takes either"),
    Difference("library", r"list of keys names storage|by the list of storage keys", "a list of storage keys that is not the object's"),
    Difference("library", r"reaches element \d+", "a tensor past its storage: PyTorch shows what stands in memory there"),
    Difference("library", r"named once as", "one storage under two dtypes or sizes: PyTorch takes the first"),
    Difference("library", r"location that is no string|storage class that is no name|a key that is no string", STRANGE_ID),
    Difference("library", r"storage class '|persistent id", STRANGE_ID),
    Difference("library", r"pickle protocol \d+, expected 0 to 5", "a protocol that does not exist: PyTorch does not look"),
    Difference("library", r"member 'byteorder' says", "a byte order that does not exist"),
    Difference("library", r"bytes, expected \d+, as the pickle says", "a storage longer than the pickle says: PyTorch ignores the rest"),
    Difference("library", r"is called with|is given arguments that are no tuple", "arguments that torch.save never writes"),
    Difference("library", r"sys_info is no dict", "a legacy file without its sys_info"),
    Difference("library", r"FRAME of", "a frame that ends behind the pickle"),
    Difference("library", r"stands for \d+ bytes", "a view that stands for far more bytes than there are: a cap of digest"),
    Difference("ckpt", r"Unsupported (global|class|operand)|Trying to call reduce|persistent_load|not in the allowlist", NOT_TAKEN),
    Difference("ckpt", r"Can only (SETITEMS?|append|build|extend|create)", NOT_TAKEN),
    Difference("ckpt", r"positional argument|arguments? .*given|combination of arguments|expected at most", CALL),
    Difference("ckpt", r"takes (no|exactly)|missing \d+|not callable|not a type object|(not enough|too many) values", CALL),
    Difference("ckpt", r"object is not|no attribute|out of range|unhashable", CALL),
    Difference("ckpt", r"unknown encoding|codec|must be|cannot be interpreted|not (subscriptable|iterable)|an integer is required", CALL),
    Difference("ckpt", r"unexpected keyword|has wrong type|dictionary update|not supported between|can require gradients", CALL),
    Difference("ckpt", r"AssertionError: expected dict, got", CALL),
    Difference("ckpt", r"device type|Expected one of|Invalid device|don't know how to restore", "a device that this machine has not"),
]

# What PyTorch refuses of sound files with weights_only=True, and ckpt reads: (what it is, what PyTorch says, why that is right).
BY_DESIGN = [
    ("torch, pickle protocols 4 and 5", r"Unsupported operand \d+", "Python's own opcodes: what they make is as much data as that of protocol 2"),
    ("torch-tar", r"weights_only=True.*tar", "its pickles are read by the same machine, which calls nothing"),
    ("torchscript", r"weights_only=True.*TorchScript", "its tensors are data beside code, which is text to ckpt"),
]

OF_LIBRARIES = [
    Difference("library", r"member 'sys_info'", "a tar file's sys_info: PyTorch does not read it"),
    Difference("library", r"behind the last (storage|tensor)", "bytes behind the last one that is counted: PyTorch does not look"),
    Difference("library", r"member '.*': \d+ elements, expected less than", "a count past 2^64 bytes: PyTorch goes on with what is left of it"),
    Difference("library", r"comes twice, expected each key once", "an index that names a tensor twice: Python's json takes the last"),
    Difference("library", r"no chunk holds the element", "chunks that leave a part of a tensor out: DCP leaves its memory unset"),
    Difference("library", r"begins at byte \d+ of the data, expected a multiple", "a tensor that is not aligned: ggml refuses it, its Python library does not look"),
    Difference("library", r"the array has \d+ bytes, expected", "bytes behind an array: numpy does not look"),
    Difference("ckpt", r"not looked up: ", "a name that no file of the library's calls for: ckpt shows it and looks none up"),
    Difference("ckpt", r"Serialized File|Unknown type|expected a valid token|Unexpected (statement|token)|Expected PROTO", CODE),
    Difference("ckpt", r"^RuntimeError:$", CODE),  # and of words that are no UTF-8 nothing is left
    Difference("ckpt", r"failed locating file constants.pkl|class constant|INTERNAL ASSERT|at\(\) was not in the map", CODE),
    Difference("ckpt", r"state is not a dictionary", CALL),
    Difference("ckpt", r"Ran out of input", "a tar file whose storages end without their list of views: ckpt warns of it"),
    Difference("ckpt", r"codec can't decode", "a text that is no UTF-8, which ckpt shows with escapes"),
    *OF_TORCH,
]
