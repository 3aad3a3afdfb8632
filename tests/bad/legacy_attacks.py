"""Files of torch.save before 1.6: a run of pickles and counts, with no directory and no checksum."""

import gzip
import pickle
import struct

from attack import Attack, Outcome, dangerous, fine, in_the_bytes, refused, unsupported
from forge import (
    FLOATS,
    MAGIC,
    SYSTEM,
    WEIGHT,
    call,
    legacy,
    many,
    mapping,
    name,
    number,
    program,
    storage,
    tensor,
    text,
)

ELEMENTS = struct.pack("<q", 4)
HEAD = [pickle.dumps(part, 2) for part in (MAGIC, 1001, SYSTEM)]
CODE = program(mapping(("weight", WEIGHT)))
KEYS = pickle.dumps(["0"], 2)
BEFORE = len(b"".join(HEAD))


def heads():
    shell = call(name("os", "system"), text("echo this must never run > ran"))
    for title, magic in (("one-off", MAGIC + 1), ("negative", -MAGIC), ("small", 7)):
        yield Attack(
            f"legacy-magic-{title}.pt",
            legacy(head=[pickle.dumps(magic, 2), *HEAD[1:]]),
            unsupported("these are several pickles, the first of which holds no tensor"),
        )
    yield Attack("legacy-magic-decimal.pt", legacy(head=[b"L%dL\n." % MAGIC, *HEAD[1:]]), fine("weight"))
    yield Attack(
        "legacy-magic-more-bytes.pt",
        legacy(head=[b"\x80\2\x8b" + struct.pack("<i", 12) + MAGIC.to_bytes(12, "little") + b".", *HEAD[1:]]),
        unsupported("these are several pickles, the first of which holds no tensor"),
    )
    yield Attack(
        "legacy-magic-called.pt",
        legacy(head=[b"\x80\2" + shell + b".", *HEAD[1:]]),
        unsupported("these are several pickles, the first of which holds no tensor"),
    )
    yield Attack(
        "legacy-magic-then-payload.pt",
        legacy(head=[HEAD[0][:-1] + b"0" + shell + b".", *HEAD[1:]]),
        dangerous("os.system"),
    )
    for title, version in (("1000", 1000), ("2-62", 1 << 62), ("big", 1 << 80), ("word", "1001"), ("none", None)):
        yield Attack(
            f"legacy-version-{title}.pt",
            legacy(head=[HEAD[0], pickle.dumps(version, 2), HEAD[2]]),
            unsupported("the file says another protocol version, expected 1001", len(HEAD[0])),
        )
    yield Attack(
        "legacy-version-called.pt",
        legacy(head=[HEAD[0], program(shell), HEAD[2]]),
        unsupported("a pickle that calls for os.system (dangerous): the file says another protocol version"),
    )
    yield Attack(
        "legacy-system-called.pt", legacy(head=[*HEAD[:2], program(mapping(("x", shell)))]), dangerous("os.system")
    )
    yield Attack(
        "legacy-system-list.pt",
        legacy(head=[*HEAD[:2], pickle.dumps([1], 2)]),
        refused("sys_info is no dict", len(HEAD[0] + HEAD[1])),
    )
    yield Attack(
        "legacy-system-big-endian.pt",
        legacy(head=[*HEAD[:2], pickle.dumps({"little_endian": False}, 2)]),
        fine("weight"),
    )
    hostile = legacy(head=[HEAD[0], HEAD[1], program(mapping(("x", shell)))])
    yield Attack(
        "legacy-payload-then-cut.pt",
        hostile[: hostile.index(CODE) + 30],
        refused("a pickle that calls for os.system (dangerous): the pickle ends"),
    )


def lists():
    used, names = "which the list of keys lacks", "the list of keys names storage"
    for title, keys, said in (
        ("empty", [], f"the object uses storage '0', {used}"),
        ("other", ["1"], f"{names} '1', which the object does not use"),
        ("twice", ["0", "0"], f"{names} '0' more than once"),
        ("one-more", ["0", "1"], f"{names} '1', which the object does not use"),
        ("dict", {"0": 0}, "the object is not followed by the list of storage keys"),
        ("of-none", [None], "the object is not followed by the list of storage keys"),
        ("of-lists", [["0"]], "the object is not followed by the list of storage keys"),
        ("string", "0", "the object is not followed by the list of storage keys"),
        ("escape", ["\x1b[31m0"], f"{names} '\\x1b[31m0'"),
    ):
        yield Attack(
            f"legacy-keys-{title}.pt",
            legacy(keys=pickle.dumps(keys, 2), data=ELEMENTS + FLOATS),
            refused(said, BEFORE + len(CODE) if "followed" in said else None),
        )
    payload = b"\x80\2](" + text("0") + call(name("os", "system"), text("x")) + b"0e."
    yield Attack("legacy-keys-called.pt", legacy(keys=payload), dangerous("os.system"))
    yield Attack("legacy-keys-as-numbers.pt", legacy(keys=pickle.dumps([0], 2)), fine("weight"))
    yield Attack(
        "legacy-keys-million.pt",
        legacy(keys=pickle.dumps(["0"] * 1_000_000, 2)),
        refused(f"{names} '0' more than once"),
    )
    two = program(mapping(("a", tensor(storage("0"))), ("b", tensor(storage("1")))))
    yield Attack(
        "legacy-keys-swapped.pt", legacy(two, pickle.dumps(["1", "0"], 2), (ELEMENTS + FLOATS) * 2), fine("2 tensors")
    )


def counts():
    data_at = BEFORE + len(CODE) + len(KEYS)
    for title, count in (("0", 0), ("5", 5), ("minus-1", -1), ("2-62", 1 << 62), ("bytes", 16)):
        said = f"the file counts {count % (1 << 64)} elements"
        yield Attack(
            f"legacy-count-{title}.pt", legacy(data=struct.pack("<q", count) + FLOATS), in_the_bytes(said, data_at)
        )
    nothing = program(tensor(storage(elements=0), (0,)))
    yield Attack(
        "legacy-count-of-nothing.pt",
        legacy(nothing, data=struct.pack("<q", 1)),
        refused("the file counts 1 elements, expected 0"),
    )
    huge = program(mapping(("weight", tensor(storage(elements=1 << 40)))))
    yield Attack(
        "legacy-storage-4-tib.pt",
        legacy(huge, KEYS, struct.pack("<q", 1 << 40) + FLOATS),
        refused("the file ends at byte"),
    )
    for title, elements, said in (
        ("2-62", 1 << 62, "a storage's persistent id has 4611686018427387904 elements of float32"),
        ("minus-1", -1, "a storage's persistent id has a bad element count"),
    ):
        yield Attack(f"legacy-storage-{title}.pt", legacy(program(tensor(storage(elements=elements)))), refused(said))
    both = program(b"](" + tensor(storage("0", elements=1 << 61)) + tensor(storage("1", elements=1 << 61)) + b"e")
    yield Attack(
        "legacy-storages-past-2-64.pt",
        legacy(both, pickle.dumps(["0", "1"], 2)),
        refused("storage '1' reaches past 2^64 bytes"),
    )


def view(key, offset, size):
    return many(text(key), number(offset), number(size))


def views():
    def file(*tensors):
        return legacy(program(b"](" + b"".join(tensors) + b"e"))

    def on(which, shape=(2,), key="0"):
        return tensor(storage(key, more=which), shape)

    for title, which, said in (
        ("past-the-end", view("v", 3, 2), "a storage's persistent id has a view of [3, +2)"),
        ("offset-past", view("v", 5, 0), "a view of [5, +0)"),
        ("offset-2-62", view("v", 1 << 62, 1 << 62), "a view of [4611686018427387904, +4611686018427387904)"),
        ("negative-offset", view("v", -1, 2), "a bad view offset"),
        ("negative-size", view("v", 1, -2), "a bad view size"),
        ("pair", many(text("v"), number(1)), "a view that is no triple"),
        ("number", number(7), "a view that is no triple"),
        ("key-none", many(b"N", number(0), number(2)), "a view key that is no string"),
    ):
        yield Attack(f"legacy-view-{title}.pt", file(on(which)), refused(said))
    yield Attack(
        "legacy-view-smaller-than-its-tensor.pt",
        file(on(view("v", 2, 2), (3,))),
        refused("reaches element 2, expected below 2"),
    )
    yield Attack(
        "legacy-view-key-twice.pt", file(on(view("v", 0, 2)), on(view("v", 2, 2))), refused("the key 'v' for two views")
    )
    yield Attack(
        "legacy-view-key-of-the-storage.pt",
        file(on(view("0", 0, 2))),
        refused("the key '0' for a storage and for a view"),
    )
    yield Attack("legacy-view.pt", file(on(view("v", 2, 2)), on(b"N", (4,)), on(view("v", 2, 2))), fine("3 tensors"))
    yield Attack("legacy-view-of-nothing.pt", file(on(view("v", 4, 0), (0,))), fine("1 tensor"))


def cuts():
    whole = legacy()
    ends = (len(HEAD[0]), len(HEAD[0] + HEAD[1]), BEFORE, BEFORE + len(CODE), BEFORE + len(CODE) + len(KEYS))
    for title, at in (
        ("in-the-version", ends[0] + 2),
        ("before-the-version", ends[0]),
        ("in-sys-info", ends[1] + 20),
        ("before-the-object", ends[2]),
        ("in-the-object", ends[2] + 25),
        ("before-the-keys", ends[3]),
        ("in-the-keys", ends[3] + 4),
    ):
        yield Attack(f"legacy-cut-{title}.pt", whole[:at], refused("the pickle ends", at))
    for title, at in (
        ("before-the-count", ends[4]),
        ("in-the-count", ends[4] + 3),
        ("before-the-elements", ends[4] + 8),
        ("in-the-elements", ends[4] + 17),
        ("last-byte", len(whole) - 1),
    ):
        yield Attack(
            f"legacy-cut-{title}.pt",
            whole[:at],
            refused(f"the file ends at byte {at}, expected {len(whole)} bytes", at),
        )
    yield Attack(
        "legacy-cut-in-the-magic.pt", whole[:6], refused("the pickle ends after 2 of 10 bytes", 6)
    )


def controls():
    yield Attack("legacy-plain.pt", legacy(), fine("weight", "no checksum covers the tensors' bytes"))
    yield Attack(
        "legacy-plain.pt.gz",
        gzip.compress(legacy(), mtime=0),
        {"inspect": Outcome(0, "weight"), "verify": Outcome(0, ": ok (", lacks="no checksum"), "convert": Outcome(0)},
    )
    yield Attack("legacy-after.pt", legacy() + b"more", fine("weight", "4 bytes follow the last storage"))
    yield Attack("legacy-nothing.pt", legacy(program(b"N")), fine("0 tensors"))
    yield Attack(
        "legacy-protocol-0.pt",
        legacy(b"(dS'a'\nI1\ns.", head=[pickle.dumps(part, 0) for part in (MAGIC, 1001, SYSTEM)], keys=b"(l."),
        fine("protocol 0"),
    )


def attacks():
    for group in (heads, lists, counts, views, cuts, controls):
        yield from group()
