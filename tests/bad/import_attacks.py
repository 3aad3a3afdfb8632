"""Pickles that name what runs code, in every way that a pickle has; and those that do and then break off."""

import struct

from attack import Attack, Outcome, dangerous, everywhere, one, refused, unsupported
from forge import (
    WEIGHT,
    beside,
    call,
    many,
    mapping,
    name,
    number,
    program,
    stack_name,
    storage,
    tensor,
    text,
    torch_zip,
)

ECHO = text("echo this must never run > ran")
SYSTEM = name("os", "system")


def imports():
    """Every way a pickle has to name something and to call it. Names are shown and never resolved."""
    for title, module, member in (
        ("os-system", "os", "system"),
        ("posix-system", "posix", "system"),
        ("nt-system", "nt", "system"),
        ("eval", "builtins", "eval"),
        ("exec", "builtins", "exec"),
        ("import", "builtins", "__import__"),
        ("compile", "builtins", "compile"),
        ("open", "builtins", "open"),
        ("eval-python2", "__builtin__", "eval"),
        ("getoutput-python2", "commands", "getoutput"),
        ("popen", "subprocess", "Popen"),
        ("runpy", "runpy", "_run_code"),
        ("code", "code", "InteractiveInterpreter"),
        ("pty", "pty", "spawn"),
        ("ctypes", "ctypes", "CDLL"),
        ("importlib", "importlib", "import_module"),
        ("partial", "functools", "partial"),
        ("socket", "socket", "socket"),
        ("attrgetter", "operator", "attrgetter"),
        ("methodcaller", "operator", "methodcaller"),
        ("rmtree", "shutil", "rmtree"),
        ("pickle-loads", "_pickle", "loads"),
        ("marshal", "marshal", "loads"),
        ("types", "types", "FunctionType"),
        ("webbrowser", "webbrowser", "open"),
        ("timeit", "timeit", "timeit"),
        ("pdb", "bdb", "Bdb.run"),
        ("pip", "pip", "main"),
        ("cloudpickle", "cloudpickle", "loads"),
        ("dill", "dill", "loads"),
        ("torch-load", "torch", "load"),
        ("torch-hub", "torch.hub", "load"),
        ("torch-extension", "torch.utils.cpp_extension", "load_inline"),
        ("torch-storage-bytes", "torch.storage", "_load_from_bytes"),
        ("torch-os", "torch.serialization", "os.system"),
        ("numpy-runstring", "numpy.testing._private.utils", "runstring"),
        ("numpy-load", "numpy", "load"),
        ("spaces", "os ", "system"),
        ("dotted-escape", "collections", "OrderedDict.__init__.__globals__"),
        ("third-party-gateway", "mylab", "os"),
        ("empty-name", "mylab", ""),
    ):
        shown = f"{module}.{member}"
        yield from everywhere(f"import-{title}", beside(call(name(module, member), ECHO)), dangerous(shown))
    shown = dangerous("os.system")
    yield from everywhere("global-never-called", beside(SYSTEM), shown)
    yield from everywhere(
        "stack-global", program(mapping(("w", WEIGHT), ("x", call(stack_name("os", "system"), ECHO))), 4), shown
    )
    yield from everywhere("inst", beside(b"(" + ECHO + b"ios\nsystem\n"), shown)
    yield from everywhere("obj", beside(b"(" + SYSTEM + ECHO + b"o"), shown)
    yield from everywhere("newobj", beside(SYSTEM + many(ECHO) + b"\x81"), shown)
    yield from everywhere("newobj-ex", program(mapping(("x", SYSTEM + many(ECHO) + b"}\x92")), 4), shown)
    for title, code in (("ext1", b"\x82\x07"), ("ext2", b"\x83\x07\0"), ("ext4", b"\x84\x07\0\0\0")):
        yield from everywhere(title, beside(call(code, ECHO)), dangerous("copyreg.extension.7"))
    reach = call(name("builtins", "getattr"), name("mylab", "thing"), text("system"))
    yield from everywhere("getattr-chain", beside(call(reach, ECHO)), dangerous("builtins.getattr"))
    yield from everywhere("dropped-call", program(call(SYSTEM, ECHO) + b"0" + mapping(("w", WEIGHT))), shown)
    yield from everywhere(
        "dropped-by-pop-mark", program(b"(" + call(SYSTEM, ECHO) + b"1" + mapping(("w", WEIGHT))), shown
    )
    yield from everywhere("left-on-the-stack", program(call(SYSTEM, ECHO) + mapping(("w", WEIGHT))), shown)
    yield from everywhere("as-a-key", program(b"}(" + call(SYSTEM, ECHO) + WEIGHT + b"u"), shown)
    yield from everywhere(
        "build-calls-setstate", beside(name("collections", "OrderedDict") + b")R" + call(SYSTEM, ECHO) + b"b"), shown
    )
    yield from everywhere(
        "storage-class", program(tensor(storage(kind="system", module="os"))), unsupported("storage class 'os.system'")
    )
    yield from everywhere(
        "key-computed",
        program(
            tensor(
                many(text("storage"), name("torch", "FloatStorage"), call(SYSTEM, ECHO), text("cpu"), number(4)) + b"Q"
            )
        ),
        refused("a storage's persistent id has a key that is no string"),
    )
    yield from everywhere(
        "rebuild-from-type",
        beside(call(name("torch._tensor", "_rebuild_from_type_v2"), SYSTEM, name("torch", "Tensor"), many(ECHO), b"}")),
        shown,
    )
    yield from everywhere(
        "computed-name",
        beside(call(name("builtins", "str")) + text("system") + b"\x93"),
        unsupported("STACK_GLOBAL takes its name from something that is computed"),
    )
    yield from everywhere(
        "persid-class", b"P('storage', <class 'os.system'>, '0', 'cpu', 4)\n.", unsupported("storage class 'os.system'")
    )
    yield from everywhere(
        "persid-module",
        b"P('module', <class 'os.system'>, '0', 'cpu', 4)\n.",
        unsupported("persistent id '('module', <class 'os.system'>"),
    )
    nested = beside(
        call(
            name("torch.storage", "_load_from_bytes"),
            b"B" + struct.pack("<I", 40) + program(call(SYSTEM, b"U\x01x")).ljust(40, b"."),
        )
    )
    yield from everywhere("pickle-in-bytes", nested, dangerous("torch.storage._load_from_bytes"))
    unknown = {
        "inspect": Outcome(0, "mylab.nets.Net"),
        "verify": Outcome(0, ": ok ("),
        "convert": Outcome(0, "mylab.nets.Net"),
    }
    yield from everywhere("third-party", beside(call(name("mylab.nets", "Net"))), unknown)
    at = beside(SYSTEM)
    yield Attack("where-it-stands.pt", torch_zip(at), dangerous("os.system", 30 + len("r/data.pkl") + at.index(SYSTEM)))


def broken_tails():
    """A payload that Python would run before it meets what is wrong: the refusal names it."""
    start = b"\x80\2}(" + text("x") + call(SYSTEM, ECHO)
    named = "a pickle that calls for os.system (dangerous): "
    for title, tail, text_, more in (
        ("truncated", b"", "the pickle ends after 0 of 1 bytes", 0),
        ("cut-operand", b"X\xff\0\0\0abc", "the pickle ends after 3 of 255 bytes", None),
        ("no-opcode", b"\xff.", "byte 0xff is no pickle opcode", 0),
        ("underflow", b"u0.", "the pickle's stack is empty", None),
        ("protocol-6", b"\x80\x06.", "pickle protocol 6", 0),
    ):
        wrong = unsupported if title == "protocol-6" else refused
        code = start + tail
        outcome = wrong(named + text_, None if more is None else len(start) + more)
        yield from one(f"payload-then-{title}", code, outcome)
    for title, bad in (("bad-tensor", tensor(shape=(5,))), ("bad-storage", storage(kind="NoStorage"))):
        outcome = (
            refused(named + "tensor")
            if title == "bad-tensor"
            else unsupported("a pickle that calls for os.system, torch.NoStorage (dangerous): storage class")
        )
        yield from one(f"payload-and-{title}", program(mapping(("x", call(SYSTEM, ECHO)), ("w", bad))), outcome)


def attacks():
    for group in (imports, broken_tails):
        yield from group()
