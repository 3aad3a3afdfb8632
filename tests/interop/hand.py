"""Pickles that PyTorch never writes and Python loads: every opcode, written by hand, in both containers."""

import copyreg
import pickle
import struct
import zipfile

import saving
import specimens
from torchfile import LEGACY_PROTOCOL, MAGIC

TENSOR = (
    b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04"
    b"%s"
    b"QK\x00(K\x02K\x02t(K\x02K\x01tI00\nccollections\nOrderedDict\n)RtR"
)
EXTENSION = 241
copyreg.add_extension("specimens", "Registered", EXTENSION)


def text(word):
    return b"X" + struct.pack("<I", len(word)) + word


def tensor(legacy):
    return TENSOR % (b"Nt" if legacy else b"t")


# Each is a pickle without its STOP; %T stands for a tensor.
STREAMS = {
    # protocol 0
    "text opcodes": b"(lp0\nI1\naI-5\naF1.5\naFnan\naV\\u00fc \\U0001f600\np1\naI01\naI00\naL123L\naL-99999999999999999999999L\naNag1\nag1\na%Ta",
    "an int too long for a long": b"(I99999999999999999999\nI-99999999999999999999\nI007\n%Tt",
    "a long without L": b"(L12\nL-0L\n%Tt",
    "dict by mark": b"(dp0\nVa\nI1\nsVb\n%Ts",
    "dict of pairs": b"(Va\nI1\nVb\nI2\nd",
    "tuples and lists by mark": b"((I1\nI2\nt(I3\nl(t(l%Tt",
    "INST": b"(I1\nVx\nispecimens\nPlain\np0\n.",
    "INST and BUILD": b"(ispecimens\nPlain\np0\n(dVnote\n%Tsb",
    "OBJ": b"(cspecimens\nPlain\nI1\n%To",
    "PUT twice at one place": b"(Va\np0\nVb\np0\ng0\nt",
    "PUT of one object at two places": b"(]p0\np7\nK\x01ag0\ng7\nt",
    # protocol 1
    "binary ints": b"(J\xff\xff\xff\xffJ\x01\x00\x00\x80K\xffM\xff\xffG\x3f\xf8\x00\x00\x00\x00\x00\x00%Tt",
    "BINPUT and LONG_BINPUT": b"(]q\x05r\x70\x11\x01\x00K\x01aj\x70\x11\x01\x00h\x05%Tt",
    "APPEND and APPENDS": b"](K\x01K\x02eK\x03a(e",
    "SETITEMS over SETITEM": b"}" + text(b"a") + b"K\x01s(" + text(b"b") + b"K\x02" + text(b"a") + b"K\x03u",
    "one key twice": b"(" + text(b"a") + b"K\x01" + text(b"a") + b"K\x02d",
    "equal keys of other types": b"}(K\x01"
    + text(b"int")
    + b"G\x3f\xf0\x00\x00\x00\x00\x00\x00"
    + text(b"float")
    + b"I01\n"
    + text(b"bool")
    + b"u",
    "DUP": b"(]2K\x01a%Tt",
    "DUP of a call": b"(cspecimens\nPlain\n)R2t",
    "POP": b"(K\x01K\x020%Tt",
    "POP of a mark": b"(K\x01(0K\x02t",
    "POP_MARK": b"(K\x01(K\x02K\x031%Tt",
    # protocol 2
    "LONG1": b"(\x8a\x00\x8a\x01\xff\x8a\x05\x01\x00\x00\x00\x00\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00\x8a\x02\x00\x80%Tt",
    "LONG4": b"(\x8b\x00\x00\x00\x00\x8b\x02\x00\x00\x00\xff\xff\x8b" + struct.pack("<i", 300) + b"\x81" * 300 + b"t",
    "TUPLE1 to 3": b"(K\x01K\x02\x86K\x03\x85K\x04K\x05K\x06\x87t",
    "values left on the stack": b"K\x01](K\x02K\x03}",
    "NEWOBJ": b"cspecimens\nOuter\n)\x81}" + text(b"x") + b"%Tsb",
    "NEWTRUE and NEWFALSE": b"(\x88\x89I01\nI00\nt",
    "PROTO again": b"\x80\x02(K\x01\x80\x02%Tt",
    "BUILD twice": b"cspecimens\nPlain\n)R}" + text(b"x") + b"K\x01sb}" + text(b"y") + b"K\x02sb",
    "BUILD of slots": b"cspecimens\nSlotted\n)\x81N}" + text(b"x") + b"K\x05s\x86b",
    "BUILD of state and slots": b"cspecimens\nPlain\n)\x81}" + text(b"x") + b"K\x05s}" + text(b"y") + b"K\x06s\x86b",
    # protocol 3 and 4
    "bytes": b"(C\x00C\x02\xff\x00B\x03\x00\x00\x00abc\x8e\x02\x00\x00\x00\x00\x00\x00\x00hi%Tt",
    "long text": b"(\x8c\x02\xc3\xbc\x8d\x02\x00\x00\x00\x00\x00\x00\x00hi" + text(b"\xed\xa0\x80") + b"%Tt",
    "sets": b"(\x8f(K\x01K\x02\x90(K\x03\x91%Tt",
    "NEWOBJ_EX": b"cspecimens\nKeywordOnly\n)}" + text(b"size") + b"K\x07s\x92",
    "STACK_GLOBAL, nested": b"\x80\x04\x8c\x09specimens\x8c\x0bOuter.Inner\x93)\x81",
    "MEMOIZE": b"(]\x94K\x01ah\x00%Tt",
    "FRAME": b"\x95\x04\x00\x00\x00\x00\x00\x00\x00(K\x01]%Tt",
    "BYTEARRAY8": b"(\x96\x02\x00\x00\x00\x00\x00\x00\x00\xff\x00\x94h\x00%Tt",
    # order: what happened before a call and what after
    "a list that grows after the call": b"(]q\x00K\x01acspecimens\nSnapshot\nh\x00\x85Rh\x00K\x02a0%Tt",
    "a dict that grows after the call": b"(}q\x00"
    + text(b"a")
    + b"K\x01scspecimens\nSnapshot\nh\x00\x85Rh\x00"
    + text(b"b")
    + b"K\x02s0%Tt",
    "a set that grows after the call": b"(\x8fq\x00(K\x01\x90cspecimens\nSnapshot\nh\x00\x85Rh\x00(K\x02\x900%Tt",
    "a list that grows between two calls": b"(]q\x00cspecimens\nSnapshot\nq\x01h\x00\x85Rh\x00K\x01a0h\x01h\x00\x85Rh\x00K\x02a0h\x00%Tt",
    "an argument that holds its call": b"]q\x00cspecimens\nReduced\nh\x00\x85Rq\x01ah\x010",
    "a tuple that holds itself": b"]q\x00h\x00\x85q\x01ah\x010",
    "extensions": b"cspecimens\nPlain\n(\x82\xf1\x83\xf1\x00\x84\xf1\x00\x00\x00%TtR",
    "OrderedDict with a late item": b"ccollections\nOrderedDict\n)Rq\x00"
    + text(b"a")
    + b"%Tsh\x00"
    + text(b"b")
    + b"K\x01s0",
    "defaultdict": b"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R" + text(b"a") + b"]s",
    "APPENDS to a deque": b"ccollections\ndeque\n)R(K\x01K\x02e",
}
DANGEROUS = {"extensions"}
# What weights_only takes and need not take any more: torch writes no such thing.
ODD = {"values left on the stack"}
# What only protocol 4 can say: names with dots, and sets that change (before it, a set is a call with all its members).
NEEDS_4 = {"STACK_GLOBAL, nested", "a set that grows after the call"}


def body(code, legacy):
    code = code.removesuffix(b".").replace(b"%T", tensor(legacy))
    return code + b"."


def save_zip(path, code):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (
            ("data.pkl", code),
            ("byteorder", b"little"),
            ("data/0", struct.pack("<4f", 1, 2, 3, 4)),
            ("version", b"3\n"),
        ):
            archive.writestr(zipfile.ZipInfo(f"archive/{name}", (1980, 1, 1, 0, 0, 0)), data)


def save_legacy(path, code, holds_tensor):
    sizes = {"short": 2, "int": 4, "long": 4}
    heads = [MAGIC, LEGACY_PROTOCOL, {"protocol_version": 1001, "little_endian": True, "type_sizes": sizes}]
    tail = pickle.dumps(["0"] if holds_tensor else [], 2)
    data = struct.pack("<q4f", 4, 1, 2, 3, 4) if holds_tensor else b""
    path.write_bytes(b"".join(pickle.dumps(h, 2) for h in heads) + code + tail + data)


def streams(checks):
    for name, code in STREAMS.items():
        allow = ["--allow-unsafe"] if name in DANGEROUS else []
        for legacy in (False, True):
            source, label = checks.path(), f"{name}, {'legacy' if legacy else 'zip'}"
            if legacy:
                save_legacy(source, body(code, True), b"%T" in code)
            else:
                save_zip(source, body(code, False))
            loaded = saving.load(source, weights_only=False)
            if not checks.suite.check(
                f"{label}: a pickle that Python loads", not isinstance(loaded, saving.Failed), repr(loaded)
            ):
                continue
            modes = [{"weights_only": False}] if name in ODD else [{"weights_only": True}, {"weights_only": False}]
            checks.alike(label, source, checks.written(label, source, *allow), modes=modes)
            other = checks.written(
                f"{label}, other format", source, "--format", "torch" if legacy else "torch-legacy", *allow
            )
            checks.alike(f"{label}, other format", source, other, modes=[{"weights_only": False}])
            for protocol in ("0", "2", "5"):
                refused = name in NEEDS_4 and protocol < "4"
                out = checks.written(
                    f"{label}, to protocol {protocol}", source, "--protocol", protocol, *allow, code=3 if refused else 0
                )
                checks.alike(f"{label}, to protocol {protocol}", source, out, modes=[{"weights_only": False}])


def python2_strings(checks):
    """Python 2's str: bytes until torch is told how to decode them, so they must stay as they were."""
    code = b"(S'abc'\nS\"it\\'s \\xfc\"\nU\x02\xff\x00T\x03\x00\x00\x00xyz}U\x01aU\x02\xc3\xbcs%Tt"
    for legacy in (False, True):
        source, label = checks.path(), f"Python 2's str, {'legacy' if legacy else 'zip'}"
        (save_legacy(source, body(code, True), True) if legacy else save_zip(source, body(code, False)))
        for protocol in (None, "0", "2", "5"):
            out = checks.written(label, source, *(["--protocol", protocol] if protocol else []))
            for encoding in ("bytes", "latin1"):
                checks.alike(
                    f"{label}, {encoding}, protocol {protocol}",
                    source,
                    out,
                    modes=[{"weights_only": False}],
                    encoding=encoding,
                )


def discarded_calls(checks):
    """Calls whose result is thrown away are still made, once each, in their order."""
    code = (
        b"(cspecimens\nnote\nq\x00"
        + text(b"first")
        + b"\x85R0h\x00"
        + text(b"second")
        + b"\x85Rh\x00"
        + text(b"third")
        + b"\x85R0%Tt"
    )
    for legacy in (False, True):
        source, label = checks.path(), f"discarded calls, {'legacy' if legacy else 'zip'}"
        (save_legacy(source, body(code, True), True) if legacy else save_zip(source, body(code, False)))
        made = []
        for path in (source, checks.written(label, source)):
            specimens.notes.clear()
            saving.load(path, weights_only=False)
            made.append(list(specimens.notes))
        checks.suite.equal(label, made[1], made[0])
        checks.suite.equal(f"{label}: all made", made[0], ["first", "second", "third"])
