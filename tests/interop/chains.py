"""Random checkpoints through random chains of ten operations: ckpt's result is what PyTorch and Python make of the same.

A chain is cut into commands at random: some of its operations are the options of one `convert`, others stand alone. After each command names, order, dtypes, shapes, strides, bits, devices, what shares storage, and all other values are
compared. A failure names its seed: `run.py --ckpt BIN chains` with CKPT_CHAIN_SEED=N repeats it alone.
"""

import gzip
import io
import os
import random
import shlex
import traceback
import zipfile

import chain_names as names
import chain_objects as objects
import chain_tensors as tensors
import torch
from chain_names import UNSUPPORTED, USAGE, Refused
from equal import Comparer
from saving import WAYS, Way, tagged
from torch_worker import named_tensors

CHAINS, OPERATIONS = 250, 10
DEVICES = ["cpu", "cuda:0", "cuda:1", "mps"]
PREFIXES = ["module.", "_orig_mod.", "a.b.", "ü_", "net."]
RULES = [
    (r"^module\.", ""),
    (r"\.", "/"),
    (r"weight$", "w"),
    (r"^(\w+)\.", r"net.\1."),
    (r"(\d+)", r"n\1"),
    (r"fc|head", "classifier"),
    ("^", "x."),
    (r"\.norm\.", "."),
    ("[aeiou]+", ""),
    (r"\.(weight|bias)$", r".\1.\1"),
]
DTYPES = "float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2".split()


def protocol_of(data):
    """Of a zip's pickle, or of a legacy file's first; those before 2 do not say theirs, and are 0."""
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            data = file.read(next(name for name in file.namelist() if name.endswith("/data.pkl")))
    return data[1] if data[0] == 0x80 else 0


class State:
    """What PyTorch has loaded, where its storages are tagged to lie, and the file that it came from."""

    def __init__(self, path):
        data = path.read_bytes()
        self.packed = data[:2] == b"\x1f\x8b"
        data = gzip.decompress(data) if self.packed else data
        self.legacy = data[:2] != b"PK"
        self.protocol = protocol_of(data)
        self.tags, self.alive = {}, []
        self.obj = torch.load(io.BytesIO(data), map_location=self.note, weights_only=False)

    def note(self, storage, tag):
        self.tags[storage._cdata] = tag
        self.alive.append(storage)
        return storage

    def tag(self, tensor):
        """None of what has no bytes: PyTorch gives each such tensor a storage of its own when it loads it."""
        storage = tensor.untyped_storage()
        return self.tags[storage._cdata] if storage.nbytes() else None

    def storage(self, storage, origin):
        """A new one, which lies where that of `origin` does."""
        return self.note(storage, self.tag(origin))

    def devices(self):
        return [self.tag(tensor) for tensor in tensors.tensors_in(self.obj)]


# An operation: (rank in convert's order, words, what it does to a State).


def device(r, state):
    if r.random() < 0.5:
        there = r.choice(["cpu", "cuda", "cuda:1", "mps"])
        return ["--to", there], {"*": "cuda:0" if there == "cuda" else there}
    rules = {source: r.choice(DEVICES) for source in r.sample(["cpu", "cuda:0", "cuda:1", "cuda", "mps", "*"], r.randrange(1, 4))}
    return [word for rule in rules.items() for word in ("--map", "=".join(rule))], rules


def move(state, rules):
    for storage, tag in state.tags.items():
        if tag is None:
            continue
        kind = tag.partition(":")[0]
        rule = next((rules[source] for source in (tag, kind, "*") if source in rules), tag)
        state.tags[storage] = rule


def glob(r, state):
    """Of a name that there is, or a part of one."""
    there = list(names.paths(state.obj)) or ["x"]
    path = r.choice(there)
    if r.random() < 0.4:
        begin, end = sorted(r.randrange(len(path) + 1) for _ in range(2))
        path = ("*" if r.random() < 0.5 else "") + path[begin:end] + "*"
    plain = "".join(c if c == "*" or c.isalnum() or c in "._ " else "?" for c in path)
    return plain or "?"


def select(state, keeps, drops, strips):
    had = names.has_tensors(state.obj)
    if keeps:
        names.keep(state.obj, names.matcher(keeps))
        if not names.has_tensors(state.obj):
            raise Refused(USAGE)
    if drops:
        names.drop(state.obj, names.matcher(drops))
    if strips:
        names.strip_optimizer(state.obj)
    if had and not names.has_tensors(state.obj):
        raise Refused(USAGE)


class Command:
    """One convert: options of each kind at most once, done in convert's order whatever the order they are given in."""

    def __init__(self, r, state, kinds):
        self.name, self.words, self.options = "convert", [], {}
        for kind in kinds:
            words, option = getattr(self, f"plan_{kind}")(r, state)
            self.words.append(words)
            self.options[kind] = option
        r.shuffle(self.words)
        self.words = [word for words in self.words for word in words]
        if kinds in (["strip_prefix"], ["add_prefix"]) and r.random() < 0.5:
            self.name, self.words = kinds[0].replace("_", "-"), ["--prefix", *self.options.values()]

    def plan_to(self, r, state):
        return device(r, state)

    def plan_keep(self, r, state):
        globs = [glob(r, state) for _ in range(r.randrange(1, 4))]
        return [f"--keep={pattern}" for pattern in globs], globs

    def plan_drop(self, r, state):
        globs = [glob(r, state) for _ in range(r.randrange(1, 3))]
        return [f"--drop={pattern}" for pattern in globs], globs

    def plan_strip_prefix(self, r, state):
        prefix = r.choice(PREFIXES)
        return ["--strip-prefix" if prefix == "module." else f"--strip-prefix={prefix}"], prefix

    def plan_add_prefix(self, r, state):
        prefix = r.choice(PREFIXES)
        return ["--add-prefix" if prefix == "module." else f"--add-prefix={prefix}"], prefix

    def plan_rename(self, r, state):
        rules = r.sample(RULES, r.randrange(1, 3))
        return [f"--rename={pattern}={new}" for pattern, new in rules], rules

    def plan_dtype(self, r, state):
        dtype = r.choice(DTYPES)
        globs = [glob(r, state)] if r.random() < 0.3 else []
        return ["--dtype", dtype, *(f"--dtype-except={pattern}" for pattern in globs)], (dtype, globs)

    def plan_protocol(self, r, state):
        protocol = r.randrange(6)
        return ["--protocol", str(protocol)], protocol if protocol > 1 else 0

    def plan_format(self, r, state):
        name = r.choice(["torch", "torch-legacy"])
        return ["--format", name], name

    def plan_gzip(self, r, state):
        word = r.choice(["--gzip", "--gzip=6", "--no-gzip"])
        return [word], word != "--no-gzip"

    def flag(name):
        return lambda self, r, state: ([f"--{name}"], True)

    plan_strip_optimizer, plan_contiguous = flag("strip-optimizer"), flag("contiguous")
    plan_compact, plan_dedupe = flag("compact"), flag("dedupe")

    def apply(self, state):
        """Throws Refused where ckpt has to refuse."""
        o = self.options
        if any(kind in o for kind in ("keep", "drop", "strip_optimizer")):
            select(state, o.get("keep"), o.get("drop"), o.get("strip_optimizer"))
        if "to" in o:
            move(state, o["to"])
        if "strip_prefix" in o:
            names.strip_prefix(state.obj, o["strip_prefix"])
        if "add_prefix" in o:
            names.add_prefix(state.obj, o["add_prefix"])
        if "rename" in o:
            names.rename(state.obj, o["rename"])
        for kind in ("contiguous", "compact", "dedupe"):
            if kind in o:
                getattr(tensors, kind)(state)
        if "dtype" in o:
            dtype, globs = o["dtype"]
            matches = names.matcher(globs)
            keeps = [t for name, t in named_tensors(state.obj) if matches(name)]
            tensors.to_dtype(state, getattr(torch, dtype), keeps)
        state.protocol = o.get("protocol", state.protocol)
        state.packed = o.get("gzip", state.packed)
        state.legacy = o.get("format", "torch-legacy" if state.legacy else "torch") == "torch-legacy"
        if state.legacy and any(t.dtype in objects.UNTYPED for t in tensors.tensors_in(state.obj)):
            raise Refused(UNSUPPORTED)


KINDS = [name.removeprefix("plan_") for name in dir(Command) if name.startswith("plan_")]


def cut(r, kinds):
    """Ten operations in a row as the commands that do them: no command has one kind twice."""
    commands = [[]]
    for kind in kinds:
        if kind in commands[-1] or commands[-1] and r.random() < 0.25:
            commands.append([])
        commands[-1].append(kind)
    return commands


def saved(r, path):
    """A new checkpoint in a file; None where PyTorch cannot save it that way."""
    way = r.choice([*WAYS, Way("zip"), Way("zip")])
    obj = objects.checkpoint(r, objects.LEGACY if way.legacy else objects.DTYPES)
    with tagged(*r.sample(DEVICES, r.randrange(1, 3))):
        return way.save(obj, path)


class Comparison(Comparer):
    def storage(self, path, a, b):
        empty = not isinstance(a, torch.TypedStorage) and not a.untyped_storage().nbytes() + b.untyped_storage().nbytes()
        if not empty:
            super().storage(path, a, b)


def compare(expected, path):
    got = State(path)
    found = Comparison().run(expected.obj, got.obj)
    for what in ("packed", "legacy", "protocol"):
        if getattr(got, what) != getattr(expected, what):
            found.append(f"{what} is {getattr(got, what)}, not {getattr(expected, what)}")
    if not found and got.devices() != expected.devices():
        found.append(f"devices {expected.devices()} became {got.devices()}")
    return found


def chain(checks, seed):
    """How many commands succeeded; None where there was nothing to do."""
    r = random.Random(seed)
    source = checks.path()
    if not saved(r, source):
        return None
    operations = r.choices(KINDS, k=OPERATIONS)
    if tensors.bare_storages(State(source).obj):  # which is tied to an equal one, is a matter of the file's order
        operations = [kind for kind in operations if kind != "dedupe"]
    first, lines, done = source, [], 0
    for kinds in cut(r, operations):
        expected = State(source)
        command, out = Command(r, expected, kinds), checks.path()
        code = 0
        try:
            command.apply(expected)
        except Refused as refused:
            code = refused.code
        ran = checks.ckpt(command.name, source, out, *command.words)
        lines.append(f"ckpt {command.name} {source.name} {out.name} {shlex.join(command.words)}")
        told = f"seed {seed}: {first.name} was made from it\n" + "\n".join(lines)
        if not checks.suite.check(f"chain {seed}: exit {code}", ran.code == code, f"{told}\n{ran.err}"):
            return done
        if code:
            checks.suite.check(f"chain {seed}: no output", not out.exists(), told)
            continue
        found = compare(expected, out)
        if not checks.suite.check(f"chain {seed}: equal", not found, lambda: "\n".join([told, *found])):
            return done
        if source != first:
            source.unlink()
        source, done = out, done + 1
    return done


def attempt(checks, seed):
    try:
        return chain(checks, seed)
    except Exception as error:
        checks.suite.fail(f"chain {seed}: breaks the test", "".join(traceback.format_exception(error)))
        return 0


def random_chains(checks):
    torch.set_num_threads(1)
    alone = os.environ.get("CKPT_CHAIN_SEED")
    seeds = [int(alone)] if alone else range(CHAINS)
    results = [done for done in (attempt(checks, seed) for seed in seeds) if done is not None]
    commands = sum(results)
    if not alone:
        checks.suite.check("chains: most are not idle", commands > 2 * CHAINS, f"{commands} commands")
        checks.suite.figure("interop.chain-checkpoints", len(results))
        checks.suite.figure("interop.chain-commands", commands)


GROUPS = [random_chains]
