"""Ways to reach code from a file, whether or not a format's reader would take it: `ckpt scan` must name each. And what
looks like one and is none."""

import gzip
import struct

import dcp_attacks
import gguf_attacks
import scan_beside
import scan_forms
import scan_hidden
import scan_loading
import scan_numpy
import scan_states
import scan_unpacked
import tar_attacks
from forge import (
    Part,
    archive,
    call,
    legacy,
    mapping,
    name,
    npy,
    npz,
    program,
    safetensors,
    storage,
    tensor,
    tensor_info,
    text,
    torch_parts,
    torch_zip,
)
from scan_cases import EVIL, GOOD, OLD, WHOLE, harmless, octets
from scan_misuse import arrays, attributes, dtypes, gadgets, memory, series
from scan_pickles import behind, broken_tails, frames, leniencies, memos, nested, opcodes, protocols, results_thrown_away, strange_names
from scan_containers import behind_others, bombs, code_members, in_a_row, indexes, links, other_containers, other_formats, packed, scripts, zips


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
    weights = {"safetensors": safetensors(), "gguf": gguf_attacks.gguf()}
    for length in (128, 640, 8064, 376, 40056):  # of a header: they are spelt as the beginnings of pickles and of zlib streams
        weights[f"header-of-{length}.safetensors"] = safetensors(f'{{"weight":{tensor_info()}}}'.ljust(length))
    for title, data in weights.items():
        yield from harmless(f"weights.{title}", data, ": safe (no pickle)")
        yield from harmless(f"weights.{title}.gz", gzip.compress(data), ": safe (no pickle)")
        yield from harmless(f"weights.{title}.tar", tar_attacks.tar(tar_attacks.member(b"notes", b"of them"), tar_attacks.member(b"w", data)), ": safe (no pickle)")
    yield from harmless("distributed", dcp_attacks.folder())
    yield from harmless("items-one-after-the-other.distcp", WHOLE * 3)
    yield from harmless("tar.tar", tar_attacks.tar(tar_attacks.member(b"w", WHOLE)))
    wide = archive(torch_parts(GOOD), zip64=True)  # as torch.save ends every archive
    for title, members in (("behind-it", [("w.pt", wide), ("notes", b"of it")]), ("in-front", [("config.json", b"{}" * 600 + b"\n"), ("w.pt", wide)])):
        data = tar_attacks.tar(*(tar_attacks.member(title.encode(), content) for title, content in members))
        yield from harmless(f"tar-of-torch-and-{title}.tar", data, ": safe (1 pickle")
        yield from harmless(f"tar-of-torch-and-{title}.tar.gz", gzip.compress(data), ": safe (1 pickle")
    yield from harmless("torch-tar.tar", tar_attacks.torch_tar())
    yield from harmless("third-party.pkl", program(call(name("mylab.nets", "Net"))), "unknown: mylab.nets.Net, called")
    prose = {"LICENSE": b"(c) Copyright\nby many\nN.", "config.py": b"config = 1\nimport os\nos.system('true')\n", "data.json": b"[1, 2]"}
    yield from harmless("folder-of-prose", prose | {"m.pt": WHOLE}, "; 3 skipped")


GROUPS = (*scan_beside.GROUPS, *scan_unpacked.GROUPS, *scan_forms.GROUPS, *scan_states.GROUPS, *scan_hidden.GROUPS, *scan_loading.GROUPS, *scan_numpy.GROUPS, protocols, opcodes, memos, frames, strange_names, dtypes, memory, arrays, gadgets, attributes, series, leniencies, results_thrown_away, broken_tails, behind, nested, zips, in_a_row, behind_others, scripts, code_members, indexes, links, other_containers, other_formats, packed,
          bombs, controls)


def attacks():
    for group in GROUPS:
        yield from group()
