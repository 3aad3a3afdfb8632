"""Ways to reach code from a file, whether or not a format's reader would take it: `ckpt scan` must name each. And what
looks like one and is none."""

import gzip
import lzma
import pickle
import struct
import zlib

import dcp_attacks
import gguf_attacks
import tar_attacks
from attack import Attack, Outcome
from forge import (
    FLOATS,
    MAGIC,
    SYSTEM as SYSTEM_INFO,
    Part,
    archive,
    call,
    legacy,
    many,
    mapping,
    name,
    npy,
    npz,
    number,
    program,
    safetensors,
    stack_name,
    storage,
    tensor,
    text,
    torch_parts,
    torch_zip,
)

SYSTEM = name("os", "system")
ECHO = text("echo this must never run > ran")
CALL = call(SYSTEM, ECHO)
OLD = b"cos\nsystem\n(S'echo this must never run > ran'\ntR."  # in protocol 0
EVIL = program(CALL)
GOOD = program(mapping(("w", number(1))))
WHOLE = torch_zip()


def hit(title, data, said="dangerous: os.system"):
    yield Attack(f"scan-{title}", data, {"scan": Outcome(1, said)})


def harmless(title, data, said=": safe"):
    yield Attack(f"scan-good-{title}", data, {"scan": Outcome(0, said)})


def unjudged(title, data, said):
    yield Attack(f"scan-{title}", data, {"scan": Outcome(3, said)})


def plain(title, code, said="dangerous: os.system", protocol=2):
    yield from hit(f"{title}.pkl", program(code, protocol), said)


def short(value):
    return b"\x8c" + bytes([len(value)]) + value


def octets(data):
    return b"B" + struct.pack("<I", len(data)) + data


def protocols():
    """The same call as each protocol spells it; what announces a protocol binds nobody to it."""
    bodies = {
        0: b"cos\nsystem\np0\n(S'true'\np1\ntp2\nRp3\n.",
        1: b"cos\nsystem\nq\0(U\x04trueq\1tq\2Rq\3.",
        2: b"\x80\2cos\nsystem\nq\0X\4\0\0\0trueq\1\x85q\2Rq\3.",
        3: b"\x80\3cos\nsystem\nq\0C\4trueq\1\x85q\2Rq\3.",
        4: b"\x80\4\x95\x1d\0\0\0\0\0\0\0\x8c\2os\x94\x8c\6system\x94\x93\x94\x8c\4true\x94\x85\x94R\x94.",
        5: b"\x80\5\x95\x1d\0\0\0\0\0\0\0\x8c\2os\x94\x8c\6system\x94\x93\x94\x8c\4true\x94\x85\x94R\x94.",
    }
    for protocol, code in bodies.items():
        yield from hit(f"protocol-{protocol}.pkl", code, "os.system, called (" + ("STACK_" if protocol > 3 else "") + "GLOBAL, REDUCE)")
        yield from plain(f"stack-global-announced-as-{protocol}", call(short(b"os") + short(b"system") + b"\x93", ECHO), protocol=protocol)


def opcodes():
    """Each opcode that imports, that calls, and that lets what was made run a method of its own."""
    for title, code, how in (
        ("global", SYSTEM, "imported (GLOBAL)"),
        ("global-reduce", CALL, "called (GLOBAL, REDUCE)"),
        ("stack-global", call(stack_name("os", "system"), ECHO), "called (STACK_GLOBAL, REDUCE)"),
        ("inst", b"(" + ECHO + b"ios\nsystem\n", "called (INST)"),
        ("obj", b"(" + SYSTEM + ECHO + b"o", "called (GLOBAL, OBJ)"),
        ("newobj", SYSTEM + many(ECHO) + b"\x81", "called (GLOBAL, NEWOBJ)"),
        ("newobj-ex", SYSTEM + many(ECHO) + b"}\x92", "called (GLOBAL, NEWOBJ_EX)"),
        ("build", SYSTEM + b")R}b", "called (GLOBAL, REDUCE, BUILD)"),
        ("build-on-the-name", SYSTEM + b"}b", "imported (GLOBAL, BUILD)"),
        ("setstate", name("mylab", "Net") + b")\x81" + CALL + b"b", "called (GLOBAL, REDUCE)"),
    ):
        yield from plain(f"opcode-{title}", code, f"dangerous: os.system, {how}")
    for title, code in (("ext1", b"\x82\x07"), ("ext2", b"\x83\x07\0"), ("ext4", b"\x84\x07\0\0\0")):
        yield from plain(title, call(code, ECHO), f"copyreg.extension.7, called ({title.upper()}, REDUCE)")
    yield from plain("reconstructor", call(name("copyreg", "_reconstructor"), SYSTEM, name("builtins", "object"), b"N"))
    yield from plain("binpersid", many(text("storage"), CALL, text("0")) + b"Q")
    yield from hit("persid-then.pkl", b"Psome id\n0" + OLD)
    chain = call(name("builtins", "getattr"), call(name("builtins", "__import__"), text("os")), text("system"))
    yield from plain("reduce-of-reduce", call(chain, ECHO), "dangerous: builtins.__import__, called")
    yield from plain("computed-name", call(name("builtins", "str"), text("os")) + text("system") + b"\x93", "dangerous: (computed).system")
    yield from plain("factory", call(name("collections", "defaultdict"), SYSTEM), "imported (GLOBAL)")


def memos():
    """Names made of what was put aside, or spelt so that a search for them finds nothing."""
    strings = b"\x8c\2os\x940\x8c\6system\x940"
    yield from plain("memo-binget", call(strings + b"h\0h\1\x93", ECHO), protocol=4)
    yield from plain("memo-get", call(b"V\\u006fs\np5\n0Vsystem\np7\n0g5\ng7\n\x93", ECHO))
    yield from plain("memo-long", call(text("os") + b"r\xff\xff\xff\xff0" + text("system") + b"r\xfe\xff\xff\xff0j\xff\xff\xff\xffj\xfe\xff\xff\xff\x93", ECHO))
    yield from plain("memo-name-fetched", SYSTEM + b"q\0" + b"0h\0" + many(ECHO) + b"R")
    yield from plain("memo-put-twice", text("json") + b"q\0" + b"0" + text("os") + b"q\0" + b"0h\0" + text("system") + b"\x93")
    yield from plain("dup", text("timeit") + b"2\x93" + many(ECHO) + b"R", "dangerous: timeit.timeit")
    yield from plain("unicode-escapes", b"V\\u006f\\u0073\nV\\U00000073\\u0079stem\n\x93" + many(ECHO) + b"R")
    yield from plain("string-escapes", b"S'\\x6fs'\nS\"\\163ystem\"\n\x93" + many(ECHO) + b"R")
    yield from plain("string-spaces", b"S'os' \t\nS'system'\r\n\x93" + many(ECHO) + b"R")
    yield from plain("binstring", b"U\2osT\6\0\0\0system\x93" + many(ECHO) + b"R")
    yield from plain("binunicode8", b"\x8d\2\0\0\0\0\0\0\0os\x8d\6\0\0\0\0\0\0\0system\x93" + many(ECHO) + b"R")
    yield from plain("dotted", text("torch.serialization") + text("os.system") + b"\x93", "torch.serialization.os.system")


def leniencies():
    """What Python's unpickler takes and no object graph can say: a payload behind it runs."""
    for title, before in (
        ("int-hexadecimal", b"I0x10\n0"),
        ("int-underscores", b"I1_000\n0"),
        ("int-blanks", b"I 5 \n0"),
        ("long-underscores", b"L1_0L\n0"),
        ("put-signed", b"Np+5\n0"),
        ("setitem-on-a-list", b"]Na" + number(0) + b"Ns0"),
        ("append-on-a-bytearray", b"\x96\0\0\0\0\0\0\0\0" + number(1) + b"a0"),
        ("build-of-none", b"]Nb0"),
        ("out-of-band-buffer", b"\x97\x980"),
        ("odd-items", b"}(Nu0"),
        ("mark-popped", b"(0"),
        ("marks-left", b"(((N"),
        ("proto-again", b"\x80\2\x80\4"),
        ("frame-of-nothing", b"\x95" + bytes(8)),
        ("frame-in-a-frame", b"\x95\xff\0\0\0\0\0\0\0\x95\1\0\0\0\0\0\0\0"),
        ("frame-past-the-end", b"\x95" + b"\xff" * 8),
    ):
        yield from plain(f"behind-{title}", before + CALL, protocol=5)


def results_thrown_away():
    weights = mapping(("w", number(1)))
    yield from plain("popped", CALL + b"0" + weights)
    yield from plain("popped-to-mark", b"(" + CALL + b"1" + weights)
    yield from plain("left-on-the-stack", CALL + weights)
    yield from plain("within-a-mark", b"(" + CALL + b"(" + weights)
    yield from plain("as-a-key", b"}" + CALL + b"Ns")
    yield from plain("in-a-set", b"\x8f(" + CALL + b"\x90", protocol=4)


def broken_tails():
    """What comes before a break has run by then."""
    start = b"\x80\2" + CALL
    for title, tail in (
        ("nothing", b""),
        ("a-cut-operand", b"X\xff\0\0\0abc"),
        ("no-opcode", b"\xff"),
        ("an-empty-stack", b"000"),
        ("no-memo", b"h\x63"),
        ("protocol-6", b"\x80\6."),
        ("a-lying-length", b"\x8e" + b"\xff" * 8),
        ("no-literal", b"S'\n."),
        ("a-call-of-a-number", b"K\1)R."),
        ("text", b"\nand so on"),
    ):
        yield from hit(f"then-{title}.pkl", start + tail)
        yield from hit(f"then-{title}.pt", archive([Part("r/data.pkl", start + tail), Part("r/version", b"3\n")]))
    yield from hit("then-a-cut-file.pt", torch_zip(start)[:90])
    yield from hit("then-a-cut-gzip.pkl.gz", gzip.compress(EVIL + bytes(100_000), mtime=0)[:-20])
    yield from hit("then-a-bad-checksum.pkl.gz", gzip.compress(EVIL, mtime=0)[:-8] + bytes(8))


def behind():
    """More pickles than one, and much in front."""
    yield from hit("second-pickle.pkl", GOOD + EVIL)
    yield from hit("second-of-protocol-0.pkl", GOOD + OLD)
    yield from hit("pickle-1500.pkl", b"N." * 1500 + EVIL)
    yield from hit("second-with-the-first-memo.pkl", b"\x80\2" + text("os") + b"q\0" + text("system") + b"q\1\x86." + b"h\0h\1\x93.", "dangerous: (computed).(computed)")
    yield from hit("after-a-mebibyte-of-instructions.pkl", b"N0" * (1 << 19) + OLD)
    yield from hit("after-a-mebibyte-of-text.pkl", program(octets(bytes(1 << 20)) + b"0" + CALL))
    yield from hit("after-a-mebibyte-in-a-member.zip", archive([Part("weights", b"N0" * (1 << 19) + OLD)]))
    yield from hit("after-a-mebibyte-deflated.zip", archive([Part("weights", b"N0" * (1 << 19) + OLD, deflate=True)]))


def nested():
    """Pickles in texts that a call is given: the call is dangerous by itself, and what it would load is named too."""
    inner = "in bytes for "
    for module, member in (("pickle", "loads"), ("_pickle", "loads"), ("cPickle", "loads"), ("dill", "loads"), ("torch.storage", "_load_from_bytes")):
        said = f"os.system, called (GLOBAL, REDUCE), at byte {len(module) + len(member) + 13}, {inner}{module}.{member}"
        yield from plain(f"nested-{module}", call(name(module, member), octets(EVIL)), said)
    load = name("torch.storage", "_load_from_bytes")
    yield from plain("nested-legacy", call(load, octets(legacy(EVIL))))
    yield from plain("nested-zip", call(load, octets(torch_zip(EVIL))), f"{inner}torch.storage._load_from_bytes: member 'r/data.pkl'")
    yield from plain("nested-encoded", call(load, call(name("_codecs", "encode"), text(legacy(EVIL).decode("latin1")), text("latin1"))))
    yield from plain("nested-bytearray", call(load, b"\x96" + struct.pack("<Q", len(EVIL)) + EVIL), protocol=5)
    yield from plain("nested-string", call(name("pickle", "loads"), b"S'" + OLD.replace(b"'", b"\\'").replace(b"\n", b"\\n") + b"'\n"))
    yield from plain("nested-in-nested", call(name("pickle", "loads"), octets(program(call(name("pickle", "loads"), octets(EVIL))))))
    yield from plain("nested-by-inst", b"(" + octets(EVIL) + b"ipickle\nloads\n")
    yield from plain("nested-by-obj", b"(" + name("pickle", "loads") + octets(EVIL) + b"o")
    stream = call(name("_io", "BytesIO"), octets(EVIL))
    yield from plain("nested-in-a-stream", call(name("pickle", "load"), stream))
    yield from plain("loader-given-away", many(load, call(load, octets(legacy()))), "dangerous: torch.storage._load_from_bytes")
    yield from plain("loader-of-a-computed-text", call(load, call(name("builtins", "bytes"), text("x"))), "dangerous: torch.storage._load_from_bytes")
    yield from plain("loader-kept", load + b"q\0" + b"0" + call(b"h\0", octets(legacy())) + b"h\0\x86", "dangerous: torch.storage._load_from_bytes")
    deep = legacy()
    for _ in range(10):
        deep = legacy(program(call(load, octets(deep)), 3))
    yield from hit("nested-10-deep.pkl", program(call(load, octets(deep))), "dangerous: torch.storage._load_from_bytes")


def zips():
    """A pickle in a member of any name, and archives that readers read differently."""
    for member in ("r/data.pkl", "r/DATA.PKL", "Data.Pkl", "weights", "r/data", "r/version", "r/data/0", "r/.data/serialization_id", "r/extra/x",
                   "r/code/__torch__.py.debug_pkl", "r/constants.pkl", "r/bytecode.pkl", ".metadata", "r/notes.txt", "data.pkl/", "../data.pkl", "r\\data.pkl"):
        data = archive([*torch_parts(GOOD), Part(member, EVIL)])
        yield from hit(f"member-{member.replace('/', '_')}.pt", data)
    for title, code in (("ext1", b"\x82\x07"), ("ext2", b"\x83\x07\0"), ("ext4", b"\x84\x07\0\0\0")):
        yield from hit(f"member-{title}.pt", torch_zip(GOOD, more=[Part("r/x", call(code, ECHO) + b".")]), "dangerous: copyreg.extension.7")
    yield from hit("member-of-protocol-0.pt", torch_zip(GOOD, more=[Part("r/x", OLD)]))
    yield from hit("member-behind-an-odd-name.pt", torch_zip(GOOD, more=[Part("r/x", b"c81d243bd2c585b0f4821__mypyc\nx\n0" + OLD)]))
    for title, code in (("ext1", b"\x82\x07"), ("ext2", b"\x83\x07\0"), ("ext4", b"\x84\x07\0\0\0")):
        yield from hit(f"storage-{title}.pt", archive([*torch_parts(GOOD), Part("r/data/0", program(call(code, ECHO)))]), "dangerous: copyreg.extension.7")
        yield from hit(f"second-pickle-{title}.pkl", GOOD + call(code, ECHO) + b".", "dangerous: copyreg.extension.7")
    yield from hit("storage-of-protocol-0.pt", archive([*torch_parts(GOOD), Part("r/data/0", OLD)]))
    yield from hit("deflated.pt", archive([Part("r/data.pkl", EVIL, deflate=True), Part("r/version", b"3\n")]), "of member 'r/data.pkl'")
    yield from hit("in-place.pt", torch_zip(EVIL), f"at byte {30 + len('r/data.pkl') + 2}, in member 'r/data.pkl'")
    two = [Part("r/data.pkl", GOOD), Part("r/data.pkl", EVIL), Part("r/version", b"3\n")]
    yield from hit("two-pickles.pt", archive(two))
    yield from hit("two-pickles-turned.pt", archive(two[::-1]))
    yield from hit("two-roots.pt", archive([*torch_parts(GOOD), *torch_parts(EVIL, root="s")]))
    for title, part in (
        ("another-local-name", Part("r/data.pkl", EVIL, local_name="r/data.txt")),
        ("another-listed-name", Part("r/readme", EVIL, local_name="r/data.pkl")),
        ("another-local-method", Part("r/data.pkl", EVIL, local_method=8)),
        ("another-listed-method", Part("r/data.pkl", EVIL, method=8, local_method=0)),
        ("deflated-called-stored", Part("r/data.pkl", EVIL, deflate=True, local_method=0)),
        ("another-method", Part("r/data.pkl", EVIL, method=99)),
        ("another-local-size", Part("r/data.pkl", EVIL, local_size=1)),
        ("a-wrong-checksum", Part("r/data.pkl", EVIL, crc=7)),
        ("called-encrypted", Part("r/data.pkl", EVIL, flags=1)),
        ("strange-flags", Part("r/data.pkl", EVIL, flags=0x8000)),
        ("a-link", Part("r/data.pkl", EVIL, attributes=0o120777 << 16)),
        ("on-another-disk", Part("r/data.pkl", EVIL, disk=1)),
        ("an-offset-outside", Part("r/data.pkl", EVIL, offset=1 << 30)),
    ):
        yield from hit(f"zip-{title}.pt", archive([part, Part("r/version", b"3\n")]))
    unlisted = archive([Part("r/data.pkl", EVIL)])
    unlisted = unlisted[: unlisted.index(b"PK\1\2")]
    yield from hit("zip-unlisted-first.pt", archive(torch_parts(GOOD), before=unlisted))
    first, second = torch_parts(GOOD)
    second.gap = unlisted
    yield from hit("zip-unlisted-between.pt", archive([first, second]))
    last = torch_parts(GOOD)
    last[-1].after = unlisted
    yield from hit("zip-unlisted-last.pt", archive(last))
    yield from hit("zip-behind.pt", torch_zip(GOOD, after=EVIL))
    yield from hit("zip-before.pt", EVIL + WHOLE)
    yield from hit("zip-behind-a-pickle.pt", GOOD + torch_zip(EVIL), "in archive at byte ")
    yield from hit("zip-behind-a-pickle-and-listed-so.pt", torch_zip(EVIL, before=GOOD))
    yield from hit("zip-before-and-listed-so.pt", torch_zip(GOOD, before=EVIL))
    yield from hit("zip-directory-cut.pt", torch_zip(EVIL)[:-30])
    yield from hit("zip-zip64.pt", torch_zip(EVIL, zip64=True))
    yield from hit("zip-in-zip.zip", archive([Part("model.pt", torch_zip(EVIL))]), "in member 'model.pt': member 'r/data.pkl'")
    yield from hit("zip-in-zip-deflated.zip", archive([Part("model.pt", torch_zip(EVIL), deflate=True)]))
    yield from hit("two-zips.distcp", WHOLE + torch_zip(EVIL))
    yield from hit("torchscript.pt", archive([*torch_parts(GOOD), Part("r/constants.pkl", EVIL), Part("r/code/__torch__.py", b"class A:\n")]))


def other_containers():
    member, tar = tar_attacks.member, tar_attacks.tar
    yield from hit("gzip.pkl.gz", gzip.compress(EVIL, mtime=0), "at byte 2 of gzip")
    yield from hit("gzip-of-a-zip.pt", gzip.compress(torch_zip(EVIL), mtime=0), "of gzip, in gzip: member 'r/data.pkl'")
    yield from hit("gzip-of-two-members.pkl.gz", gzip.compress(GOOD, mtime=0) + gzip.compress(EVIL, mtime=0))
    yield from hit("gzip-in-gzip.pkl", gzip.compress(gzip.compress(EVIL, mtime=0), mtime=0), "gzip: gzip")
    yield from unjudged("gzip-three-deep.pkl", gzip.compress(gzip.compress(gzip.compress(EVIL))), "gzip within gzip within gzip")
    yield from hit("gzip-in-a-zip.zip", archive([Part("w.gz", gzip.compress(EVIL, mtime=0))]))
    yield from hit("tar.tar", tar(member(b"readme", b"hello"), member(b"w.bin", EVIL)), "member 'w.bin'")
    yield from hit("tar.tar.gz", gzip.compress(tar(member(b"w", torch_zip(EVIL))), mtime=0), "gzip: member 'w': member 'r/data.pkl'")
    yield from hit("tar-cut.tar", tar(member(b"w", EVIL), member(b"v", bytes(5000)))[:2000])
    yield from hit("tar-bad-checksum.tar", tar(member(b"v", b"x"), member(b"u", b"x", wrong=1), member(b"w", EVIL)))
    yield from hit("tar-twice.tar", tar(member(b"w", GOOD), member(b"w", EVIL)))
    yield from hit("tar-in-a-zip.zip", archive([Part("x", tar(member(b"w", EVIL)))]))
    yield from hit("tar-first-name.tar", tar(member(b"cos\nsystem\n(S'true'\ntR.", b"x")))
    for title, file in (
        ("storages", tar_attacks.torch_tar(storages=[tar_attacks.storage_record(), program(CALL)])),
        ("tensors", tar_attacks.torch_tar(tensors=[tar_attacks.tensor_record(), program(CALL)])),
    ):
        yield from hit(f"torch-tar-{title}.tar", file)
    listed = tar_attacks.torch_tar(storages=[tar_attacks.storage_record(), tar_attacks.storage_record(2, "system", module="os")])
    yield from hit("torch-tar-class.tar", listed)
    for version in (1, 2, 3):
        line = "{'descr': '|O', 'fortran_order': False, 'shape': (), }\n"
        yield from hit(f"objects-{version}.npy", npy(line, EVIL, version), "in objects of an array")
    objects = npy("{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (), }\n", EVIL)
    yield from hit("objects-in-a-field.npy", objects)
    yield from hit("objects-by-name.npy", npy("{'descr': 'object', 'fortran_order': False, 'shape': (), }\n", OLD[:-1]))
    yield from hit("objects.npz", npz(npy(), objects), "in member 'w1.npy': objects of an array")
    yield from hit("objects-deflated.npz", archive([Part("w.npy", objects, deflate=True)]))
    yield from hit("objects-in-a-tar.tar", tar(member(b"w.npy", objects)))


def other_formats():
    for i, title in enumerate(("magic", "protocol", "system", "object", "keys")):
        parts = [pickle.dumps(part, 2) for part in (MAGIC, 1001, SYSTEM_INFO)] + [GOOD, pickle.dumps([], 2)]
        parts[i] = EVIL
        yield from hit(f"legacy-{title}.pt", b"".join(parts))
    folder = dcp_attacks.folder(more=(("x", CALL),))
    yield from hit("dcp", folder, "os.system, called (GLOBAL, REDUCE), at byte")
    yield from hit("dcp-item", dcp_attacks.folder(item=dcp_attacks.ITEM + torch_zip(EVIL)))
    yield from hit("folder", {"readme.txt": b"hello", "notes.txt": EVIL, "picture.png": b"\x89PNG\r\n\x1a\n"}, "1 file: 1 dangerous; 2 skipped")
    yield from hit("hidden-files", {".hidden": EVIL})
    # The bytes of another format, which Python's unpickler reads as instructions.
    header = b'{"w":{"dtype":"U8","shape":[400],"data_offsets":[0,400]}}'
    header += b" " * (ord("V") - len(header) % 256 + (256 if len(header) % 256 > ord("V") else 0))
    yield from hit("safetensors-that-is-a-pickle.safetensors", safetensors(header, (b"\n" + OLD).ljust(400, b".")))
    yield from hit("gguf-that-is-a-pickle.gguf", b"GGUF\3\0\0\0\1" + OLD)
    yield from hit("bzip2-that-is-a-pickle.bz2", b"BZh\0\0" + bytes(0x685A) + b"0" + OLD)
    wrapper = name("joblib.numpy_pickle", "NumpyArrayWrapper") + b")\x81}b"
    yield from plain("joblib", wrapper + bytes(range(256)) + CALL, "dangerous: joblib.numpy_pickle.NumpyArrayWrapper")


def packed():
    """What is not looked into is not called safe."""
    yield from unjudged("7z.pt", b"7z\xbc\xaf\x27\x1c\0\4" + bytes(100), "this is a 7z archive")
    yield from unjudged("rar.pt", b"Rar!\x1a\7\1\0" + bytes(100), "this is a rar archive")
    yield from unjudged("zlib.pkl", zlib.compress(EVIL), "this is a zlib stream")
    yield from unjudged("zlib-in-a-zip.zip", archive([Part("x.pkl", zlib.compress(EVIL))]), "this is a zlib stream")
    yield from unjudged("lzma.pkl", lzma.compress(EVIL, format=lzma.FORMAT_ALONE), "this is an lzma file")
    yield from unjudged("7z-in-a-zip.zip", archive([Part("x", b"7z\xbc\xaf\x27\x1c\0\4" + bytes(100))]), "this is a 7z archive")
    yield from unjudged("7z-in-a-folder", {"x.7z": b"7z\xbc\xaf\x27\x1c\0\4" + bytes(100)}, "x.7z: unreadable: this is a 7z archive")
    yield from unjudged("text.txt", b"hello", "this is text")
    yield from unjudged("empty.pt", b"", "the file is empty")
    yield from unjudged("cut.pkl", GOOD[:-3], "unreadable: ")
    yield from unjudged("cut.pt", WHOLE[:-30], "unreadable: ")
    yield from unjudged("cut.pt.gz", gzip.compress(legacy(), mtime=0)[:-9], "unreadable: gzip member 1: ")
    yield from unjudged("cut-in-the-numbers.pt.gz", gzip.compress(legacy() + bytes(range(256)) * 99, mtime=0)[:-40], "unreadable: gzip member 1: ")
    nest = EVIL
    for _ in range(12):
        nest = archive([Part("x", nest)])
    yield from unjudged("zips-12-deep.zip", nest, "a file within more than 8 others")


def bombs():
    """Ends by itself, and is not called safe."""
    yield from unjudged("marks.pkl", b"\x80\2" + b"(" * 20_000_000, "keeps more than")
    yield from hit("names-by-the-100000.pkl", program(b"".join(b"cm%d\nx\n0" % i for i in range(100_000)) + CALL))
    yield from hit("overlapping-members.zip", archive([Part("r/data.pkl", EVIL), *(Part(f"r/{i}", b"", offset=0) for i in range(3000))]))
    # Each header begins a pickle that runs to the end of the file.
    heads = archive([Part("a", b"\x80\2" + b"N0" * 20)]).split(b"PK\1\2")[0]
    yield from unjudged("headers-by-the-2000.zip", heads * 2000 + b"PK\5\6", "unreadable")
    # A tar of PyTorch 0.1's in which every third byte announces a pickle.
    announced = tar_attacks.torch_tar(storages=[b"\x80\2\xff" * 1_000_000])
    yield from unjudged("beginnings-by-the-million.pt", announced, "unreadable")
    yield from harmless("zeros.pt", gzip.compress(torch_zip(data={"0": FLOATS}, more=[Part("r/z", bytes(50_000_000), deflate=True)])))


def controls():
    yield from harmless("plain.pkl", GOOD)
    yield from harmless("torch.pt", WHOLE)
    yield from harmless("legacy.pt", legacy())
    yield from harmless("zip-around-nothing-but-text-and-a-checkpoint.zip", archive([Part("readme", b"(c) Copyright"), Part("m.pt", WHOLE)]))
    yield from harmless("nested-and-never-loaded.pkl", program(mapping(("a", octets(EVIL)), ("b", b"C" + bytes([len(OLD)]) + OLD)), 3))
    yield from harmless("names-in-texts.pkl", program(mapping(("os", text("system")), ("builtins", text("eval")))))
    yield from harmless("storage-in-bytes.pkl", program(mapping(("w", tensor(call(name("torch.storage", "_load_from_bytes"), octets(legacy(program(storage(more=b"N")))))))), 3))
    yield from harmless("arrays.npz", npz(npy(), npy()))
    yield from harmless("array-of-opcodes.npy", npy(data=b"cos\n" * 4))
    yield from harmless("zip-in-bytes.pkl", program(mapping(("w", octets(WHOLE))), 3))
    yield from harmless("storage-of-opcodes.pt", torch_zip(data={"0": b"N0N0" * 4}))
    for title, start in (("ext1", b"\x82."), ("ext2", b"\x83.."), ("ext4", b"\x84....")):
        yield from harmless(f"storage-that-begins-as-{title}.pt", torch_zip(data={"0": (start + b".").ljust(16, b"\0")}), ": safe (1 pickle")
    for numbers in (0x382, 0x383, 0x284):  # a count that reads as the number of an extension
        yield from harmless(f"legacy-of-{numbers}-numbers.pt", legacy(program(storage(elements=numbers)), data=struct.pack("<q", numbers) + bytes(4 * numbers)))
    yield from harmless("storage-of-marks.pt", archive([*torch_parts(GOOD), Part("r/data/0", b"(" * 5_000_000)]))
    yield from harmless("weights.safetensors", safetensors(), ": safe (no pickle)")
    yield from harmless("weights.gguf", gguf_attacks.gguf(), ": safe (no pickle)")
    yield from harmless("distributed", dcp_attacks.folder())
    yield from harmless("items-one-after-the-other.distcp", WHOLE * 3)
    yield from harmless("tar.tar", tar_attacks.tar(tar_attacks.member(b"w", WHOLE)))
    yield from harmless("torch-tar.tar", tar_attacks.torch_tar())
    yield from harmless("third-party.pkl", program(call(name("mylab.nets", "Net"))), "unknown: mylab.nets.Net, called")
    prose = {"LICENSE": b"(c) Copyright\nby many\nN.", "config.py": b"config = 1\nimport os\nos.system('true')\n", "data.json": b"[1, 2]"}
    yield from harmless("folder-of-prose", prose | {"m.pt": WHOLE}, "; 3 skipped")


GROUPS = (protocols, opcodes, memos, leniencies, results_thrown_away, broken_tails, behind, nested, zips, other_containers, other_formats, packed,
          bombs, controls)


def attacks():
    for group in GROUPS:
        yield from group()
