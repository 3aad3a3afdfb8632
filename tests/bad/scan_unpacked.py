"""What is harmless where it lies, and is loaded as a folder once its archive is unpacked."""

import gzip

import tar_attacks
from forge import Part, archive, safetensors, torch_zip
from scan_cases import EVIL, GOOD, MODULE, OF_MODULE, harmless, hit, unjudged


def packed(files):
    """The same files as a tar, a tar in gzip and a zip."""
    tar = tar_attacks.tar(*(tar_attacks.member(path.encode(), content) for path, content in files.items()))
    return {"tar": tar, "tar.gz": gzip.compress(tar, mtime=0), "zip": archive([Part(path, content) for path, content in files.items()])}


def packages():
    """PackageImporter reads folders."""
    for folder in ("", "r/", "deep/one/r/"):
        for form, data in packed({folder + ".data/extern_modules": b"os\n", folder + "argparse.py": MODULE, folder + "model/model.pkl": OF_MODULE}).items():
            yield from hit(f"unpacked-package-{folder.count('/')}.{form}", data, "dangerous: (torch.package).(code)")
    for form, data in packed({"r/extern_modules": b"os\n", "r/argparse.py": MODULE, "r/model/model.pkl": OF_MODULE}).items():
        yield from harmless(f"unpacked-python.{form}", data)


def distributed():
    """Its metadata says where among others' numbers a pickle begins."""
    numbers = torch_zip(data={"0": bytes(64) + torch_zip(EVIL)})
    for title, path in (("", "d/.metadata"), ("-at-the-root", ".metadata"), ("-of-a-rank", "d/__0.metadata")):
        for form, data in packed({path: GOOD, "d/__0_0.distcp": numbers, "w.safetensors": safetensors()}).items():
            yield from unjudged(f"unpacked-distributed{title}.{form}", data, "this says where pickles begin within others")
    for title, path, content in (("-of-another-name", "d/x.metadata", GOOD), ("-that-is-a-text", "d/.metadata", b"version: 1\n")):
        yield from harmless(f"unpacked-metadata{title}.zip", packed({path: content, "m.pt": torch_zip()})["zip"])


GROUPS = (packages, distributed)
