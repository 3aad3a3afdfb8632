"""Pickles, archives and legacy files made by hand, every part of which can be told to lie."""

import pickle
import struct
import zlib
from dataclasses import dataclass

FLOATS = struct.pack("<4f", 0, 1, 2, 3)
MAGIC = 0x1950A86A20F9469CFC6C
SYSTEM = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}


# Pickles: each gives code, the operands' code in front.


def program(body, protocol=2):
    return b"\x80" + bytes([protocol]) + body + b"."


def text(value):
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    return b"X" + struct.pack("<I", len(data)) + data


def number(value):
    return (
        b"\x8a" + bytes([9]) + value.to_bytes(9, "little", signed=True)
        if not 0 <= value < 256
        else b"K" + bytes([value])
    )


def name(module, member):
    return b"c" + module.encode() + b"\n" + member.encode() + b"\n"


def stack_name(module, member):
    return text(module) + text(member) + b"\x93"


def many(*items):
    return b"(" + b"".join(items) + b"t"


def call(callable, *arguments):
    return callable + many(*arguments) + b"R"


def mapping(*pairs):
    return b"}(" + b"".join(text(key) + value if isinstance(key, str) else key + value for key, value in pairs) + b"u"


def storage(key="0", kind="FloatStorage", location="cpu", elements=4, module="torch", more=b""):
    parts = [text("storage"), name(module, kind), text(key), text(location), number(elements)]
    return many(*parts, more) + b"Q"


def tensor(where=None, shape=(4,), stride=(1,), offset=0):
    return call(
        name("torch._utils", "_rebuild_tensor_v2"),
        storage() if where is None else where,
        number(offset),
        many(*map(number, shape)),
        many(*map(number, stride)),
        b"\x89",
        call(name("collections", "OrderedDict")),
    )


WEIGHT = tensor()


def beside(payload):
    """A state dict's worth of innocence, and `payload`."""
    return program(mapping(("weight", WEIGHT), ("x", payload)))


# Archives.


@dataclass
class Part:
    """A member. `local_…` and the rest, where given, are what its headers say instead of the truth."""

    name: str | bytes
    data: bytes = b""
    deflate: bool = False
    flags: int = 0
    method: int | None = None
    crc: int | None = None
    size: int | None = None
    compressed: int | None = None
    offset: int | None = None
    attributes: int = 0
    disk: int = 0
    extra: bytes = b""
    local_extra: bytes = b""
    local_name: str | bytes | None = None
    local_method: int | None = None
    local_flags: int | None = None
    local_crc: int | None = None
    local_size: int | None = None
    local_compressed: int | None = None
    gap: bytes = b""  # before its local header
    after: bytes = b""  # behind its data: a descriptor


def encoded(value):
    return value.encode() if isinstance(value, str) else value


def first(*values):
    return next(v for v in values if v is not None)


def deflated(data, level=9):
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def gzip_member(data, level=9):
    """One without optional fields, as files with an index have them."""
    head = struct.pack("<2sBBIBB", b"\x1f\x8b", 8, 0, 0, 0, 255)
    return head + deflated(data, level) + struct.pack("<II", zlib.crc32(data), len(data))


def gzip_index(records, level=1):
    """Of (bytes compressed, bytes inflated, CRC-32) of each member: docs/formats/gzip.md."""

    def empty(content):
        extra = b"CK" + struct.pack("<H", len(content)) + content
        return struct.pack("<2sBBIBBH", b"\x1f\x8b", 8, 4, 0, 0, 255, len(extra)) + extra + b"\3" + bytes(9)

    content = b"".join(struct.pack("<III", *record) for record in records)
    sums = [sum(record[i] for record in records) for i in (0, 1)]
    footer = b"ckpt-gz1" + struct.pack("<QQQII", len(records), sums[1], sums[0], zlib.crc32(content), level)
    return b"".join(empty(content[at : at + 65_520]) for at in range(0, len(content), 65_520)) + empty(footer)


def gzip_records(members, sizes):
    return [(len(one), size, zlib.crc32(one)) for one, size in zip(members, sizes)]


def archive(
    parts,
    comment=b"",
    after=b"",
    before=b"",
    count=None,
    count_here=None,
    directory_size=None,
    directory_offset=None,
    comment_size=None,
    zip64=None,
    disk=0,
    shift=0,
    directory_tail=b"",
):
    """`zip64`: the fields (members, size, offset) of a ZIP64 end record, or True for true ones."""
    out, entries = bytearray(before), bytearray()
    for part in parts:
        title = encoded(part.name)
        data = deflated(part.data) if part.deflate else part.data
        method = first(part.method, 8 if part.deflate else 0)
        crc = first(part.crc, zlib.crc32(part.data))
        size, compressed = first(part.size, len(part.data)), first(part.compressed, len(data))
        out += part.gap
        at = len(out) + shift
        local_title = encoded(first(part.local_name, title))
        out += struct.pack(
            "<4s5H3I2H",
            b"PK\3\4",
            20,
            first(part.local_flags, part.flags),
            first(part.local_method, method),
            0,
            0x21,
            first(part.local_crc, crc),
            first(part.local_compressed, compressed),
            first(part.local_size, size),
            len(local_title),
            len(part.local_extra),
        )
        out += local_title + part.local_extra + data + part.after
        entries += struct.pack(
            "<4s6H3I5H2I",
            b"PK\1\2",
            20,
            20,
            part.flags,
            method,
            0,
            0x21,
            crc,
            compressed,
            size,
            len(title),
            len(part.extra),
            0,
            part.disk,
            0,
            part.attributes,
            first(part.offset, at),
        )
        entries += title + part.extra
    entries += directory_tail
    start, members = len(out) + shift, len(parts)
    out += entries
    if zip64:
        fields = (members, len(entries), start) if zip64 is True else zip64
        record = len(out)
        out += struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, fields[0], *fields)
        out += struct.pack("<4sIQI", b"PK\6\7", 0, record, 1)
    out += struct.pack(
        "<4s4H2IH",
        b"PK\5\6",
        disk,
        disk,
        first(count_here, count, members),
        first(count, members),
        first(directory_size, len(entries)),
        first(directory_offset, start),
        first(comment_size, len(comment)),
    )
    return bytes(out) + comment + after


def torch_parts(code=None, data=None, root="r", **of_pickle):
    """data.pkl, the storages, version: [0] is the pickle, [1] storage 0 where it has one."""
    code = program(mapping(("weight", WEIGHT))) if code is None else code
    if data is None:
        data = {"0": FLOATS} if b"Storage\n" in code else {}
    return [
        Part(f"{root}/data.pkl", code, **of_pickle),
        *(Part(f"{root}/data/{key}", content) for key, content in data.items()),
        Part(f"{root}/version", b"3\n"),
    ]


def torch_zip(code=None, data=None, more=(), **shape):
    return archive([*torch_parts(code, data), *more], **shape)


# Legacy files.


def legacy(code=None, keys=None, data=None, head=None):
    """`head`: the pickles before the object; `keys`: the pickle after it; `data`: all that follows."""
    code = program(mapping(("weight", WEIGHT))) if code is None else code
    held = ["0"] if b"Storage\n" in code else []
    head = [pickle.dumps(part, 2) for part in (MAGIC, 1001, SYSTEM)] if head is None else head
    keys = pickle.dumps(held, 2) if keys is None else keys
    data = b"".join(struct.pack("<q", 4) + FLOATS for _ in held) if data is None else data
    return b"".join(head) + code + keys + data


# numpy's files.


def npy(line=None, data=FLOATS, version=1, length=None, descr="<f4", shape="(4,)", fortran="False"):
    """`line`: the whole header; `length`: what is said of its size instead of the truth."""
    line = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n" if line is None else line
    line = encoded(line)
    length = struct.pack("<H" if version == 1 else "<I", len(line) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + length + line + data


def npz(*arrays, **shape):
    return archive([Part(f"w{i}.npy", array) for i, array in enumerate(arrays)], **shape)


# safetensors files.


def tensor_info(dtype="F32", shape="[4]", begin=0, end=16):
    return f'{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}'


def safetensors(header=None, data=FLOATS, length=None):
    """`header`: the whole JSON; `length`: what is said of its size instead of the truth."""
    header = encoded(f'{{"weight":{tensor_info()}}}' if header is None else header)
    return struct.pack("<Q", len(header) if length is None else length) + header + data
