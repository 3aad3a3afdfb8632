"""What lies beside checkpoints: word lists, lines of Python, raw numbers, compressed files. Some begin as pickles do and are none;
of others only their names say that somebody may load them."""

import gzip
import lzma
import zlib

import tar_attacks
from attack import Attack, Outcome
from forge import Part, archive, call, mapping, name, program, safetensors, stack_name, text
from scan_cases import EVIL, OLD, WHOLE, harmless, hit, plain

SKIPPED = "1 skipped"


def reached():
    """torch's, numpy's and Python's own functions under other modules' names, and packages that come with torch and run code."""
    for module, member in (
        ("safetensors.torch", "torch.fx.graph_module._exec_with_source"),
        ("torchvision.transforms", "functional.torch.fx.graph_module._exec_with_source"),
        ("safetensors.numpy", "np.f2py.crackfortran.myeval"),
        ("mylab.layers", "nn.modules.module.torch.hub.load"),
        ("mylab.threads", "_thread.start_new_thread"),
        ("filelock", "import_module"),
        ("mpmath.libmp.backend", "exec_"),
        ("mpmath", "identify"),
        ("mylab.backend", "exec_"),
        ("mylab.jobs", "Popen"),
        ("typing_extensions", "evaluate_forward_ref"),
        ("triton.runtime.build", "compile_module_from_src"),
    ):
        yield from plain(f"reached-{module}-{member}", call(stack_name(module, member), text("x")), f"dangerous: {module}.{member}, called", 4)
    yield Attack("scan-nested-class.pkl", program(call(stack_name("mylab.nets", "Net.Block.config")), 4), {"scan": Outcome(0, "unknown: mylab.nets.Net.Block.config")})
    # Python's own unpickler in Python imports before it misses a mark.
    yield Attack("scan-inst-without-a-mark.pkl", b"imylab\nx\n", {"scan": Outcome(3, "unknown: mylab.x")})
    yield from hit("inst-of-python-without-a-mark.pkl", b"iantigravity\nx\n", "dangerous: antigravity.x")


def texts():
    """In a folder they are skipped, and in an archive they are no pickle. Where it calls something, a text may be one."""
    lines = {
        "labels.txt": b"cat\ndog\nbird\n",
        "verbs.txt": b"cast\nlog\n",
        "shells.txt": b"csh\nbash\n",
        "colours.txt": b"cyan\nblue\ngreen\n",
        "images.txt": b"image\nlabel\n",
        "requirements.txt": b"click\nflask\n",
        "settings.txt": b"config: a\nb: c\n",
        "greek.txt": "cα\nβ\n".encode(),
        "editable.pth": b"import os; var = 'X'; os.environ.get(var)",
        "finder.pth": b"import __editable___finder; __editable___finder.install()\n",
    }
    for title, content in lines.items():
        yield from harmless(f"folder-with-{title}", {title: content, "m.pt": WHOLE}, SKIPPED)
        yield from harmless(f"zip-with-{title}.zip", archive([Part(title, content), Part("m.pt", WHOLE)]))
        yield from harmless(f"tar-with-{title}.tar", tar_attacks.tar(tar_attacks.member(title.encode(), content), tar_attacks.member(b"m.pt", WHOLE)))
    yield from hit("text-that-calls.txt", OLD)
    yield from hit("words-called-a-pickle.pkl", b"cposix\nsystem\n", "dangerous: posix.system")


def numbers():
    """Raw ones, such as a tokenizer's output: names that are no text, and keys of a memo that are no number."""
    for title, data in (("name", b"c\xe9\x07\n\xff\x01\n"), ("key", b"g\x12\x34\n\x00\x01")):
        yield from harmless(f"folder-with-numbers-as-a-{title}", {"train.bin": data + bytes(range(256)), "m.pt": WHOLE}, SKIPPED)
    yield from hit("odd-key-of-a-memo.pkl", b"I1\np 7\n0g_7\n.", "dangerous: (memo)")


def packed_otherwise():
    """Whoever loads from a folder goes by names: what is no text, and is called a pickle, is not passed over."""
    broken = bytearray(gzip.compress(OLD, mtime=0))
    broken[3] |= 2  # a checksum of the header, which Python does not compare
    broken[10:10] = b"\0\0"
    filters = [{"id": lzma.FILTER_LZMA1, "lc": 0, "lp": 2, "pb": 0}]
    small = zlib.compressobj(9, zlib.DEFLATED, 10)
    for title, data in (
        ("m.pkl.gz", bytes(broken)),
        ("m.pkl.xz", lzma.compress(OLD, lzma.FORMAT_ALONE, filters=filters)),
        ("m.lzma", lzma.compress(EVIL, lzma.FORMAT_ALONE)),
        ("m.pkl", small.compress(OLD) + small.flush()),
        ("m.joblib", b"\1\2\3" * 20),
    ):
        yield Attack(f"scan-folder-with-{title}", {title: data, "w.safetensors": safetensors()}, {"scan": Outcome(3, "1 unreadable")})
    for title, data in (("notes.gz", gzip.compress(b"notes of a run\n")), ("m.pt", b"version https://git-lfs.github.com/spec/v1\n"), ("train.bin", b"\1\2\3" * 20)):
        yield from harmless(f"folder-with-{title}", {title: data, "w.safetensors": safetensors()}, SKIPPED)


def everyday():
    """What scripts save beside their weights."""
    version = name("torch.torch_version", "TorchVersion") + text("2.11.0") + b"\x85\x81"
    yield from harmless("version.pkl", program(mapping(("torch", version))))
    subset = name("torch.utils.data.dataset", "Subset") + b")\x81" + mapping(("indices", b"]")) + b"b"
    yield Attack("scan-subset.pkl", program(subset), {"scan": Outcome(0, "unknown: torch.utils.data.dataset.Subset")})


GROUPS = (reached, texts, numbers, packed_otherwise, everyday)
