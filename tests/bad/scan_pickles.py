"""Ways to reach code from a pickle, whether or not a reader would take it: `ckpt scan` must name each."""

import gzip
import struct

from attack import Attack, Outcome
from forge import Part, archive, call, legacy, many, mapping, name, number, program, stack_name, text, torch_zip
from scan_cases import CALL, ECHO, EVIL, GOOD, OLD, SYSTEM, hit, octets, plain, short, unjudged


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
    address = mapping(("cdata", number(4096)))
    yield from plain("keywords-of-a-tensor", name("torch", "FloatTensor") + b")" + address + b"\x92", "dangerous: torch.FloatTensor", protocol=4)
    given = name("torch", "FloatTensor") + b")" + address + b"\x87R"
    yield from plain("keywords-of-a-tensor-by-copyreg", name("copyreg", "__newobj_ex__") + given, "dangerous: torch.FloatTensor", protocol=4)
    memory = name("argparse", "Namespace") + b")R" + mapping(("__array_interface__", mapping(("data", number(4096))))) + b"b"
    yield from plain("memory-for-numpy", call(name("numpy", "matrix"), memory), "dangerous: (text).__array_interface__")
    yield from plain("class-that-is-changed", name("argparse", "Namespace") + mapping(("dump_patches", b"\x88")) + b"b", "dangerous: argparse.Namespace")
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
    benign = text("collections") + b"q\0" + b"0" + text("OrderedDict") + b"q\1" + b"0"
    for title, zero, one in (("sign", b"+0", b"+1"), ("zero", b"00", b"01"), ("blank", b" 0", b"1 "), ("nul", b"0\0", b"1\0")):
        put = text("os") + b"p" + zero + b"\n0" + text("system") + b"p" + one + b"\n0"
        yield from plain(f"memo-put-with-a-{title}", call(benign + put + b"h\0h\1\x93", ECHO), "dangerous: (memo)")
    load = name("torch.storage", "_load_from_bytes") + b"q\0" + b"0"
    again = call(b"h\0", octets(legacy())) + b"0" + call(b"g+0\n", octets(legacy(EVIL)))
    yield from plain("memo-get-with-a-sign", load + again, "dangerous: (memo)")
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
        ("int-and-a-nul", b"I1\0junk\n0"),
        ("int-of-a-nul", b"I\0\n0"),
        ("long-and-a-nul", b"L1\0x\n0"),
        ("float-and-a-nul", b"F1\0x\n0"),
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


def frames():
    """CPython's reader in C throws away what is left of a frame within an instruction, and reads on behind it."""
    def frame(within):
        return b"\x95" + struct.pack("<Q", len(within)) + within

    def hidden(length):
        """What is a text of eight bytes behind the frame to one reader is bytes with a call in them to the other."""
        payload = b"0" + CALL + b"N"
        return frame(b"X" + struct.pack("<I", 8) + b"abc" + b"\0" * length) + b"defgh" + b"0C" + bytes([len(payload)]) + payload

    for title, data in (("text", hidden(0) + b"0}"), ("line", frame(b"N0V") + b"0C" + bytes([len(CALL) + 2]) + b"\n0" + CALL + b"0"), ("frame", frame(frame(b"N" * 4)[:11]) + b"N000N")):
        yield from plain(f"frame-ends-in-a-{title}", data, "dangerous: (frame)", protocol=4)
        yield from hit(f"frame-ends-in-a-{title}.pt", torch_zip(program(data, 4)), "dangerous: (frame)")


def strange_names():
    """Names that no pickler spells so, which Python imports all the same."""
    for title, name in (("hyphen", b"cmy-mod\nfn\n"), ("slash", b"cctypes\ncdll.sub/evil\n")):
        said = name[1:-1].decode().replace("\n", ".")
        for where, data in (
            ("alone", name + b")R."),
            ("before-another", name + b")R.N."),
            ("behind-another", b"N." + name + b")R."),
            ("proto-later", b"N0\x80\4" + name + b".N."),
            ("broken", name + b"\xff"),
        ):
            yield from hit(f"{title}-{where}.pkl", data, said)
            yield from hit(f"{title}-{where}.pkl.gz", gzip.compress(data), said)
        yield from hit(f"{title}-alone", name + b")R.", said)
        yield from hit(f"{title}-in-a-legacy-file.pt", legacy(b"N0\x80\2" + name + b")R."), said)
    yield Attack("scan-accent.pkl", "cévil\nfn\n)R.N.".encode(), {"scan": Outcome(0, "unknown: évil.fn")})


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
    yield from hit("second-with-the-first-memo.pkl", b"\x80\2" + text("os") + b"q\0" + text("system") + b"q\1\x86." + b"h\0h\1\x93.")
    cut = b"(S'true'\nios\nsystemX"
    yield from hit("name-that-the-end-cuts-off.pkl", cut)
    yield from hit("name-that-the-end-of-a-legacy-file-cuts-off.pt", legacy(cut, keys=b"", data=b""))
    nul = program(b"I1\0\n0" + CALL)[2:]
    yield from hit("legacy-behind-a-nul.pt", legacy(nul))
    yield from hit("member-behind-a-nul.pt", archive([Part("r/data.pkl", nul), Part("r/x.pkl", b"N."), Part("r/version", b"3\n")]))
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
    state = many(octets(EVIL), number(0), b"N")
    yield from plain("nested-in-a-stream-as-picklers-write-it", name("_io", "BytesIO") + b")\x81" + state + b"b")
    yield from plain("loader-given-away", many(load, call(load, octets(legacy()))), "dangerous: torch.storage._load_from_bytes")
    yield from plain("loader-of-a-computed-text", call(load, call(name("builtins", "bytes"), text("x"))), "dangerous: torch.storage._load_from_bytes")
    yield from plain("loader-kept", load + b"q\0" + b"0" + call(b"h\0", octets(legacy())) + b"h\0\x86", "dangerous: torch.storage._load_from_bytes")
    benign, evil = legacy(), legacy(EVIL)
    change = b"(" + b"".join(number(i) + number(byte) for i, byte in enumerate(evil[: len(benign)])) + b"u"
    change += b"(" + b"".join(number(byte) for byte in evil[len(benign) :]) + b"e"
    yield from plain("loader-of-a-bytearray-that-changes", call(load, b"\x96" + struct.pack("<Q", len(benign)) + benign + change), "dangerous: torch.storage._load_from_bytes", protocol=5)
    # Python takes these; the machine that keeps values does not.
    for title, code in (("build", b"]Nb0"), ("item", b"C\0\x980"), ("pair", b"]NaK\0Ns0")):
        known = call(name("collections", "OrderedDict"))
        yield from unjudged(f"known-name-behind-an-odd-{title}.pkl", program(code + known, 4), "is not followed any further")
    yield Attack("scan-good-typing-any.pkl", program(name("typing", "Any")), {"scan": Outcome(0, ": safe")})
    yield Attack("scan-good-typing-any-called.pkl", program(call(name("typing", "Any"))), {"scan": Outcome(0, "unknown: typing.Any")})
    yield from plain("typing-other", name("typing", "get_type_hints"), "dangerous: typing.get_type_hints")
    yield from plain("sympify", call(name("sympy", "sympify"), ECHO), "dangerous: sympy.sympify")
    deep = legacy()
    for _ in range(10):
        deep = legacy(program(call(load, octets(deep)), 3))
    yield from hit("nested-10-deep.pkl", program(call(load, octets(deep))), "dangerous: torch.storage._load_from_bytes")
