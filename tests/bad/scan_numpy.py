"""States of numpy's that look like its own, and are none: numpy 2.4 crashes on each of them, or takes bytes for objects, as it
loads or when the values are used. `ckpt scan` must call none of them safe."""

from forge import call, many, mapping, name, number, program, text
from scan_cases import harmless, octets, plain
from scan_loading import GENERATOR
from scan_misuse import LONG, built, dtype, fields, record, state
from scan_states import RECONSTRUCT, SCALAR, array, elements, masked


def bare(code):
    return call(name("numpy", "dtype"), code if code[-1:] == b"\n" else text(code.decode()), b"\x89", b"\x88")


def several_by_text():
    """Each is several elements, or their memory is another's; numpy pickles none without a state."""
    for code in (b"2U3", b"<2f8", b"=2U3", b"3S5", b"2T", b"2O", b"10i4", b"2 f8", b" 2f8", b"i8,O", b"(4000,)i8", b"{'a':'O'}", b"f8:f8", b""):
        title = code.decode().replace(" ", "-").replace("<", "little-")
        yield from plain(f"numpy-scalar-of-{title}", call(SCALAR, bare(code), octets(b"A\0\0\0" * 6)), "dangerous: numpy.dtype", 3)
    yield from plain("numpy-array-of-2U3", array(bare(b"2U3"), 1, octets(b"A\0\0\0" * 6)), "dangerous: numpy.dtype", 3)
    for title, of in (("a-tuple", many(text("i8"), number(4))), ("a-list", b"]" + many(text("a"), text("O")) + b"a")):
        made = call(SCALAR, call(name("numpy", "dtype"), of, b"\x89", b"\x88"), octets(bytes(32000)))
        yield from plain(f"numpy-scalar-of-{title}", made, "dangerous: numpy.dtype", 3)
    fill = call(SCALAR, bare(b"2U3"), octets(b"A\0\0\0" * 6))
    yield from plain("numpy-fill-value-of-2U3", masked(1, b"]Na", b"\0", fill), "dangerous: numpy.dtype", 3)
    for code in (b"f8", b"<f4", b"float32", b"int64", b"?", b"S5", b">U3", b"M8[ns]", b"datetime64[25s]", b"complex128", b"str_"):
        title = code.decode().replace("<", "little-").replace(">", "big-").replace("?", "truth")
        yield from harmless(f"numpy-type-{title}.pkl", program(bare(code)))
    for code in (b"O", b"|O", b"O8", b"object", b"object_", b"cnumpy\nobject_\n", b"cbuiltins\ndict\n", b"ccollections\nCounter\n"):
        title = code.decode().replace("|", "no-order-").replace("\n", "-")
        yield from plain(f"numpy-bytes-for-an-object-of-{title}", call(SCALAR, bare(code), octets(bytes(8))), "dangerous: numpy._core.multiarray.scalar", 3)


def orders():
    """Objects have none; numpy looks up how they are cast without end."""

    def of_order(code, order):
        return dtype(code, state(63 if code == "O8" else 0, order=order))

    for title, code in (
        ("objects-in-an-order", of_order("O8", text(">"))), ("objects-in-the-machines", of_order("O8", text("="))),
        ("numbers-in-none", of_order("f8", b"N")), ("numbers-in-another", of_order("f8", text("x"))), ("numbers-in-two", of_order("f8", text("<>"))),
    ):  # fmt: skip
        yield from plain(f"numpy-{title}", code, "dangerous: numpy.dtype")
    for order in "<>|=":
        yield from harmless(f"numpy-order-{ord(order)}.pkl", program(of_order("f8", text(order))))


def times():
    """Without what they are counted in."""

    def of(code, *more, version=4):
        return dtype(code, state(0, version=version, order=text("<"), more=more))

    unit = many(octets(b"s"), number(1), number(1), number(1))
    for code in ("M8", "m8"):
        for title, made in (("no-unit", of(code)), ("version-3", of(code, version=3)), ("none-for-a-unit", of(code, b"N")), ("metadata-alone", of(code, b"}"))):
            yield from plain(f"numpy-{code}-of-{title}", made, "dangerous: numpy.dtype", 3)
        yield from harmless(f"numpy-{code}.pkl", program(of(code, many(b"N", unit)), 3))


def matrices():
    """A matrix that has not two dimensions is given them while numpy copies it."""
    matrix = call(RECONSTRUCT, name("numpy", "matrix"), many(number(0)), octets(b"b"))
    around = call(name("numpy.ma.core", "_mareconstruct"), name("numpy.ma", "MaskedArray"), name("numpy", "matrix"), many(number(0)), octets(b"b"))
    for title, made, more, function in (("", matrix, (), "_core.multiarray._reconstruct"), ("-in-a-mask", around, (octets(b"\0"), b"N"), "ma.core._mareconstruct")):
        for count, shape in (("one", many(number(1))), ("no", b")"), ("three", many(number(1), number(1), number(1)))):
            made_so = built(made, b"(" + number(1) + shape + LONG + b"\x89" + octets(bytes(8)) + b"".join(more) + b"t")
            yield from plain(f"numpy-matrix{title}-of-{count}-dimensions", made_so, f"dangerous: numpy.{function}", 3)
        flat = built(made, b"(" + number(1) + many(number(1), number(1)) + LONG + b"\x89" + octets(bytes(8)) + b"".join(more) + b"t")
        yield from harmless(f"numpy-matrix{title}.pkl", program(flat, 3))


def records():
    """numpy sorts them without Python's lock, and asks Python how."""
    yield from plain("numpy-record-that-needs-no-python", array(record(LONG, 0, 0), 1, octets(bytes(8))), "dangerous: numpy.dtype", 3)
    # An aligned one, as numpy before 2 writes it; one of some fields of another that holds objects.
    yield from harmless("numpy-record-that-is-aligned.pkl", program(array(dtype("V8", state(-112, 8, 8, names=many(text("a")), fields=fields(("a", LONG, 0)))), 1, octets(bytes(8))), 3))
    yield from harmless("numpy-record-of-chosen-fields.pkl", program(array(record(LONG, 8, 27, 16), 1, elements(many(number(1)))), 3))
    yield from harmless("numpy-record.pkl", program(array(record(LONG, 0, 16), 1, octets(bytes(8))), 3))


def places_in_records():
    """A record answers as a dict does where a generator is asked for its place."""
    four, eight = dtype("u4", state(0)), dtype("i8", state(0))
    names = many(text("key"), text("pos"))
    row = dtype("V12", state(16, 12, 1, names=names, fields=fields(("key", four, 0), ("pos", eight, 4))))
    scalar, rows = call(SCALAR, row, octets(bytes(4) + b"\0\0\0\xf8" + b"\xff" * 4)), array(row, 1, octets(bytes(12)))
    said = "unknown: numpy.random._pickle.__bit_generator_ctor"
    for title, where in (("scalar", scalar), ("array", rows)):
        told = mapping(("bit_generator", text("MT19937")), ("state", where))
        for place, made in (("", told), ("-with-seeds", many(told, b"N")), ("-with-seeds-in-a-list", elements(told, b"N")), ("-with-more", many(told, b"N", b"N"))):
            yield from harmless(f"numpy-place-in-a-{title}{place}.pkl", program(built(call(GENERATOR, text("MT19937")), made), 3), said)
        itself = built(call(GENERATOR, text("MT19937")), where)
        yield from plain(f"numpy-place-in-a-{title}-itself", itself, "dangerous: numpy.random._pickle.__bit_generator_ctor", 3)
    numbers = array(dtype("u8", state(0)), 4, octets(bytes(32)))
    small = mapping(("bit_generator", text("SFC64")), ("state", mapping(("state", numbers))), ("has_uint32", number(0)), ("uinteger", number(0)))
    yield from harmless("numpy-state-of-a-small-generator.pkl", program(built(call(GENERATOR, text("SFC64")), many(small, b"N")), 3))


GROUPS = (several_by_text, orders, times, matrices, records, places_in_records)
