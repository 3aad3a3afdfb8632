"""What stands behind something that ends a loader: a call of what cannot be called, an item that is refused."""

import dcp_attacks
from attack import Attack, refused
from forge import call, name, program, text
from scan_cases import OLD, hit


def calls():
    encoded = call(name("_codecs", "encode"), text("a"), text("latin1"))
    yield Attack("behind-encoded-bytes.pkl", program(encoded + b")R"), refused("REDUCE calls a value that cannot be called"))
    tagged = call(name("torch.jit._pickle", "restore_type_tag"), b"K\1", text("int"))
    yield Attack("behind-a-tagged-number.pkl", program(b"(" + tagged + b"o"), refused("OBJ calls a value that cannot be called"))


def items():
    """No opcode announces the second, and what lies before it in its file is none."""
    spots = [(dcp_attacks.index(title), dcp_attacks.place(offset=at, length=length)) for title, at, length in (("a", 0, 16), ("b", 16, len(OLD)))]
    folder = dcp_attacks.folder((("a", dcp_attacks.BYTES), ("b", dcp_attacks.BYTES)), spots, item=bytes(16) + OLD)
    yield from hit("dcp-item-behind-a-broken-one", folder, "at byte 0 of item 'b'")


def attacks():
    yield from calls()
    yield from items()
