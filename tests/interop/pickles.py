"""The pickle machine and emitter against Python's own: random graphs, hand-written streams, and damaged ones.

A pickle is put into the smallest torch zip, converted, and taken out again. What it does is compared by recording.py, what
it gives also by Python's real classes, and where the protocol stays, by its bytes.
"""

import io
import os
import pickle
import pickletools
import random
import struct
import zipfile

import graphs
import recording

CODES = {0, 2, 3, 4}
PROTOCOLS = range(6)


def save(path, code):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", code)
        archive.writestr("archive/version", b"3\n")


def convert(checks, code, protocol=None, timeout=20):
    """(the pickle that ckpt writes or None, the run)."""
    source, out = checks.folder / "in.pt", checks.folder / "out.pt"
    save(source, code)
    out.unlink(missing_ok=True)
    options = ["--protocol", str(protocol)] if protocol is not None else []
    done = checks.ckpt("convert", "--quiet", "--allow-unsafe", source, out, *options, timeout=timeout)
    if done.code != 0:
        return None, done
    with zipfile.ZipFile(out) as archive:
        return archive.read("archive/data.pkl"), done


def without_frames(code):
    """The pickle as CPython's pickler would have written it without FRAMEs."""
    ops = [(op.name, at) for op, _, at in pickletools.genops(code)]
    ends = [at for _, at in ops[1:]] + [len(code)]
    return b"".join(code[at:end] for (name, at), end in zip(ops, ends) if name != "FRAME")


def dumps(obj, protocol, how):
    if how == "Python":
        out = io.BytesIO()
        pickle._Pickler(out, protocol).dump(obj)
        return out.getvalue()
    code = pickle.dumps(obj, protocol)
    return pickletools.optimize(code) if how == "optimised" else code


def same(checks, name, source, out, done, real=True, **options):
    """Counts one result: Python does and gets the same from both pickles."""
    if out is None:
        return checks.suite.fail(name, f"{done}\n{listing(source)}")
    lowered = source[1:2] >= b"\x04" and out[:1] + out[1:2] < b"\x80\x04"  # sets are made at once there
    found = recording.difference(recording.record(source, **options), recording.record(out, **options), lowered)
    if not found and real and recording.load(source, **options) != recording.load(out, **options):
        found = "the objects differ: " + recording.part(recording.load(out, **options), recording.load(source, **options))
    return checks.suite.check(name, not found, lambda: f"{found}\nsource: {listing(source)}\noutput: {listing(out)}")


def listing(code):
    return repr(code) if len(code) < 600 else f"{code[:200]!r}… ({len(code)} bytes)"


def random_graphs(checks):
    """Every pickler and protocol to itself, and two of them to each protocol."""
    for seed in range(int(os.environ.get("CKPT_PICKLE_SEEDS", "50"))):
        objects = {floor: graphs.many(random.Random(seed), 12, floor, dropping=seed % 4 == 3) for floor in (0, 2, 4)}
        chosen = random.Random(seed)
        for protocol in PROTOCOLS:
            for how in ("C", "Python", "optimised"):
                name = f"seed {seed}, protocol {protocol}, {how} pickler"
                try:
                    code = dumps(objects[0 if protocol < 2 else 2 if protocol < 4 else 4], protocol, how)
                except RecursionError:  # what only protocol 4 has an end for
                    continue
                out, done = convert(checks, code)
                # CPython's Python pickler forgets, in protocol 0, that it has written a string that it escaped.
                exact = not drops_calls(code) and (protocol, how) != (0, "Python")
                if same(checks, name, code, out, done) and exact:
                    checks.suite.check(f"{name}: the same bytes", out == without_frames(code), lambda: first_difference(code, out))
                if chosen.random() > 0.12:
                    continue
                for target in PROTOCOLS:
                    out, done = convert(checks, code, target)
                    if target < 4 and "has a name that protocol" in done.err:
                        continue
                    same(checks, f"{name}, to {target}", code, out, done)


def drops_calls(code):
    """Whether the pickler has made an object twice, because its arguments lead back to it. ckpt says that in another order."""
    names = [op.name for op, _, _ in pickletools.genops(code)]
    return ("REDUCE", "POP") in zip(names, names[1:])


def first_difference(code, out):
    code = without_frames(code)
    at = next((i for i, (a, b) in enumerate(zip(code, out)) if a != b), min(len(code), len(out)))
    return f"at {at}:\nsource: …{code[max(0, at - 40):at + 80]!r}\noutput: …{out[max(0, at - 40):at + 80]!r}"


def each_alone(checks):
    """One value at a time, so that a failure names it."""
    for value in [*graphs.INTEGERS, *graphs.REALS, graphs.PAYLOAD, *graphs.STRINGS, *graphs.BYTES, *map(bytearray, graphs.BYTES), b"z" * 65536, "z" * 65536]:
        for protocol in PROTOCOLS:
            if value is graphs.PAYLOAD and not protocol:
                continue
            code = pickle.dumps(value, protocol)
            out, done = convert(checks, code)
            checks.suite.check(f"{value!r:.40}, protocol {protocol}: the same bytes", out == without_frames(code), lambda: f"{done}\n{out!r:.200}")
        for target in PROTOCOLS:
            if value is graphs.PAYLOAD and not target:
                continue
            out, done = convert(checks, code, target)
            same(checks, f"{value!r:.40} to protocol {target}", code, out, done)


def text(word):
    return b"X" + struct.pack("<I", len(word)) + word


# Order and time: what a call sees of its arguments. Names are never imported.
ORDER = {
    "append after the call": b"]q\x00cm\nO\nh\x00\x85Rq\x01h\x00h\x01a0.",
    "one call before, one after": b"]q\x00cm\nO\nh\x00\x85Rq\x01h\x00K\x01a0cm\nP\nh\x00\x85Rq\x02(h\x00h\x01h\x02t.",
    "append while the target is on the stack": b"]q\x00cm\nO\nh\x00\x85Rq\x01a.",
    "append to a DUP below a call": b"]2K\x01acm\nO\nq\x000)\x86.",
    "late effects on a list still on the stack": b"]q\x00h\x00K\x01a0K\x02acm\nO\nh\x00\x85Rh\x00K\x03a0\x86.",
    "state after a call that holds it": b"cm\nO\n)\x81q\x00cm\nP\nh\x00\x85Rh\x00}X\x01\x00\x00\x00aK\x01sb0.",
    "calls in another order than their places": b"cm\nA\n)Rq\x000cm\nB\n)Rh\x00\x86.",
    "calls fetched in reverse": b"cm\nA\n)Rq\x000cm\nB\n)Rq\x010cm\nC\n)Rq\x020(h\x02h\x01h\x00t.",
    "a call fetched by a later call's argument": b"cm\nA\n)Rq\x000cm\nB\n)Rq\x01cm\nC\nh\x00\x85R\x86.",
    "a call in a list that is dropped and fetched": b"](cm\nA\n)Rcm\nB\n)Req\x000cm\nC\n)Rh\x00\x86.",
    "a dropped call of a kept list": b"]q\x00cm\nO\nh\x00\x85R0h\x00K\x01a.",
    "a dropped list with a call": b"](cm\nO\n)RK\x01e0N.",
    "dropped state": b"cm\nO\n)\x81q\x00}X\x01\x00\x00\x00aK\x01sb0h\x00cm\nP\nh\x00\x85R\x86.",
    "a dropped tuple of calls": b"cm\nA\n)Rcm\nB\n)R\x860N.",
    "a dropped call used by a kept one": b"cm\nA\n)Rq\x000cm\nB\n)R0cm\nC\nh\x00\x85R.",
    "left on the stack at STOP": b"cm\nA\n)Rcm\nB\n)RK\x07.",
    "POP_MARK of calls": b"(cm\nA\n)Rcm\nB\n)R1cm\nC\n)R.",
    "the pickler's recursive reduce": b"cm\nO\n]q\x00cm\nO\nh\x00\x85Rq\x01a\x85R0h\x01.",
    "the pickler's recursive tuple": b"]q\x00h\x00\x85q\x01a0h\x01.",
    "the pickler's recursive tuple in a call": b"cm\nO\n]q\x00h\x00\x85q\x01a0h\x01R.",
    "a recursive tuple with a call after": b"]q\x00(h\x00cm\nA\n)Rtq\x01acm\nB\nh\x00\x85Rh\x01\x86.",
    "a dict that holds itself": b"}q\x00K\x01h\x00s.",
    "a dict that holds itself, late": b"}q\x00h\x00K\x01h\x00s0.",
    "a list that holds itself twice": b"]q\x00(h\x00h\x00e.",
    "one list under two keys": b"}q\x00(K\x01]q\x01K\x02h\x01u.",
    "BUILD of itself": b"cm\nO\n)\x81q\x00h\x00b.",
    "BUILD cycle of two": b"cm\nO\n)\x81q\x00cm\nP\n)\x81q\x01h\x00bb.",
    "BUILD twice with a call between": b"cm\nO\n)\x81q\x00K\x01bcm\nP\nh\x00\x85R0K\x02b.",
    "BUILD on a class": b"cm\nO\nq\x00K\x01bh\x00)\x81\x86.",
    "a set with a member whose state holds it": b"\x80\x04\x8f\x94(\x8c\x01m\x8c\x01O\x93)\x81\x94h\x00b\x90.",
    "a frozenset whose member holds it": b"\x80\x04(\x8c\x01m\x8c\x01O\x93)\x81\x94(h\x00\x91\x94b1h\x01.",
    "a frozenset after late state": b"cm\nO\n)\x81q\x00h\x00K\x01b0(h\x00\x91.",
    "the result of a call is called": b"cm\nO\n)RK\x01\x85R.",
    "calls within arguments": b"cm\nO\ncm\nP\n)Rcm\nQ\n)R\x86R.",
    "arguments tuple fetched and called twice": b"cm\nO\nK\x01\x85q\x00Rcm\nP\nh\x00R\x86.",
    "INST and OBJ": b"((im\nO\n(cm\nP\nK\x01oK\x05im\nQ\n.",
    "keys and values are calls": b"(cm\nA\n)Rcm\nB\n)Rcm\nC\n)Rcm\nD\n)Rd.",
    "items set on a call": b"cm\nO\n)R(K\x01cm\nA\n)RK\x02cm\nB\n)Ru.",
    "appends to a call": b"cm\nO\n)R(K\x01cm\nA\n)ReK\x05a.",
    "adds to a call": b"cm\nO\n)R(K\x01cm\nA\n)R\x90.",
    "a memo place reused": b"cm\nA\n)Rq\x000cm\nB\n)Rq\x00h\x00\x86.",
    "one object at two places": b"]q\x00q\x07K\x01ah\x00h\x07\x87.",
    "a fetched list changed under a mark": b"]q\x00(K\x01h\x00K\x02a0t.",
    "POP takes a mark": b"K\x01(0.",
    "two PROTOs": b"\x80\x02]\x80\x02K\x01a.",
}

# What only protocol 4 can say: a set that changes after a call has seen it.
NEEDS_4 = {
    "a set that grows after a call": b"\x80\x04\x8f\x94\x8c\x01m\x8c\x01O\x93h\x00\x85R\x94h\x00(h\x01\x900.",
}

PYTHON2 = {
    "BINSTRING and SHORT_BINSTRING": b"(U\x02abT\x03\x00\x00\x00xyzU\x00t.",
    "STRING": b"(S'abc'\nS\"it's\"\nS'a\\'b\\\\c\\n\\x41\\101'\nS''\np0\ng0\nt.",
    "INST of an old class": b"(ifoo\nBar\np0\n(dp1\nS'x'\np2\nI1\nsb.",
    "OBJ of an old class": b"(cfoo\nBar\nI1\noq\x00}q\x01U\x01xK\x01sb.",
    "_reconstructor": b"ccopy_reg\n_reconstructor\np0\n(cfoo\nBar\np1\nc__builtin__\nobject\np2\nNtp3\nRp4\n(dp5\nS'x'\np6\nI5\nsb.",
    "an old OrderedDict": b"ccollections\nOrderedDict\n((lp0\n(lp1\nS'a'\naI1\naa(lp2\nS'b'\naI2\naatR.",
    "LONG lines": b"(L0L\nL5L\nL-5L\nL123456789012345678901234567890L\nL9223372036854775808L\nL12\nt.",
    "renamed builtins": b"(c__builtin__\nunicode\nc__builtin__\nlong\nc__builtin__\nxrange\ncUserList\nOrderedDict\ncitertools\nizip\ncexceptions\nStandardError\nt.",
    "bytes by _codecs": b"c_codecs\nencode\n(V\xff\\u0000\nVlatin1\ntR.",
    "old sets": b"c__builtin__\nset\n((lI1\naI2\natR.",
    "protocol 2 set": b"\x80\x02c__builtin__\nfrozenset\nq\x00]q\x01(K\x01K\x02e\x85q\x02Rq\x03.",
    "an int too long for INT": b"(I99999999999999999999\nI-99999999999999999999\nt.",
    "booleans": b"(I00\nI01\nI0\nI1\nt.",
    "octal and long INT": b"(I007\nI010\nI-010\nt.",
}


def order(checks):
    for name, code in ORDER.items():
        for protocol in (None, *PROTOCOLS):
            out, done = convert(checks, code, protocol)
            same(checks, f"{name}, to {protocol}", code, out, done, real=False)


def late_sets(checks):
    for name, code in NEEDS_4.items():
        for protocol in (None, *PROTOCOLS):
            out, done = convert(checks, code, protocol)
            if protocol is not None and protocol < 4:
                checks.suite.check(f"{name}, to {protocol}: refused", done.code == 3, done)
            else:
                same(checks, f"{name}, to {protocol}", code, out, done, real=False)


def python2(checks):
    for name, code in PYTHON2.items():
        for protocol in (None, *PROTOCOLS):
            out, done = convert(checks, code, protocol)
            for options in ({"encoding": "latin1"}, {"encoding": "utf-8"}, {"encoding": "bytes"}):
                same(checks, f"{name}, to {protocol}, {options}", code, out, done, real=False, **options)


def deep(checks):
    """Nesting that no recursion could follow."""
    for name, code in {"lists": b"]" * 100_000 + b"a" * 99_999 + b".", "tuples": b")" + b"\x85" * 100_000 + b".",
                       "calls": b"cm\nO\nq\x00)R" + b"\x85q\x010h\x00h\x01R" * 30_000 + b"."}.items():
        for protocol in (None, 0, 4):
            out, done = convert(checks, code, protocol)
            checks.suite.check(f"100,000 deep {name}, to {protocol}", done.code == 0, done)


def damage(code, chance):
    code = bytearray(code)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if not code:
            break
        at = chance.randrange(len(code))
        kind = chance.randrange(4)
        if kind == 0:
            code[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            code[at] = chance.choice(b"()0123abcdeghijlopqrstuFGIJKLMNPQRSTUVX]}.\x80\x81\x82\x85\x86\x87\x88\x8a\x8c\x8f\x90\x91\x92\x93\x94\x95\x96\x97\x98")
        elif kind == 2:
            del code[at:at + chance.randrange(1, 4)]
        else:
            other = chance.randrange(len(code))
            code[at:at] = code[other:other + chance.randrange(1, 12)]
    return bytes(code)


def damaged(checks):
    """Nothing crashes or hangs, and what both take means the same to both."""
    count = int(os.environ.get("CKPT_PICKLE_MUTATIONS", "3000"))
    chance = random.Random(1)
    pickles = [pickle.dumps(graphs.many(random.Random(seed), 3, 0, 8), protocol) for seed in (3, 4) for protocol in PROTOCOLS]
    pickles += [code for code in (*ORDER.values(), *PYTHON2.values())]
    taken = broken = 0
    for number in range(count):
        code = damage(chance.choice(pickles), chance)
        target = chance.choice((None, None, *PROTOCOLS))
        out, done = convert(checks, code, target)
        if done.code not in CODES:
            broken += 1
            checks.suite.fail(f"mutation {number}: neither taken nor refused", f"{done}\n{code!r}")
        expected = recording.record(code, encoding="latin1") if out is not None else None
        if out is None or isinstance(expected, recording.Refused):
            continue
        taken += 1
        same(checks, f"mutation {number} to {target}", code, out, done, real=False, encoding="latin1")
    checks.suite.check(f"{count} damaged pickles, of which both take {taken}", not broken and taken > count // 20)


GROUPS = [random_graphs, each_alone, order, late_sets, python2, deep, damaged]
