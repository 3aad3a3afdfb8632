"""`recover` on files of PyTorch's that are cut and damaged: what it writes loads and is what was saved, all that was
whole is there, and the rest is told."""

import gzip
import io
import itertools
import random
import re
import zipfile
import zlib

import saving
import torch
from recover_files import (ISAL_KEEPS, NONE, SOME, WHOLE, Sample, inflated, members, places, repacked, sample, saved,
                           tensors, whole_until)


def is_no_whole_file(done):
    """Damage of a pickle may give a known name what no pickler gives it: that is not written unasked."""
    return done.code in (SOME, NONE) or (done.code == 4 and "(dangerous)" in done.text + done.err)


def cuts_of_zips(checks):
    obj = sample()
    torch_zip = saved(obj)
    forms = {
        "torch's zip": torch_zip,
        "sizes in headers": repacked(torch_zip),
        "ZIP64": repacked(torch_zip, wide=True),
        "no checksums": repacked(torch_zip, check=False),
    }
    for form, data in forms.items():
        place, sample_of = places(data, obj), Sample(checks, obj)
        sample_of.check(f"{form}, whole", data, set(place))
        pickle_end = next(end for name, _, _, end in members(data) if name.endswith("/data.pkl"))
        for member, header, begin, end in members(data):
            for cut in {header, header + 15, begin, (begin + end) // 2, end - 1, end, end + 1, end + 9}:
                if cut >= pickle_end:
                    sample_of.check(f"{form}, cut at {cut} in {member}", data[:cut], whole_until(place, cut))
        for cut in (len(data) - 1, len(data) - 30, len(data) - 400):
            sample_of.check(f"{form}, cut at {cut} in the directory", data[:cut], whole_until(place, cut))


def cuts_of_legacy_files(checks):
    obj = sample()
    data = saved(obj, legacy=True)
    place, sample_of = places(data, obj), Sample(checks, obj)
    sample_of.check("legacy, whole", data, set(place))
    for begin, end in set(place.values()):
        for cut in {begin - 8, begin - 3, begin, (begin + end) // 2, end - 1, end}:
            sample_of.check(f"legacy, cut at {cut}", data[:cut], whole_until(place, cut))
    first = min(begin for begin, _ in place.values())
    for cut in range(1, first, 61):
        sample_of.recover(f"legacy, cut at {cut} of the pickles", data[:cut], NONE)


def cuts_of_pickles(checks):
    """Names that were decoded are told, and nothing is written: the elements come later."""
    obj = sample()
    data = saved(obj)
    sample_of = Sample(checks, obj)
    _, _, begin, end = next(members(data))
    most = 0
    for cut in range(begin + 5, end, 37):
        done = sample_of.recover(f"pickle, cut at {cut}", data[:cut], NONE)
        names = [t["name"] for t in done.json["tensors"]] if done.out else []
        checks.suite.check(f"pickle, cut at {cut}: names", set(names) <= set(sample_of.tensors), done)
        checks.suite.check(f"pickle, cut at {cut}: no name gets lost again", len(names) >= most, done)
        most = len(names)
    checks.suite.check("pickle: nearly all names are told in the end", most >= len(sample_of.tensors) - 1, str(most))


def pickles_behind_storages(checks):
    """With the storages first, what a broken pickle still names is written."""
    obj = sample()
    data = saved(obj)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    pickle = next(name for name in parts if name.endswith("/data.pkl"))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in parts.items():
            if name != pickle:
                archive.writestr(name, content)
        archive.writestr(pickle, parts[pickle])
    turned, sample_of = out.getvalue(), Sample(checks, obj)
    sample_of.check("pickle last, whole", turned, set(sample_of.tensors))
    _, _, begin, end = list(members(turned))[-1]
    for cut in range(begin + 300, end, 53):
        done = sample_of.recover(f"pickle last, cut at {cut}", turned[:cut], SOME)
        if done.code == SOME:
            names = sample_of.check_equal(f"pickle last, cut at {cut}", done)
            checks.suite.equal(f"pickle last, cut at {cut}: told", names, sample_of.told(done))


def cuts_of_gzip(checks):
    obj = sample()
    for form, data in (("zip", saved(obj)), ("legacy", saved(obj, legacy=True))):
        place, sample_of = places(data, obj), Sample(checks, obj)
        half = len(data) // 2
        for packing, packed in (
            ("gzip", gzip.compress(data, 1)),
            ("gzip of several members", gzip.compress(data[:half]) + gzip.compress(data[half:])),
            ("gzip in gzip", gzip.compress(gzip.compress(data, 1), 1)),
        ):
            for cut in range(len(packed) // 9, len(packed), len(packed) // 23):
                if packing == "gzip of several members":
                    there = inflated(packed[:cut])
                    rest = packed[len(gzip.compress(data[:half])) : cut]
                    there += inflated(rest) if len(rest) > 18 else 0
                elif packing == "gzip in gzip":
                    inner = zlib.decompressobj(31).decompress(packed[:cut])
                    there = inflated(inner)
                else:
                    there = inflated(packed[:cut])
                name = f"{form}, {packing}, cut at {cut}"
                certain, possible = whole_until(place, there - ISAL_KEEPS), whole_until(place, there)
                if certain or not possible:  # else the first tensor ends just there, and either will do
                    sample_of.check(name, packed[:cut], certain, possible=possible)


def flips(checks):
    """One byte damaged costs a storage at most, and none where it is of no storage; in the pickle, that is said, and nothing is lost."""
    obj = sample()
    torch_zip = saved(obj)
    chance = random.Random(5)
    forms = {
        "torch's zip": torch_zip,
        "sizes in headers": repacked(torch_zip),
        "deflated": repacked(torch_zip, zipfile.ZIP_DEFLATED),
    }
    for form, data in forms.items():
        sample_of = Sample(checks, obj)
        _, _, begin, end = next(members(data))
        inside = [(b, e, name) for name, _, b, e in members(data)]
        keys = {}
        for name, tensor in sample_of.tensors.items():
            keys.setdefault(tensor.untyped_storage().data_ptr(), set()).add(name)
        hurt = {f"data/{i}": names for i, names in enumerate(keys.values())}
        ats = {(b + e) // 2 for b, e, _ in inside} | {h + chance.randrange(30) for _, h, _, _ in members(data)}
        ats |= {chance.randrange(len(data)) for _ in range(60)} | set(range(len(data) - 22, len(data), 3)) | {0, 3}
        for at in sorted(ats):
            name = f"{form}, byte {at} damaged"
            damaged = data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
            if begin <= at < end:
                sample_of.source.write_bytes(damaged)
                sample_of.out.unlink(missing_ok=True)
                done = checks.ckpt("recover", sample_of.source, sample_of.out)
                is_mended = form != "deflated"  # its checksum tells which bit it is
                said = (done.code == WHOLE if is_mended else is_no_whole_file(done)) and "data.pkl" in done.text + done.err
                checks.suite.check(f"{name}: that is said", said, done)
                if is_mended:
                    checks.same_object(f"{name}: put right", obj, saving.load(sample_of.out, weights_only=False))
                continue
            member = next((n for b, e, n in inside if b <= at < e), "")
            lost = next((names for key, names in hurt.items() if member.endswith("/" + key)), set())
            sample_of.check(name, damaged, set(sample_of.tensors) - lost)


def flips_of_legacy_pickles(checks):
    """Damage in the pickles: what is written is as it was, but for what no checksum can tell (numbers and names)."""
    obj = sample()
    data = saved(obj, legacy=True)
    first = min(begin for begin, _ in places(data, obj).values())
    sample_of = Sample(checks, obj)
    for at in (3, 8, 20, 30, 60, 100):
        damaged = data[:at] + b"\xff" + data[at + 1 :]
        sample_of.check(f"legacy, byte {at} of the first pickles damaged", damaged, set(sample_of.tensors))
    # An opcode that there is none of breaks the object's pickle; the keys and elements behind it are found again.
    calls = [match.start() for match in re.finditer(rb"Rq", data[:first])]
    for at in calls[::3]:
        damaged = data[:at] + b"\xff" + data[at + 1 :]
        sample_of.source.write_bytes(damaged)
        sample_of.out.unlink(missing_ok=True)
        done = checks.ckpt("recover", sample_of.source, sample_of.out, "--json")
        checks.suite.check(f"legacy, call at {at} damaged: exit 1 or 3", is_no_whole_file(done), done)
        if done.code == SOME:
            sample_of.check_equal(f"legacy, call at {at} damaged", done)
    checks.suite.check("legacy: the last calls leave tensors to be written", done.code == SOME, done)
    # The list of keys: torch sorts them, which nothing proves where storages have one size.
    listed = data.rindex(b".\x80\x02]q", 0, first)
    sample_of.source.write_bytes(data[: listed + 12] + b"\xff" + data[listed + 13 :])
    sample_of.out.unlink(missing_ok=True)
    done = checks.ckpt("recover", sample_of.source, sample_of.out, "--json")
    checks.suite.check("legacy, list of keys damaged: exit 1", done.code == SOME and not done.json["certain"], done)
    sample_of.check_equal("legacy, list of keys damaged", done)


def damaged_streams(checks):
    """Deflate that is damaged in the middle: what is before it, and what a checksum of its own vouches for."""
    obj = sample()
    chance = random.Random(11)
    data = saved(obj)
    packed, sample_of = gzip.compress(data, 1), Sample(checks, obj)
    for _ in range(25):
        at = chance.randrange(len(packed) // 3, len(packed) - 8)
        damaged = packed[:at] + bytes([packed[at] ^ 0x10]) + packed[at + 1 :]
        sample_of.source.write_bytes(damaged)
        sample_of.out.unlink(missing_ok=True)
        done = checks.ckpt("recover", sample_of.source, sample_of.out, "--json")
        checks.suite.check(f"gzip, byte {at} damaged: ends", done.code in (WHOLE, SOME, NONE), done)
        if done.code != NONE:
            sample_of.check_equal(f"gzip, byte {at} damaged", done)
    damaged = packed[:-6] + bytes(2) + packed[-4:]
    sample_of.check("gzip, its checksum damaged", damaged, set(sample_of.tensors))
    legacy = gzip.compress(saved(obj, legacy=True), 1)
    done = sample_of.recover("gzip of legacy, its checksum damaged", legacy[:-6] + bytes(2) + legacy[-4:], SOME)
    checks.suite.equal("gzip of legacy, its checksum damaged: told", sample_of.told(done), set(sample_of.tensors))


def around(checks):
    """Bytes before and behind an archive, and members that are gone."""
    obj = sample()
    data = saved(obj)
    sample_of, everything = Sample(checks, obj), set(tensors(obj))
    sample_of.check("bytes in front", b"HTTP/1.1 200 OK\r\n\r\n" + data, everything)
    sample_of.check("bytes behind", data + b"\r\n--boundary--\r\n" * 9000, everything)
    listing = list(members(data))
    for (name, header, _, _), (_, following, _, _) in itertools.pairwise(listing):
        key = name.partition("/data/")[2]
        if not key.isdigit():
            continue
        lost = {n for n, (b, _) in places(data, obj).items() if header < b < following}
        sample_of.check(f"{name} cut out", data[:header] + data[following:], everything - lost)
    _, _, begin, end = listing[0]
    done = sample_of.recover("without its pickle", data[end:], NONE)
    checks.suite.check("without its pickle: said", "data.pkl is lost" in done.err, done)


def states_of_objects(checks):
    """What is made of a tensor in C++ does not load without it: it goes, and the rest loads."""
    model = {"w": torch.ones(1000)}
    for name, value in (
        ("generator", torch.Generator()),
        ("jagged", torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)),
        ("packed parameters", torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(torch.ones(4, 4), 0.1, 0, torch.qint8), torch.zeros(4))),
    ):
        data = bytearray(saved({"model": model, "lost": value}))
        begin = next(begin for member, _, begin, _ in members(bytes(data)) if member.endswith("/data/1"))
        data[begin] ^= 0x55
        source, out = checks.path(), checks.path()
        source.write_bytes(data)
        done = checks.ckpt("recover", source, out, "--allow-unsafe")
        checks.suite.check(f"a state of {name} damaged: exit 1", done.code == SOME, done)
        left = torch.load(out, weights_only=False)
        checks.suite.check(f"a state of {name} damaged: the rest loads", torch.equal(left["model"]["w"], model["w"]) and "lost" not in left, list(left))


def doubts(checks):
    """What nothing vouches for is never called complete, and a word of another length is no other word."""
    obj = sample()
    sample_of, data = Sample(checks, obj), saved(obj)
    pickled = next((begin, end) for name, _, begin, end in members(data) if name.endswith("data.pkl"))
    for at in range(pickled[0] + 3, pickled[1] - 3, 37):
        missing = data[:at] + data[at + 1 :]
        sample_of.source.write_bytes(missing)
        sample_of.out.unlink(missing_ok=True)
        done = checks.ckpt("recover", sample_of.source, sample_of.out, "--json")
        checks.suite.check(f"a byte less of the pickle at {at}: not complete", is_no_whole_file(done), done)
    order = data.index(b"little", data.index(b"byteorder"))
    sample_of.check("byte order damaged", data[:order] + b"lottle" + data[order + 6 :], set(sample_of.tensors))
    legacy = saved(obj, legacy=True)
    sample_of.recover("legacy, bytes put in", legacy[:-8] + bytes(64) + legacy[-8:], SOME)


def choices(checks):
    """Format, compression and dry runs are those of convert."""
    obj = sample()
    sample_of = Sample(checks, obj)
    data = saved(obj)
    place = places(data, obj)
    cut = data[: place["model.wide"][0] + 100]
    whole = whole_until(place, len(cut))
    sample_of.check("as legacy", cut, whole, "--format", "torch-legacy")
    sample_of.check("of protocol", cut, whole, "--verify=full")
    sample_of.out.unlink()
    done = checks.ckpt("recover", sample_of.source, sample_of.out, "--dry-run")
    checks.suite.check("dry run: exit 1", done.code == SOME and not sample_of.out.exists(), done)
    packed = checks.path(".pt.gz")
    done = checks.ckpt("recover", sample_of.source, packed)
    checks.suite.check("gzip: exit 1", done.code == SOME, done)
    with gzip.open(packed) as file:
        checks.suite.equal("gzip: tensors", set(tensors(torch.load(file, weights_only=True))), whole)
    done = checks.ckpt("recover", sample_of.source, sample_of.source)
    checks.suite.check("IN is never replaced", done.code == 2 and sample_of.source.read_bytes() == cut, done)


GROUPS = [
    cuts_of_zips,
    cuts_of_legacy_files,
    cuts_of_pickles,
    pickles_behind_storages,
    cuts_of_gzip,
    flips,
    flips_of_legacy_pickles,
    damaged_streams,
    around,
    states_of_objects,
    doubts,
    choices,
]
