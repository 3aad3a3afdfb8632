"""Pickles that reach code, packed into archives, formats and compressions: `ckpt scan` must find each."""

import base64
import gzip
import lzma
import pickle
import struct
import zlib

import dcp_attacks
import tar_attacks
from forge import (
    FLOATS,
    MAGIC,
    SYSTEM as SYSTEM_INFO,
    Part,
    archive,
    call,
    legacy,
    name,
    npy,
    npz,
    number,
    program,
    safetensors,
    torch_parts,
    torch_zip,
)
from attack import Attack, Outcome
from scan_cases import CALL, ECHO, EVIL, GOOD, MODULE, OF_MODULE, OLD, WHOLE, harmless, hit, plain, unjudged


def zips():
    """A pickle in a member of any name, and archives that readers read differently."""
    for member in ("r/data.pkl", "r/DATA.PKL", "Data.Pkl", "weights", "r/data", "r/version", "r/data/0", "r/.data/serialization_id", "r/extra/x",
                   "r/code/__torch__.py.debug_pkl", "r/constants.pkl", "r/bytecode.pkl", ".metadata", "r/notes.txt", "data.pkl/", "../data.pkl", "r\\data.pkl"):
        data = archive([*torch_parts(GOOD), Part(member, EVIL)])
        yield from hit(f"member-{member.replace('/', '_')}.pt", data)
    for title, code in (("ext1", b"\x82\x07"), ("ext2", b"\x83\x07\0"), ("ext4", b"\x84\x07\0\0\0")):
        yield from hit(f"member-{title}.pt", torch_zip(GOOD, more=[Part("r/x", call(code, ECHO) + b".")]), "dangerous: copyreg.extension.7")
    yield from hit("member-of-protocol-0.pt", torch_zip(GOOD, more=[Part("r/x", OLD)]))
    for title, before in (("number", b"I 5\n0N."), ("text", b"S'__array_interface__'\n0N."), ("memo", b"Np 0\n0N.")):
        yield from hit(f"member-behind-an-odd-{title}.pt", torch_zip(GOOD, more=[Part("r/x", before + OLD)]))
        yield from hit(f"only-member-behind-an-odd-{title}.pth", archive([Part("weights", before + OLD)], after=b"N."))
    empty_name = b"\x8c\x06pickle\x8c\0\x93."
    yield from hit("member-that-imports-a-module.pt", torch_zip(GOOD, more=[Part("r/x", empty_name)]), "dangerous: pickle., imported")
    # torch.hub, and pandas, unpack what is alone in an archive.
    yield from hit("only-member-of-lines.zip", archive([Part("weights", b"cantigravity\nfoo\n")], after=b"N."), "dangerous: antigravity.foo")
    yield from harmless("only-member-of-numbers.zip", archive([Part("w", safetensors())]))
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


def scripts():
    """TorchScript whose class bears a name that policy knows as another's: its code runs where it is loaded."""
    code = b"class Namespace(Module):\n  def __setstate__(self, state: int) -> None:\n    print(state)\n"
    parts = [Part("r/data.pkl", program(name("argparse", "Namespace") + b")\x81" + number(1) + b"b")), Part("r/constants.pkl", program(b")"))]
    for path in ("argparse.py", "__torch__x.py", "a/b/__torch__/m.py"):
        yield Attack(f"scan-script-{path.replace('/', '-')}.pt", archive([*parts, Part(f"r/code/{path}", code), Part("r/version", b"6\n")]), {"scan": Outcome(0, "unknown: (TorchScript).(code)")})
    for folder, ending, constants in (("CODE", "py", "constants"), ("code", "PY", "constants"), ("code", "py", "CONSTANTS")):
        odd = [parts[0], Part(f"r/{constants}.pkl", program(b")")), Part(f"r/{folder}/argparse.{ending}", code), Part("r/version", b"6\n")]
        yield Attack(f"scan-script-of-{folder}-{ending}-{constants}.pt", archive(odd), {"scan": Outcome(0, "unknown: (TorchScript).(code)")})
    yield from harmless("repository-with-code.zip", archive([Part("r/code/train.py", b"import torch\n"), Part("r/m.pkl", GOOD)]))


def other_containers():
    member, tar = tar_attacks.member, tar_attacks.tar
    plain = b"cos\nsystem\n(S'true'\ntR"  # no opcode says that a pickle begins
    yield from hit("gzip.pkl.gz", gzip.compress(EVIL, mtime=0), "at byte 2 of gzip")
    yield from hit("gzip-of-a-zip.pt", gzip.compress(torch_zip(EVIL), mtime=0), "of gzip, in gzip: member 'r/data.pkl'")
    yield from hit("gzip-of-two-members.pkl.gz", gzip.compress(GOOD, mtime=0) + gzip.compress(EVIL, mtime=0))
    yield from hit("gzip-in-gzip.pkl", gzip.compress(gzip.compress(EVIL, mtime=0), mtime=0), "gzip: gzip")
    yield from unjudged("gzip-three-deep.pkl", gzip.compress(gzip.compress(gzip.compress(EVIL))), "gzip within gzip within gzip")
    yield from hit("gzip-in-a-zip.zip", archive([Part("w.gz", gzip.compress(EVIL, mtime=0))]))
    yield from hit("tar.tar", tar(member(b"readme", b"hello"), member(b"w.bin", EVIL)), "member 'w.bin'")
    yield from hit("tar.tar.gz", gzip.compress(tar(member(b"w", torch_zip(EVIL))), mtime=0), "gzip: member 'w': member 'r/data.pkl'")
    wide = archive(torch_parts(EVIL), zip64=True)
    yield from hit("tar-of-a-wide-zip.tar", tar(member(b"w", wide)), "member 'w': member 'r/data.pkl'")
    yield from hit("behind-others-a-wide-zip.pt", b"#!/bin/sh\n" + wide)
    yield from hit("tar-first-name-with-blanks-behind.tar", tar(member(b"config.json", b"{}" * 600 + b"\n"), member(b"w", EVIL)))
    yield from hit("tar-cut.tar", tar(member(b"w", EVIL), member(b"v", bytes(5000)))[:2000])
    yield from hit("tar-bad-checksum.tar", tar(member(b"v", b"x"), member(b"u", b"x", wrong=1), member(b"w", EVIL)))
    yield from hit("tar-twice.tar", tar(member(b"w", GOOD), member(b"w", EVIL)))
    yield from hit("tar-in-a-zip.zip", archive([Part("x", tar(member(b"w", EVIL)))]))
    yield from hit("tar-first-name.tar", tar(member(plain + b".", b"x")))
    for title, file in (
        ("storages", tar_attacks.torch_tar(storages=[tar_attacks.storage_record(), program(CALL)])),
        ("tensors", tar_attacks.torch_tar(tensors=[tar_attacks.tensor_record(), program(CALL)])),
        ("unannounced-and-broken", tar_attacks.torch_tar(tensors=[tar_attacks.tensor_record(), plain + b"%"])),
        ("unannounced-before-a-break", tar_attacks.torch_tar(tensors=[tar_attacks.tensor_record(), plain + b".", b"%"])),
    ):
        yield from hit(f"torch-tar-{title}.tar", file)
    # torch unpickles `storages` before it asks for anything else; Python's tarfile says which member that is.
    alone = program(number(1)) + tar_attacks.storage_record() + EVIL
    of_all = b"17 path=storages\n"
    for title, blocks in (
        ("alone", member(b"storages", alone)),
        ("by-pax", member(b"x", of_all, b"x") + member(b"blob", alone)),
        ("by-solaris", member(b"x", of_all, b"X") + member(b"blob", alone)),
        ("checksum-and-a-nul", tar_attacks.respelt(b"N.", b"%06o\0X") + member(b"storages", alone)),
        ("checksum-of-python", tar_attacks.respelt(b"N.", b"0o%06o") + member(b"storages", alone)),
        ("folder-with-a-size", member(b"d/", member(b"storages", alone), b"\0")),
    ):
        yield from hit(f"torch-tar-storages-{title}.tar", tar(blocks))
    first = program(number(0)) + program(b"]")
    for title, blocks in (
        ("pickle-of-an-unknown-kind", member(b"storages", first) + member(b"tensors", program(number(0))) + member(b"pickle", EVIL, b"Z")),
        ("pickle-with-a-slash-by-pax", member(b"storages", first) + member(b"x", b"16 path=pickle/\n", b"x") + member(b"blob", EVIL)),
        ("folder-of-size-minus-zero", tar_attacks.header(b"\x80\2N.", 0, b"5", size_field=b"-0".ljust(12, b"\0")) + member(b"pickle", EVIL)),
        ("folder-of-size-minus-one", tar_attacks.header(b"\x80\2N.", 0, b"5", size_field=b"\xff" * 12) + member(b"pickle", EVIL)),
        ("folder-of-a-size-after-a-separator", tar_attacks.header(b"\x80\2N.", 0, b"5", size_field=b"\x1c0".ljust(12, b"\0")) + member(b"pickle", EVIL)),
    ):
        yield from hit(f"torch-tar-{title}.tar", tar(blocks))
    for kind, link in ((b"1", b"d"), (b"2", b"d"), (b"2", b"/dev/stdin"), (b"Z", b"")):
        blocks = member(b"d", alone) + tar_attacks.header(b"storages", 0, kind, link=link)
        yield from hit(f"torch-tar-storages-of-kind-{kind.decode()}-{link.decode().replace('/', '-')}.tar", tar(blocks), "dangerous: (tar).storages")
    for title, blocks in (
        ("long-name-and-pax", member(b"././@LongLink", b"storages\0", b"L") + member(b"x", b"17 path=harmless\n", b"x")),
        ("pax-and-long-name", member(b"x", of_all, b"x") + member(b"././@LongLink", b"harmless\0", b"L")),
        ("pax-twice", member(b"x", of_all, b"x") + member(b"x", b"17 path=harmless\n", b"x")),
    ):
        yield from unjudged(f"torch-tar-storages-by-{title}.tar", tar(blocks + member(b"a", alone)), "two headers about one member")
    yield from unjudged("torch-tar-storages-of-all.tar", tar(member(b"x", of_all, b"g") + member(b"blob", alone)), "a pax header that names or measures all members")
    listed = tar_attacks.torch_tar(storages=[tar_attacks.storage_record(), tar_attacks.storage_record(2, "system", module="os")])
    yield from hit("torch-tar-class.tar", listed)
    for version in (1, 2, 3):
        line = "{'descr': '|O', 'fortran_order': False, 'shape': (), }\n"
        yield from hit(f"objects-{version}.npy", npy(line, EVIL, version), "in objects of an array")
    for descr in (r"'|\x4f'", r"'|\117'", r"'\N{VERTICAL LINE}\N{LATIN CAPITAL LETTER O}'"):
        line = "{'descr': " + descr + ", 'fortran_order': False, 'shape': (), }\n"
        yield from hit(f"objects-by-escape-{descr[3:5].strip('{')}.npy", npy(line, b"\x80\2" + b"N0" * 40_000 + EVIL[2:]))
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


def in_a_row():
    """Of several archives, miniz counts the last one's offsets from the first byte of all."""
    version = b"3\n"
    members = [Part("a/data.pkl", EVIL), Part("a/version", version)]
    front = archive([Part("a/data.pkl", GOOD), Part("a/data/0", b"")]).index(b"a/data/0") + len("a/data/0")
    hidden = archive(members, shift=front)
    directory = front + hidden.index(b"PK\1\2")
    outer = archive([Part("a/data.pkl", GOOD), Part("a/data/0", hidden), Part("a/version", version)])
    assert outer[directory : directory + 4] == b"PK\1\2"
    filler = directory - archive([Part("b/data.pkl", GOOD), Part("b/version", version)]).index(b"PK\1\2")
    last = archive([Part("b/data.pkl", GOOD + bytes(filler)), Part("b/version", version)])
    assert last.index(b"PK\1\2") == directory
    yield from hit("archives-in-a-row-with-another-directory.pt", outer + last)
    wide = archive([Part("b/data.pkl", GOOD + bytes(filler)), Part("b/version", version)], zip64=True)
    record = outer.index(b"PK\1\2") + 4000
    numbers = bytearray(8192)
    numbers[record - front : record - front + 4] = b"PK\6\6"
    outer = archive([Part("a/data.pkl", GOOD), Part("a/data/0", bytes(numbers)), Part("a/version", version)])
    at = outer.index(b"PK\6\6")
    filler = at - wide.index(b"PK\6\6")
    wide = archive([Part("b/data.pkl", GOOD + bytes(4 * len(numbers)))], zip64=True)
    filler = at - wide.index(b"PK\6\6") + 4 * len(numbers)
    wide = archive([Part("b/data.pkl", GOOD + bytes(filler))], zip64=True)
    assert wide.index(b"PK\6\6") == at
    yield from unjudged("archives-in-a-row-with-another-end.pt", outer + wide, "unreadable: ")
    same = archive([Part("a/data.pkl", GOOD), Part("a/version", version)], zip64=True)
    yield from harmless("archives-in-a-row.distcp", same * 3)
    yield from harmless("archives-in-a-row-of-other-sizes.distcp", outer + same + WHOLE)


def behind_others():
    """Readers of archives look for them from the end, and bear with what stands in front."""
    packed = archive([Part("w.pth", torch_zip(EVIL))])
    broken = GOOD + b"\xff" * 8
    fronts = {"array": npy(), "legacy-file": legacy(), "broken-pickle": broken, "safetensors": safetensors(), "text": b"no pickle\n"}
    for title, front in fronts.items():
        yield from hit(f"archive-behind-a-{title}.x", front + packed)
        yield from hit(f"archive-behind-a-{title}-that-knows.x", archive([Part("w.pth", torch_zip(EVIL))], before=front))
    for title, data in (
        ("gzip", gzip.compress(broken + packed, mtime=0)),
        ("zip", archive([Part("in.x", broken + packed)])),
        ("tar", tar_attacks.tar(tar_attacks.member(b"in.x", broken + packed))),
        ("tar-in-gzip", gzip.compress(tar_attacks.tar(tar_attacks.member(b"in.x", broken + packed)), mtime=0)),
    ):
        yield from hit(f"archive-behind-a-broken-pickle-in-{title}.x", data)
    lines = b"\nmain\n\n" + b" " * 600 + torch_zip()  # torch reads both, and no text has an archive behind it
    yield from hit("harmless-archive-behind-lines.model", b"cunittest.__main__" + lines, "dangerous: unittest.__main__.main")
    header = bytearray((b"cunittest.__main__" + lines)[:100] + b"0000644 0000000 0000000 00000000000 00000000000         0".ljust(412))
    header[148:156] = b"%06o  " % sum(header)
    in_lines = bytes(header) + tar_attacks.tar(tar_attacks.member(b"a.pkl", GOOD))
    yield from hit("tar-whose-header-is-lines.model", in_lines, "dangerous: unittest.__main__.main")
    yield from unjudged("harmless-archive-behind-lines-of-nobody-knows-what.model", b"cevil" + lines, "unreadable")
    # miniz steps back by 4,093 bytes, and so looks farther than a comment is long.
    far = archive([Part("w.pth", torch_zip(EVIL))], before=broken) + bytes(69_500)
    yield from hit("archive-whose-end-is-far.x", far)
    yield from hit("archive-behind-pk.x", b"PK\n.\0" + packed)
    yield from hit("archive-behind-a-tar-of-pkg-info.tar", tar_attacks.tar(tar_attacks.member(b"PKG-INFO", b"x")) + packed)
    yield from hit("archive-whose-offsets-are-too-high.x", b"N.\xff" + archive([Part("w.pth", torch_zip(EVIL))], before=bytes(5000))[5000:])
    none = tar_attacks.member(b"a.pkl", b"N.")
    of_a_member = archive([Part("w.pth", torch_zip(EVIL))], before=bytes(512))[512:]
    yield from hit("archive-behind-a-tar-that-begins-with-a-member.tar", tar_attacks.tar(none) + of_a_member)
    yield from hit("tar-behind-a-tar.tar", tar_attacks.tar(none) + tar_attacks.tar(tar_attacks.member(b"b.pkl", EVIL)))
    yield from hit("pickle-behind-a-tar.tar", tar_attacks.tar(none) + bytes(9000) + EVIL)
    inner = tar_attacks.header(b"x.pkl", len(EVIL)) + EVIL.ljust(512, b"\0")
    outer = tar_attacks.header(b"f.txt", 4096) + bytes(412) + bytes(1024) + inner
    out_of_step = none + bytes(512) + bytes(100) + outer
    yield from hit("tar-behind-a-tar-out-of-step.tar", out_of_step.ljust(16384, b"\0"))
    yield from harmless("padded-tar.tar", tar_attacks.tar(none) + bytes(9 << 20), ": safe")
    yield from harmless("array-and-archive-of-arrays.x", npy() + npz(npy()), ": safe")
    tar_of_one = tar_attacks.tar(tar_attacks.member(b"w", WHOLE))
    yield from harmless("tar-of-one-archive.tar", tar_of_one, ": safe (1 pickle")


def code_members():
    """What loads such an archive runs what lies in it beside the pickles."""
    for root, marks in (("r/", ".data/extern_modules"), ("r/", ".DATA/Extern_Modules"), ("", ".data/extern_modules")):
        package = [Part(root + marks, b"os\n"), Part(root + "argparse.py", MODULE), Part(root + "model/model.pkl", OF_MODULE)]
        yield from hit(f"package-{len(root)}-{marks[1:5]}.pt", archive(package), "dangerous: (torch.package).(code)")
    yield from harmless("package-of-pickles.pt", archive([Part("r/.data/extern_modules", b"os\n"), Part("r/model/model.pkl", OF_MODULE)]))
    yield from harmless("python-in-no-package.zip", archive([Part("r/argparse.py", MODULE), Part("r/model.pkl", OF_MODULE)]))
    program_of = b'{"expr_str": "__import__(\'os\').system(\'true\')"}'
    for title, parts in (
        ("in-a-folder", [Part("r/archive_format", b"pt2"), Part("r/models/model.json", program_of)]),
        ("of-another-suffix", [Part("r/archive_format", b"pt2"), Part("r/models/model.text", program_of)]),
        ("older", [Part("serialized_exported_program.json", program_of), Part("version", b"1.0")]),
    ):
        yield from harmless(f"export-{title}.pt2", archive(parts), "unknown: (torch.export).(code)")
    library = [Part("r/archive_format", b"pt2"), Part("r/data/aotinductor/model/model.so", b"\x7fELF" + bytes(60))]
    yield from hit("export-with-a-library.pt2", archive(library), "dangerous: (AOTInductor).(code)")
    flags = b'{"compiler": "echo this must never run > ran; true"}'
    source = [Part("r/archive_format", b"pt2"), Part("r/data/aotinductor/model/x.wrapper_compile_flags.json", flags)]
    yield from hit("export-with-a-compiler.pt2", archive(source), "dangerous: (AOTInductor).(code)")
    pickled = Part("r/x.pkl", b"N.")
    for member in ("r/data/constants/m.wrapper.so", "r/data/constants/m.cpp", "r/data/constants_m.so", "data/constants/m.wrapper.so"):
        yield from hit(f"constant-{member.replace('/', '_')}.pt2", archive([pickled, Part(member, b"\x7fELF" + bytes(60))]), "dangerous: (AOTInductor).(code)")
    yield from harmless("constant-that-is-a-tensor.pt2", archive([pickled, Part("r/data/constants/tensor_0", bytes(64))]))
    for title, quoted in (("", b'":serialized:": "%s"'), ("-in-escapes", b'"\\u003aserialized:" :\n"!%s"'), ("-among-no-json", b'"inf": -Infinity, ":serialized:": "%s"')):
        data = b'{"n": {' + quoted.replace(b"%s", base64.b64encode(EVIL)) + b"}}"
        for where, parts in (("listed", [Part("data", data), pickled]), ("twice", [Part("data", data), Part("data", b"{}"), pickled])):
            yield from hit(f"baselines{title}-{where}.zip", archive(parts), "dangerous: os.system")
    yield from harmless("baselines.zip", archive([Part("data", b'{"n": 1, "inf": -Infinity, ":serialized:": "gAJOLg=="}'), pickled]), ": safe (2 pickles")
    yield from unjudged("baselines-of-half-a-text.zip", archive([Part("data", b'{":serialized:": "gAJO'), pickled]), "what Stable-Baselines3 reads")
    old = [Part("m/version", b"1"), Part("m/model.json", b"{}"), Part("m/code/__torch__.py", b"def forward(self): pass\n")]
    yield from harmless("old-torchscript.pt", archive(old), "unknown: (TorchScript).(code)")
    short = [Part("r/constants.pkl", b"\x80\2)."), Part("r/code/__torch__", b"x"), Part("r/code/__torch__x", b"x")]
    yield from harmless("script-of-short-names.pt", archive(short))
    # A pickle sees a text and STOP.
    flat = b"\x8c\x10\0\0PTMF" + b"N" * 10 + b"." + bytes(4000)
    yield from unjudged("flatbuffer-that-is-a-pickle.pt", flat, "this is a TorchScript model as a flatbuffer")
    yield from unjudged("folder-with-a-flatbuffer", {"m.ptl": b"\x18\0\0\0PTMF" + bytes(400)}, "m.ptl: unreadable")
    unpacked = {"r/.data/extern_modules": b"os\n", "r/argparse.py": MODULE, "r/model/model.pkl": OF_MODULE}
    yield from hit("package-that-is-unpacked", unpacked, "r/argparse.py: dangerous\n  dangerous: (torch.package).(code)")


def indexes():
    """The index of shards names files that torch loads, whatever the first of them is."""
    index = b'{"metadata": {}, "weight_map": {"w": "a.safetensors", "b": "b.bin"}}'
    shards = {"m.index.json": index, "a.safetensors": safetensors(), "b.bin": torch_zip(EVIL)}
    said = "m.index.json: dangerous\n  dangerous: os.system, called (GLOBAL, REDUCE), at byte 42 of shard 'b.bin'"
    yield Attack("scan-index-of-both-kinds", shards, {"scan FILE/m.index.json": Outcome(1, said)})


def links():
    """torch.load of a tar of PyTorch 0.1's loads what a link leads to."""
    cut = b"\x95" + struct.pack("<Q", 2) + b"V\\u004\n" + OLD
    linked = tar_attacks.tar(tar_attacks.member(b"blob", cut), tar_attacks.member(b"storages", kind=b"1", link=b"blob"))
    yield from hit("folder-with-a-tar-of-links", {"x.tar": linked}, "x.tar: dangerous")


def packed():
    """What is not looked into is not called safe."""
    yield from unjudged("7z.pt", b"7z\xbc\xaf\x27\x1c\0\4" + bytes(100), "this is a 7z archive")
    yield from unjudged("rar.pt", b"Rar!\x1a\7\1\0" + bytes(100), "this is a rar archive")
    yield from unjudged("zlib.pkl", zlib.compress(EVIL), "this is a zlib stream")
    for suffix in ("pkl", "joblib", "z", "ckpt", "th"):
        yield from unjudged(f"zlib-in-a-zip-{suffix}.zip", archive([Part(f"x.{suffix}", zlib.compress(EVIL))]), "this is a zlib stream")
    yield from unjudged("zstd-behind-a-frame-to-skip.zst", b"\x53\x2a\x4d\x18\4\0\0\0skip\x28\xb5\x2f\xfd" + bytes(9), "a frame to skip")
    # A text of 42 bytes and STOP, or a frame of 37 that is passed over.
    skipped = b"U*M\x18" + struct.pack("<I", 37) + bytes(36) + b"."
    yield from unjudged("zstd-behind-a-pickle.zst", skipped + b"\x28\xb5\x2f\xfd" + bytes(9), "a frame to skip")
    yield from unjudged("lzma.pkl", lzma.compress(EVIL, format=lzma.FORMAT_ALONE), "this is an lzma file")
    small = [{"id": lzma.FILTER_LZMA1, "dict_size": 4096}]  # joblib asks for two bytes, and reads any
    of_4_kib = lzma.compress(EVIL, format=lzma.FORMAT_ALONE, filters=small)
    lengths = {"": hex, "-in-capitals": lambda length: hex(length).upper(), "-bare": lambda length: f" {length:x}"}
    old = {f"old-joblib{name}": b"ZF" + spelt(len(EVIL)).encode().ljust(19) + zlib.compress(EVIL) for name, spelt in lengths.items()}
    for title, data in (("lzma-of-4-kib", of_4_kib), *old.items()):
        said = "this is an lzma file" if data is of_4_kib else "joblib of before 2015"
        yield from unjudged(f"{title}.pkl", data, said)
        yield from unjudged(f"{title}-as-member.pt", torch_zip(GOOD, more=[Part("r/x.pkl", data)]), said)
    # A tar's header that is the beginning of a stream as well, of one block of 12,336 bytes that is stored.
    for title, head, said in (("zlib", b"x^h0~\xcf\x81X  ", "this is a zlib stream"), ("lzma", b"]\0\0\1\0", "this is an lzma file"), ("old-joblib", b"ZF0x20".ljust(24), "joblib of before 2015")):
        tar = tar_attacks.tar(tar_attacks.member(head, b" " * 9216), tar_attacks.member(b"a.pkl", GOOD))
        yield from unjudged(f"{title}-that-is-a-tar.joblib", tar, said)
    yield from harmless("utf-16.pt", torch_zip(GOOD, more=[Part("r/notes", "] = 1; this is no lzma".encode("utf-16-le"))]))
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
    nest = EVIL
    for _ in range(12):
        nest = archive([Part("x", b"N.\xff" + archive([Part("x", nest)]))])
    yield from unjudged("zips-behind-pickles-24-deep.zip", nest, "a file within more than 8 others")
    yield from unjudged("folder-with-such-zips", {"x": nest}, "x: unreadable: ")


def bombs():
    """Ends by itself, and is not called safe."""
    yield from unjudged("marks.pkl", b"\x80\2" + b"(" * 20_000_000, "keeps more than")
    yield from hit("names-by-the-100000.pkl", program(b"".join(b"cm%d\nx\n0" % i for i in range(100_000)) + CALL))
    yield from hit("overlapping-members.zip", archive([Part("r/data.pkl", EVIL), *(Part(f"r/{i}", b"", offset=0) for i in range(3000))]))
    # Each header begins a pickle that runs to the end of the file.
    heads = archive([Part("a", b"\x80\2" + b"N0" * 20)]).split(b"PK\1\2")[0]
    yield from unjudged("headers-by-the-2000.zip", heads * 2000 + b"PK\5\6", "unreadable")
    # Each of them leads past 64 KiB of the next ones, by what its name and its extra field are said to take.
    far = struct.pack("<4s5HIII2H", b"PK\3\4", 20, 0, 0, 0, 0, 0, 0, 0, 40_000, 40_000) + bytes(170)
    led = gzip.compress(far * 7000 + b"PK\5\6", mtime=0)
    yield from unjudged("headers-that-lead-far.zip.gz", led, "unreadable: gzip: no end of central directory")
    # A tar of PyTorch 0.1's in which every third byte announces a pickle.
    announced = tar_attacks.torch_tar(storages=[b"\x80\2\xff" * 1_000_000])
    yield from unjudged("beginnings-by-the-million.pt", announced, "unreadable")
    yield from harmless("zeros.pt", gzip.compress(torch_zip(data={"0": FLOATS}, more=[Part("r/z", bytes(50_000_000), deflate=True)])))
