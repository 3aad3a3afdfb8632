"""Pickles that break, that lie about lengths, that ask for more than they are."""

import itertools
import struct

from attack import Attack, Outcome, everywhere, fine, one, refused, unsupported
from forge import (
    WEIGHT,
    Part,
    archive,
    call,
    many,
    mapping,
    name,
    number,
    program,
    storage,
    tensor,
    text,
    torch_parts,
    torch_zip,
)

ECHO = text("echo this must never run > ran")


def underflow():
    empty, unmarked = "the pickle's stack is empty", "there is no mark on the pickle's stack"
    for title, code, what, at in (
        ("stop", b"", empty, 2),
        ("reduce", b"R", empty, 2),
        ("reduce-one", b"NR", empty, 3),
        ("append", b"a", empty, 2),
        ("setitem", b"NNs", empty, 4),
        ("build", b"b", empty, 2),
        ("tuple1", b"\x85", empty, 2),
        ("tuple3", b"NN\x87", empty, 4),
        ("dup", b"2", empty, 2),
        ("pop", b"0", empty, 2),
        ("persid", b"Q", empty, 2),
        ("newobj", b"\x81", empty, 2),
        ("stack-global", b"\x93", empty, 2),
        ("put", b"q\0", empty, 2),
        ("memoize", b"\x94", empty, 2),
        ("tuple", b"Nt", unmarked, 3),
        ("list", b"l", unmarked, 2),
        ("dict", b"d", unmarked, 2),
        ("appends", b"]e", unmarked, 3),
        ("setitems", b"}u", unmarked, 3),
        ("additems", b"\x8f\x90", unmarked, 3),
        ("pop-mark", b"1", unmarked, 2),
        ("obj", b"o", unmarked, 2),
        ("inst", b"im\nn\n", unmarked, 2),
        ("frozenset", b"\x91", unmarked, 2),
        ("below-the-mark", b"N(R", empty, 4),
        ("appends-alone", b"(Ne", empty, 4),
        ("obj-without-class", b"(o", "OBJ is given no class", 3),
    ):
        yield from one(f"underflow-{title}", program(code), refused(what, at))


def misuse():
    takes = "on a value that cannot take it"
    for title, code, what in (
        ("setitem-on-list", b"]NNs", f"SETITEM {takes}"),
        ("setitem-on-int", b"K\1NNs", f"SETITEM {takes}"),
        ("setitem-on-str", text("a") + b"NNs", f"SETITEM {takes}"),
        ("setitems-on-tuple", b")(NNu", f"SETITEMS {takes}"),
        ("append-on-dict", b"}Na", f"APPEND {takes}"),
        ("append-on-tuple", b")Na", f"APPEND {takes}"),
        ("appends-on-none", b"N(Ne", f"APPENDS {takes}"),
        ("additems-on-list", b"](N\x90", f"ADDITEMS {takes}"),
        ("build-on-dict", b"}}b", f"BUILD {takes}"),
        ("build-on-list", b"]}b", f"BUILD {takes}"),
        ("build-on-str", text("a") + b"}b", f"BUILD {takes}"),
        ("build-on-int", b"K\1}b", f"BUILD {takes}"),
        ("setitems-odd", b"}(Nu", "SETITEMS is given a key without a value"),
        ("dict-odd", b"(Nd", "DICT is given a key without a value"),
        ("reduce-no-tuple", name("m", "n") + b"]R", "REDUCE is given arguments that are no tuple"),
        ("newobj-no-tuple", name("m", "n") + b"K\1\x81", "NEWOBJ is given arguments that are no tuple"),
        ("reduce-of-int", b"K\1)R", "REDUCE calls a value that cannot be called"),
        ("reduce-of-str", text("os.system") + many(ECHO) + b"R", "REDUCE calls a value that cannot be called"),
        ("obj-of-list", b"(]o", "OBJ calls a value that cannot be called"),
        ("newobj-of-none", b"N)\x81", "NEWOBJ calls a value that cannot be called"),
        ("stack-global-of-ints", b"K\1K\2\x93", "STACK_GLOBAL takes its name from something that is computed"),
        ("get-nothing", b"h\5", "memo entry 5 is fetched before it is stored"),
        ("get-far", b"j\xff\xff\xff\xff", "memo entry 4294967295 is fetched before it is stored"),
        ("get-negative", b"g-1\n", "'-1' is no memo index"),
        ("get-word", b"gx\n", "'x' is no memo index"),
        ("put-negative", b"Np-1\n", "'-1' is no memo index"),
        ("put-past-64-bits", b"Np99999999999999999999\n", "'99999999999999999999' is no memo index"),
        ("ext-zero", b"\x82\0", "extension code 0"),
        ("ext-negative", b"\x84\xff\xff\xff\xff", "extension code -1"),
        ("not-utf8", text(b"\xff\xfe"), "a string of the pickle is not UTF-8"),
        ("global-not-utf8", b"c\xff\nn\n", "the name of a global is not UTF-8"),
        ("int-word", b"Iabc\n", "'abc' is no integer"),
        ("int-empty", b"I\n", "'' is no integer"),
        ("octal", b"I089\n", "'089' is no integer"),
        ("float-word", b"Fx\n", "'x' is no number"),
        ("string-bare", b"Sabc\n", "a STRING is not a quoted literal"),
        ("string-one-quote", b"S'\n", "a STRING is not a quoted literal"),
        ("unicode-escape", b"V\\u12\n", "a UNICODE line has a broken escape"),
        ("unicode-too-large", b"V\\U00110000\n", "a UNICODE line has a broken escape"),
        ("no-opcode-00", b"\0", "byte 0x00 is no pickle opcode"),
        ("no-opcode-ff", b"\xff", "byte 0xff is no pickle opcode"),
    ):
        outcome = unsupported(what) if "computed" in what else refused(what)
        yield from one(f"misuse-{title}", program(code), outcome)
    yield from everywhere("protocol-6", program(b"N", 6), unsupported("pickle protocol 6", 0))
    yield from everywhere("protocol-255", program(b"N", 255), unsupported("pickle protocol 255", 0))
    yield from everywhere("protocol-6-later", program(b"N\x80\6"), unsupported("pickle protocol 6", 3))
    for title, code in (("next", b"\x97"), ("readonly", b"N\x98")):
        yield from everywhere(
            f"{title}-buffer",
            program(code, 5),
            unsupported("the pickle keeps buffers outside itself (protocol 5, NEXT_BUFFER)", 1 + len(code)),
        )


def lengths():
    """A length allocates nothing; what is there decides."""
    for title, opcode, length in (
        ("binunicode8-2-62", b"\x8d", 1 << 62),
        ("binunicode8-most", b"\x8d", (1 << 64) - 1),
        ("binbytes8-2-63", b"\x8e", 1 << 63),
        ("bytearray8-2-40", b"\x96", 1 << 40),
        ("binbytes8-2-31", b"\x8e", 1 << 31),
    ):
        yield from everywhere(
            f"length-{title}", program(opcode + struct.pack("<Q", length) + b"abc", 5), refused("the pickle", None)
        )
    for title, opcode, size, length in (
        ("binunicode", b"X", "<I", 0xFFFFFFFF),
        ("binbytes", b"B", "<I", 0x7FFFFFFF),
        ("long4", b"\x8b", "<i", 0x7FFFFFFF),
        ("binstring", b"T", "<i", 0x7FFFFFFF),
        ("short-bytes", b"C", "<B", 255),
        ("long1", b"\x8a", "<B", 255),
    ):
        yield from one(
            f"length-{title}",
            b"\x80\2" + opcode + struct.pack(size, length) + b"abc.",
            refused(f"the pickle ends after 4 of {length} bytes", 2 + 1 + struct.calcsize(size) + 4),
        )
    for title, opcode in (("long4", b"\x8b"), ("binstring", b"T")):
        yield from everywhere(
            f"negative-{title}",
            program(opcode + struct.pack("<i", -1)),
            refused("the pickle holds a string of length -1", 3),
        )
    frame = "a FRAME of {} bytes reaches past the end of the pickle"
    for title, length in (("2-62", 1 << 62), ("most", (1 << 64) - 1), ("one-more", 3)):
        yield from everywhere(
            f"frame-{title}", program(b"\x95" + struct.pack("<Q", length) + b"N", 4), refused(frame.format(length), 2)
        )
    yield from everywhere("frame-true", program(b"\x95" + struct.pack("<Q", 2) + b"N", 4), fine())
    yield from everywhere("frame-within", program(b"\x95" + struct.pack("<Q", 0) + b"N", 4), fine())
    yield from everywhere(
        "int-digits",
        program(b"L" + b"9" * 4301 + b"L\n"),
        refused("an integer of 4301 digits, expected at most 4300", 2),
    )
    yield from one("line-without-end", b"\x80\2I" + b"1" * 100, refused("the pickle ends within a line", 103))
    yield from everywhere("long-key", program(mapping(("k" * (1 << 20), WEIGHT))), fine())
    yield from one("long-global", program(b"c" + b"m" * (1 << 20) + b"\nn\n"), fine(inspect="m" * 100))


def colliding_keys(pairs):
    """2 ** pairs byte strings with one std::hash in libstdc++: MurmurHash64A, whose blocks cancel in pairs."""
    multiplier, low = 0xC6A4A7935BD1E995, (1 << 64) - 1
    inverse = pow(multiplier, -1, 1 << 64)

    def block(mixed):  # whose mixing gives this
        shifted = mixed * inverse & low
        return struct.pack("<Q", (shifted ^ shifted >> 47) * inverse & low)

    choices = [
        [b"".join(block(2 * n + m + 1 << 8 | top << 63) for m in range(2)) for top in range(2)] for n in range(pairs)
    ]
    return map(b"".join, itertools.product(*choices))


def fetched_again():
    """A few bytes that fetch a text of a megabyte, or a long tuple, from the memo again and again: in a deflated pickle."""
    long, times = 1_000_000, 100_000

    def attack(title, code, said):
        parts = torch_parts(code)
        parts[0].deflate = True
        return Attack(f"again-{title}.pt", archive(parts), refused(said))

    def kept(*values):
        return b"".join(value + b"q" + bytes([i]) + b"0" for i, value in enumerate(values))

    again = "the same values again and again"
    ids = many(text("storage"), name("torch", "FloatStorage"), text("0"), text("x" * long), number(4))
    yield attack("location", program(kept(ids) + b"](" + b"h\0Q" * times + b"e"), again)
    each = b"".join(many(text("storage"), b"h\0", text(str(i)), b"h\1", number(0)) + b"Q" for i in range(5000))
    yield attack("location-of-many", program(kept(name("torch", "FloatStorage"), text("x" * long)) + b"](" + each + b"e"), again)
    strided, size = name("torch", "strided"), many()
    given = many(name("torch", "Tensor"), name("torch", "float32"), size, size, number(0), strided, text("d" * long), b"\x89")
    wrapper = name("torch._utils", "_rebuild_wrapper_subclass")
    yield attack("device", program(kept(wrapper, given) + b"](" + b"h\0h\1R" * times + b"e"), again)
    wide = many(*[number(1)] * 64)
    given = many(tensor(), wide, wide)
    yield attack("64-dimensions", program(kept(name("m", "f"), given) + b"](" + b"h\0h\1R" * times * 8 + b"e"), again)
    yield attack("class", program(kept(name("m", "C" * long), many()) + b"](" + b"h\0h\1\x81" * times + b"e"), again)
    state = mapping(*((f"k{i}", b"N") for i in range(30_000)))
    made = name("m", "C") + b")\x81"
    yield attack("state", program(kept(state) + made + b"h\0b" * 30_000), again)
    names = program(kept(text("m"), text("n" * long)) + b"](" + b"h\0h\1\x93" * times + b"e", 4)
    yield attack("stack-global", names, "the same long names again and again")
    # Plain values cost nobody anything.
    whole = many(*[number(i) for i in range(1000)])
    plain = program(mapping(("w", tensor()), ("x", kept(whole) + b"](" + b"h\0" * times + b"e")))
    yield Attack("again-in-a-list.pt", torch_zip(plain), fine("w"))


def bombs():
    """More than the file deserves: refused by a cap, or read within the memory that is allowed here."""
    deep = 1_000_000
    for container, depth in ((one, deep), (everywhere, 200_000)):  # a stack that recursion would need is gone long before
        yield from container(f"{depth}-lists-deep", program(b"]" * depth + b"a" * (depth - 1)), fine())
        yield from container(f"{depth}-tuples-deep", program(b")" + b"\x85" * depth), fine())
    yield from one("deep-dicts", program((b"}" + b"N") * 300_000 + b"N" + b"s" * 300_000), fine())
    chain = name("mylab", "f") + b"q\0)" + b"q\1" + b"h\0h\1R" + b"\x85q\2h\0h\2R" * 200_000
    yield from one("deep-calls", program(chain), fine())
    yield from one("deep-marks", b"\x80\2" + b"(" * deep, refused("the pickle ends after 0 of 1 bytes", 2 + deep))
    yield from one("deep-marks-closed", program(b"(" * deep + b"t" * deep), fine())
    yield from fetched_again()
    double = b"]" + b"q\0" + b"](h\0h\0eq\0" * 64
    yield from everywhere("shared-lists", program(double), fine())
    yield from everywhere(
        "shared-lists-with-a-tensor",
        program(b"(" + WEIGHT + b"lq\0" + b"](h\0h\0eq\0" * 64),
        refused("the file gives more than 262160 tensor names"),
    )
    yield from one(
        "shared-tuples-with-a-tensor",
        program(WEIGHT + b"q\0" + b"h\0\x86q\0" * 64),
        refused("the file gives more than 262160 tensor names"),
    )
    everyone = b"".join(b"]q" + bytes([i]) + b"0" for i in range(1, 13))
    tied = b"".join(
        b"h" + bytes([i]) + b"(" + b"".join(b"h" + bytes([j]) for j in range(1, 13) if j != i) + b"e0"
        for i in range(1, 13)
    )
    yield from one(
        "every-list-in-every-list",
        program(everyone + tied + b"h\1" + WEIGHT + b"a"),
        refused("containers of the file hold each other more than 4195028 times over"),
    )
    steps = b"".join(b"](" + tensor(shape=(1,)) for _ in range(20_000)) + b"e" * 20_000
    yield from one(
        "a-tensor-at-each-depth", program(steps), refused("the tensors' names take more than 67108864 bytes")
    )
    yield Attack(
        "values-deflated.pt",
        archive(
            [Part("r/data.pkl", program(b"(" + b"N" * (20 << 20) + b"l"), deflate=True), Part("r/version", b"3\n")]
        ),
        refused("expected at most 5"),
    )
    yield Attack(
        "values-below-the-cap.pt",
        archive([Part("r/data.pkl", program(b"(" + b"N" * (4 << 20) + b"l"), deflate=True), Part("r/version", b"3\n")]),
        fine(),
    )
    yield Attack(
        "containers-below-the-cap.pt",
        archive([Part("r/data.pkl", program(b"(" + b"]" * (4 << 20) + b"l"), deflate=True), Part("r/version", b"3\n")]),
        fine(),
    )
    yield Attack(
        "effects-below-the-cap.pt",
        archive([Part("r/data.pkl", program(b"]" + b"2a" * (2 << 20)), deflate=True), Part("r/version", b"3\n")]),
        fine(),
    )
    # Indices that all fall into one bucket of libstdc++'s hash table when it has 172,933 of them.
    collide = b"".join(b"p%d\n" % (i * 172_933) for i in range(1, 172_900))
    yield from one("memo-collisions", program(b"N" + collide), fine())
    for title, lead, value in (("names", b"", b"h\0"), ("keys", b"1234567", b"N")):  # ckpt puts a byte before keys
        keys = b"".join(b"T" + struct.pack("<I", len(lead + k)) + lead + k + value for k in colliding_keys(16))
        yield from one(
            f"hash-collisions-of-{title}", program(WEIGHT + b"q\x000}(" + keys + text("w") + WEIGHT + b"u"), fine()
        )
    pairs = b"(" + b"(K\1K\2l" * 9000 + b"lq\1"
    yield from one(
        "one-list-of-pairs-for-9000-mappings",
        program(b"(" + name("collections", "OrderedDict") + b"q\0" + pairs + b"h\0h\1\x85R" * 9000 + b"t"),
        refused("pairs that they share"),
    )
    entries = b"}(" + b"".join(b"M" + struct.pack("<H", k) + b"N" for k in range(9000)) + b"uq\1"
    yield from one(
        "one-dict-for-9000-counters",
        program(b"(" + name("collections", "Counter") + b"q\0" + entries + b"h\0h\1\x85R" * 9000 + b"t"),
        refused("pairs that they share"),
    )
    # What one object holds, looked at again for each of the many that share it.
    key = text("k") + b"q\0" + b"0"
    again = b"}q\1(" + b"h\0N" * 100_000 + b"h\0h\3u0"
    yield from one(
        "one-key-100000-times-for-100000",
        program(WEIGHT + b"q\x030" + key + again + b"(" + b"h\1" * 100_000 + b"l"),
        refused("the names in the file take more than 268435456 bytes")
        | {line: Outcome(3, "the names in") for line in ("add-prefix FILE OUT", "average FILE FILE OUT")},
    )
    wide = b"}q\1(" + b"".join(number(i) + b"N" for i in range(256, 60_000)) + b"u0"
    optimizer = b"}(" + text("state") + b"h\1" + text("param_groups") + b"]u"
    yield from one(
        "one-state-of-60000-for-30000-optimizers", program(wide + b"(" + optimizer * 30_000 + WEIGHT + b"l"), fine()
    )
    words = b"}q\1(" + b"".join(text(f"{i}") + b"\x88" for i in range(60_000)) + b"u0"
    parts = [storage() + b"q\2", number(0), many(number(4)), many(number(1)), b"\x89", b"N", b"h\1"]
    lazy = [call(name("torch._utils", "_rebuild_tensor_v2"), *parts)]
    lazy += [call(name("torch._utils", "_rebuild_tensor_v2"), b"h\2", *parts[1:])] * 29_999
    yield from one(
        "one-metadata-of-60000-for-30000-tensors",
        program(words + b"(" + b"".join(lazy) + b"l"),
        fine() | {"convert FILE OUT --dtype float16": Outcome(0)},
    )
    yield from one("memo-far", program(b"Nr\xff\xff\xff\xffp9223372036854775807\n"), fine())
    yield from one("memo-many", program(b"N" + b"\x94" * deep, 4), fine())
    for title, code in (
        ("list", b"]q\0h\0a"),
        ("dict", b"}q\0Nh\0s"),
        ("tuple-in-list", b"]q\0(h\0tq\1a"),
        ("object", name("mylab", "Net") + b")Rq\0}" + text("me") + b"h\0sb"),
        ("ordered-dict", call(name("collections", "OrderedDict")) + b"q\0" + text("me") + b"h\0s"),
        ("shape", tensor()[:-1].replace(many(number(4)), b"]q\7h\7a", 1) + b"R"),
    ):
        outcome = (
            refused("torch._utils._rebuild_tensor_v2 is called with a bad argument") if title == "shape" else fine()
        )
        yield from everywhere(f"cycle-{title}", program(code), outcome)


def controls():
    """What looks like an attack and is none."""
    yield from everywhere("lone-surrogate", program(mapping(("\ud800", WEIGHT))), fine())
    yield from everywhere("key-twice", program(mapping(("a", WEIGHT), ("a", WEIGHT))), fine("1 tensor,"))
    yield from everywhere(
        "keys-of-every-kind",
        program(
            b"}(N"
            + WEIGHT
            + b"\x88"
            + WEIGHT
            + b"J\xff\xff\xff\xff"
            + WEIGHT
            + b"G\x40\x09\x21\xfb\x54\x44\x2d\x18"
            + WEIGHT
            + b")"
            + WEIGHT
            + b"u"
        ),
        fine("3.141592653589793"),
    )
    yield from everywhere("protocol-again", program(b"\x80\2N\x80\4\x80\2"), fine())
    yield from everywhere("spelt-out", b"(dS'a'\nI01\nsV\\u0062\nL12L\nsI3\nF1.5\ns.", fine())
    yield from one("more-after-stop", program(b"N") + b"cos\nsystem\n)R.", fine())


def attacks():
    for group in (underflow, misuse, lengths, bombs, controls):
        yield from group()
