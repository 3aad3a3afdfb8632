"""What lies beside checkpoints: word lists, lines of Python, raw numbers, compressed files. Some begin as pickles do and are none;
of others only their names say that somebody may load them."""

import gzip
import lzma
import pickle
import struct
import zlib

import tar_attacks
from attack import Attack, Outcome
from forge import MAGIC, Part, archive, call, legacy, mapping, name, npy, program, safetensors, stack_name, storage, tensor, text, torch_zip
from scan_cases import EVIL, GOOD, OLD, WHOLE, harmless, hit, plain, unjudged

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
        ("networkx.lazy_imports", "attach"),
        ("cuda.pathfinder", "load_nvidia_dynamic_lib"),
        ("torchvision.models._api", "load_state_dict_from_url"),
        ("mylab.tools", "methodcaller"),
    ):
        yield from plain(f"reached-{module}-{member}", call(stack_name(module, member), text("x")), f"dangerous: {module}.{member}, called", 4)
    yield Attack("scan-nested-class.pkl", program(call(stack_name("mylab.nets", "Net.Block.config")), 4), {"scan": Outcome(0, "unknown: mylab.nets.Net.Block.config")})
    # Python's own unpickler in Python imports before it misses a mark.
    yield Attack("scan-inst-without-a-mark.pkl", b"imylab\nx\n", {"scan": Outcome(3, "unknown: mylab.x")})
    yield from hit("inst-of-python-without-a-mark.pkl", b"iantigravity\nx\n", "dangerous: antigravity.x")


def without_calls():
    """BUILD gives a module the method that the next one calls."""
    patch = b"cos\nsys\n(dS'__setstate__'\ncos\nsystem\nsbS'true'\nb"
    for title, data in (
        ("alone.txt", patch),
        ("folder", {"weights": patch, "m.pt": WHOLE}),
        ("zip.zip", archive([Part("weights", patch), Part("m.pt", WHOLE)])),
        ("tar.tar", tar_attacks.tar(tar_attacks.member(b"weights", patch), tar_attacks.member(b"m.pt", WHOLE))),
    ):
        yield from hit(f"patched-module-{title}", data, "dangerous: os.s")
    yield from hit("longer-path.txt", b"csys\npath\nS'/tmp'\nacevilmod\nx\n", "dangerous: sys.path")


def odd_attributes():
    """What answers to any attribute has one with blanks in it, too."""
    for module, member in (("unittest.mock", "call.a b.__init__.__builtins__.get"), ("torch", "ops.é.__init__.__builtins__.get")):
        code = call(stack_name(module, member), text("eval"))
        said = f"dangerous: {module}.{member}"
        yield from hit(f"odd-attribute-of-{module}.pkl", program(code, 4), said)
        yield from hit(f"odd-attribute-of-{module}-without-a-stop", program(code, 4)[:-1], said)
        yield from hit(f"odd-attribute-of-{module}.pt", torch_zip(more=[Part("r/extra", program(code, 4))]), said)
    header = b'{"w":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}'
    code = b"\nV" + b"unittest.mock\nV" + b"call.a b.__init__.__builtins__.get\n\x93V" + b"eval\n\x85R."
    length = 0x560280  # as "PROTO 2, UNICODE" begins
    data = code.ljust(64)
    whole = struct.pack("<Q", length) + (header % (len(data), len(data))).ljust(length) + data
    yield from hit("safetensors-and-a-pickle.safetensors", whole, "dangerous: unittest.mock.call.a b")


def numbers_by_name_alone():
    """What stands under data/ is loaded where no torch reads the archive."""
    for title, code in (("without-a-stop", OLD[:-1]), ("late", b"N0" * 40_000 + OLD)):
        for form, data in (
            ("zip.zip", archive([Part("x/data/0", code), Part("w.npy", npy())])),
            ("tar.tar", tar_attacks.tar(tar_attacks.member(b"x/data/0", code), tar_attacks.member(b"m.pt", WHOLE))),
            ("package.pt", archive([Part("p/.data/extern_modules", b""), Part("p/.data/version", b"1"), Part("p/data.pkl", GOOD), Part("p/data/0", code)])),
        ):
            yield from hit(f"numbers-by-name-alone-{title}-{form}", data)


def behind_forged_ends():
    """A ZIP64 record without the locator in front of the end that every reader goes by; a tar's member that is shorter than the
    archive that begins in it."""
    evil = archive([Part("data.pkl", EVIL)])
    entries = evil.index(b"PK\1\2")
    end = bytearray(evil[-22:])
    comment = b"PK\6\6" + b"\x7f" * 72
    directory = bytearray(evil[entries:-22]) + comment
    directory[32:34] = struct.pack("<H", len(comment))
    end[12:16] = struct.pack("<I", len(directory))
    forged = evil[:entries] + bytes(directory) + bytes(end)
    for title, front in (("safetensors", safetensors()), ("nothing", b""), ("text", b"no pickle\n")):
        yield from hit(f"forged-zip64-behind-{title}.x", front + forged)
    short = bytearray(tar_attacks.tar(tar_attacks.member(b"w.safetensors", safetensors()), tar_attacks.member(b"b.txt", b"P")))
    whole = bytes(short[: len(short) - 1024])
    at = len(whole) - 512
    zipped = archive([Part("data.pkl", EVIL, local_extra=bytes(2000))], shift=at)
    yield from hit("zip-behind-a-member-that-is-shorter.tar", whole[:at] + zipped)


def behind_a_locator_that_leads_nowhere():
    """miniz, by which torch.jit.load and torch.package read, goes by the narrow record then."""
    front = safetensors()
    data = bytearray(archive([Part("data.pkl", EVIL)], before=front))
    entries, end = data.index(b"PK\1\2"), data.rindex(b"PK\5\6")
    assert struct.unpack("<I", data[end + 16 : end + 20])[0] == entries
    wide = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 0, 0, 1 << 60, 5) + struct.pack("<IIQI", 0x07064B50, 0, 0, 1)
    yield from hit("archive-behind-a-bogus-zip64-end.x", bytes(data[:end]) + wide + bytes(data[end:]))


def of_legacy_files_elsewhere():
    """torch.load reads a file of before 1.6 from where a stream stands, and compares the number that it begins with."""
    first, number = legacy(), pickle.dumps(MAGIC, 2)
    rest = first[len(number) :] + legacy(EVIL)
    yield from hit("legacy-behind-a-number-as-text.pth", b"L%dL\n." % MAGIC + rest)
    yield from unjudged("legacy-behind-an-idle-number.pth", number[:2] + b"N0" + number[2:] + rest, "unreadable: what a file of PyTorch's before 1.6 begins with")
    made = program(call(name("decimal", "Decimal"), text(str(MAGIC))))
    yield from unjudged("legacy-behind-a-number-that-is-made.pth", made + rest, "unreadable: what stands behind 5 pickles")
    # Its storages are none of those that it has; to torch they are whatever stands in memory.
    without = legacy(keys=pickle.dumps([], 2), data=b"")[len(number) :]
    for title, before in (("idle-number", b"N0"), ("far-number", b"X" + struct.pack("<I", 5000) + b"a" * 5000 + b"0"), ("number-behind-a-name", name("collections", "OrderedDict") + b"0")):
        yield from unjudged(f"legacy-without-storages-{title}.pth", number[:2] + before + number[2:] + without, "unreadable: what ")
    yield from harmless("pickles-in-a-row.pkl", GOOD * 7)
    yield from hit("legacy-behind-a-pickle-and-a-legacy.pth", GOOD + first + legacy(EVIL))
    yield from hit("pickle-behind-a-pickle-and-a-legacy.pth", GOOD + first + EVIL)
    yield from harmless("legacy-behind-a-pickle.pth", GOOD + first)


def of_names_in_capitals():
    """miniz finds a member in any case of letters."""
    four = {"0": b"\5\6\7\x08"}
    data = torch_zip(program(mapping(("w", tensor(storage(elements=1024), (1024,))))), four).replace(b"/data.pkl", b"/DATA.PKL")
    yield from unjudged("a-short-storage-in-capitals.pt", data, "unreadable: ")


def spelt_as_python_2():
    """From protocol 3 on, __builtin__ is a file's name like any other."""
    yield from hit("python-2-names-in-protocol-4.pkl", program(stack_name("__builtin__", "object") + b")\x81", 4), "dangerous: __builtin__.object")
    twice = b"\x80\2" + name("__builtin__", "set") + b"0\x80\4" + name("__builtin__", "set") + b")R."
    yield from hit("python-2-names-in-protocol-2-and-then-4.pkl", twice, "dangerous: __builtin__.set")
    yield from harmless("python-2-names-in-protocol-2.pkl", program(name("__builtin__", "object") + b")\x81"))


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
    odd = lzma.compress(OLD, lzma.FORMAT_ALONE, filters=[{"id": lzma.FILTER_LZMA1, "lc": 2, "dict_size": 1 << 20}])
    small = zlib.compressobj(9, zlib.DEFLATED, 10)
    for title, data in (
        ("m.pkl.gz", bytes(broken)),
        ("m.pkl.xz", lzma.compress(OLD, lzma.FORMAT_ALONE, filters=filters)),
        ("archive.tar", tar_attacks.tar(tar_attacks.member(b"w", safetensors()), tar_attacks.member(b"m.pkl", odd))),
        ("m.lzma", lzma.compress(EVIL, lzma.FORMAT_ALONE)),
        ("weights", b"\x5c" + bytes(4) + b"\xff" * 8 + bytes(20)),  # lzma's least dictionary
        ("m.pkl", small.compress(OLD) + small.flush()),
        ("m.joblib", b"\1\2\3" * 20),
    ):
        yield Attack(f"scan-folder-with-{title}", {title: data, "w.safetensors": safetensors()}, {"scan": Outcome(3, "1 unreadable")})
    for title, data in (("notes.gz", gzip.compress(b"notes of a run\n")), ("m.pt", b"version https://git-lfs.github.com/spec/v1\n"), ("train.bin", b"\1\2\3" * 20)):
        yield from harmless(f"folder-with-{title}", {title: data, "w.safetensors": safetensors()}, SKIPPED)


def packed_of_a_known_size():
    """liblzma reads them, of any properties, in front of an archive that is harmless."""
    for title, properties, dictionary in (("no-bits", (0, 0, 0), 1 << 16), ("four-bits", (4, 0, 0), 1 << 16), ("usual", (2, 0, 2), 1 << 23), ("of-a-byte", (3, 0, 2), 1)):
        of = dict(zip(("lc", "lp", "pb"), properties))
        data = lzma.compress(EVIL, lzma.FORMAT_ALONE, filters=[{"id": lzma.FILTER_LZMA1, "dict_size": max(dictionary, 4096), **of}])
        data = data[:1] + struct.pack("<Iq", dictionary, len(EVIL)) + data[13:]
        yield from unjudged(f"lzma-of-a-known-size-{title}.pkl", data + WHOLE, "this is an lzma file")
        yield from unjudged(f"lzma-of-a-known-size-{title}.zip", archive([Part("r/data.pkl", GOOD), Part("r/x.joblib", data)]), "this is an lzma file")
    for title, numbers in (("q", (5, 9, 1, 0, 7, 2)), ("i", (2, 0, 4, 0, 0, 0, 3, 1)), ("h", (5, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0))):
        yield from harmless(f"folder-with-numbers-{title}", {"train.bin": struct.pack(f"<{len(numbers)}{title}", *numbers), "m.pt": WHOLE}, SKIPPED)


def oddly_spelt():
    """Behind a pickle, what imports is run by a loader that goes on, whatever comes of it."""
    for title, code in (("bracket", b"cm(1\nz\n0"), ("nothing", b"cevilmod\n\n0\xff"), ("inst", b"(ievilmod\n\n\xff"), ("proto", b"\x80\2cevilmod\n\n\xff")):
        yield from hit(f"oddly-spelt-{title}.pkl", GOOD + code, "dangerous: ")
        yield from hit(f"oddly-spelt-{title}.zip", archive([Part("x.pkl", GOOD + code), Part("y.pkl", GOOD)]), "dangerous: ")


def everyday():
    """What scripts save beside their weights."""
    version = name("torch.torch_version", "TorchVersion") + text("2.11.0") + b"\x85\x81"
    yield from harmless("version.pkl", program(mapping(("torch", version))))
    subset = name("torch.utils.data.dataset", "Subset") + b")\x81" + mapping(("indices", b"]")) + b"b"
    yield Attack("scan-subset.pkl", program(subset), {"scan": Outcome(0, "unknown: torch.utils.data.dataset.Subset")})


GROUPS = (reached, without_calls, odd_attributes, numbers_by_name_alone, behind_forged_ends, behind_a_locator_that_leads_nowhere, of_legacy_files_elsewhere, of_names_in_capitals, spelt_as_python_2, texts, numbers, packed_otherwise, packed_of_a_known_size, oddly_spelt, everyday)
