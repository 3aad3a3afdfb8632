#!/usr/bin/env python3
"""Every name that ckpt knows, called in every way that a pickle has, with too little, too much and the wrong things, in every
place where a reader looks for a call.

    tests/bad/calls.py --replay build/asan/bin/ckpt_fuzz_replay [--every 25 [--part 7]]

Each pickle goes through the fuzz targets that read such, which end the process where a promise does not hold.
One in N of them is another part each day.
"""

import argparse
import io
import os
import pickle
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402
from forge import FLOATS, MAGIC, SYSTEM, call, many, mapping, name, number, program, storage, tensor, text

NAMES = Path(__file__).resolve().parents[2] / "formats/pickle/known_names.cpp"
# Looked for, and known in other ways or in some of their uses only.
MORE = [("torch.storage", "_load_from_bytes"), ("torch.fx.graph_module", "reduce_graph_module"), ("functools", "partial"),
        ("torch._dynamo.eval_frame", "OptimizedModule"), ("torch.nn.modules.linear", "Linear"), ("__builtin__", "bytes"),
        ("ml_dtypes", "bfloat16"), ("__torch__", "M"), ("torch._utils", "_rebuild_no_such"), ("builtins", "getattr")]
NONE, LIST, DICT = b"N", b"]", b"}"
PER_PROCESS = 2000
DAY = 24 * 60 * 60


def known_names():
    table = NAMES.read_text().split("modules[] = {")[1].split("\n};")[0]
    for module, members in re.findall(r'\{"([\w.]+)",\s*(?://.*)?((?:\s*"[^"]*")+)\}', table):
        yield from ((module, member) for member in "".join(re.findall(r'"([^"]*)"', members)).split())
    yield from MORE


def calls(module, member):
    """Calls of a name, by each opcode that calls."""
    named = name(module, member)
    yield b"(" + named + b"o"
    yield b"(" + named + number(1) + LIST + b"o"
    yield b"(i" + named[1:]
    yield named + b")R"
    yield named + b")\x81"
    yield named + b")}\x92"
    for arguments in ([number(1)], [LIST], [DICT], [named], [number(0)] * 3, [NONE] * 7, [b")"] * 4):
        yield call(named, *arguments)


def changes(made):
    """What was made, and then given a state or items."""
    yield from (made, made + NONE + b"b", made + b")b", made + DICT + b"b", made + NONE + NONE + b"s")


def places(made):
    """Containers, calls and states in which readers look for a call."""
    sizes = [number(0), many(number(4)), many(number(1))]
    rebuild = name("torch._utils", "_rebuild_tensor_v2")
    array = call(name("numpy.core.multiarray", "_reconstruct"), name("numpy", "ndarray"), many(number(0)), text("b"))
    yield call(rebuild, made, *sizes, b"\x89", made)
    yield call(rebuild, storage(), number(0), made, made, made, DICT)
    yield call(name("torch._utils", "_rebuild_parameter"), made, b"\x88", made)
    yield call(name("torch._tensor", "_rebuild_from_type_v2"), rebuild, made, many(storage(), *sizes, b"\x89", DICT), made)
    yield call(name("torch._tensor", "_rebuild_from_type_v2"), made, name("torch", "Tensor"), made, DICT)
    yield array + many(number(1), many(number(4)), made, b"\x89", b"C\x10" + FLOATS) + b"b"
    yield array + many(number(1), made, call(name("numpy", "dtype"), text("f4")), made, made) + b"b"
    yield many(text("storage"), made, text("0"), text("cpu"), number(4)) + b"Q"
    yield made + b"Q"
    yield call(name("torch.storage", "_load_from_bytes"), made)
    yield call(made)
    yield mapping(("a", tensor()), ("_metadata", made)) + b"0" + name("torch.nn.modules.linear", "Linear") + b")\x81" + mapping(
        ("_parameters", made), ("_buffers", made), ("_modules", mapping(("m", made)))) + b"b"


def values():
    for module, member in known_names():
        for made in calls(module, member):
            yield from changes(made)
        for made in (b"(" + name(module, member) + b"o", call(name(module, member))):
            yield from places(made)


# Files around a value: one for each target that reads such.


def archive(*members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as whole:
        for member, data in members:
            whole.writestr(f"a/{member}", data)
    return file.getvalue()


def in_zip(value):
    return archive(("data.pkl", program(mapping(("w", value)))), ("data/0", FLOATS), ("version", b"3\n"))


def in_script(value):
    module = name("__torch__", "M") + b")\x81" + mapping(("w", value)) + b"b"
    code = b"class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  w : Tensor\n"
    return archive(("data.pkl", program(module)), ("constants.pkl", program(b")")), ("code/__torch__.py", code), ("data/0", FLOATS))


def in_legacy(value):
    heads = b"".join(pickle.dumps(head, 2) for head in (MAGIC, 1001, SYSTEM))
    return heads + program(mapping(("w", value))) + pickle.dumps(["0"], 2) + struct.pack("<q", 4) + FLOATS


def in_tar(value):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as whole:
        for member, data in [("storages", pickle.dumps(0, 2)), ("tensors", pickle.dumps(0, 2)), ("pickle", program(mapping(("w", value))))]:
            info = tarfile.TarInfo(member)
            info.size = len(data)
            whole.addfile(info, io.BytesIO(data))
    return file.getvalue()


def in_metadata(value):
    metadata = name("torch.distributed.checkpoint.metadata", "Metadata") + b")\x81"
    return program(metadata + mapping(("state_dict_metadata", mapping(("w", value))), ("planner_data", mapping(("w", value))),
                                      ("storage_data", b"}" + value + value + b"s")) + b"b")


TARGETS = {
    "plain_pickle": program,
    "pickle": program,
    "scan": program,
    "torch_zip": in_zip,
    "torch_legacy": in_legacy,
    "torch_tar": in_tar,
    "torchscript": in_script,
    "dcp": in_metadata,
}


def replay(program, target, files):
    """Gives files to a target, in one process after another. Yields what broke it, and what it said."""
    while files:
        try:
            done = subprocess.run([program, target, *files], capture_output=True, timeout=600,
                                  env={**os.environ, "TMPDIR": os.path.dirname(files[0])})  # where what is ended may leave its own
        except subprocess.TimeoutExpired as late:
            done = subprocess.CompletedProcess(program, "none in 10 minutes", late.stdout or b"", late.stderr or b"")
        if done.returncode == 0:
            return
        begun = done.stdout.splitlines()
        if not begun:
            raise RuntimeError(f"{program} does not run: exit {done.returncode}: {done.stderr.decode('utf-8', 'replace')[-1500:]}")
        yield files[len(begun) - 1], f"exit {done.returncode}: {done.stderr.decode('utf-8', 'backslashreplace')[-1500:]}"
        files = files[len(begun):]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replay", required=True, help="the program ckpt_fuzz_replay")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one in N of them (all take half an hour under sanitizers)")
    parser.add_argument("--part", type=int, default=int(time.time()) // DAY, help="which of these N (the day's)")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this one; may be repeated")
    options = parser.parse_args()
    every = list(values())
    suite = harness.Suite()
    tried = 0
    print(f"one in {options.every}; again: --every {options.every} --part {options.part % options.every}", flush=True)
    for first, target in enumerate(options.target or TARGETS):
        chosen = every[(first + options.part) % options.every::options.every]
        tried += len(chosen)
        for begin in range(0, len(chosen), PER_PROCESS):
            with tempfile.TemporaryDirectory(prefix="ckpt-calls-") as folder:
                files = []
                for i, value in enumerate(chosen[begin:begin + PER_PROCESS]):
                    files.append(f"{folder}/{i}")
                    Path(files[-1]).write_bytes(TARGETS[target](value))
                broken = 0
                for file, said in replay(options.replay, target, files):
                    broken += 1
                    suite.fail(f"{target}: {Path(file).read_bytes()!r}", said)
                suite.ok(len(files) - broken)
    if not options.target:
        suite.figure("calls.names", len(list(known_names())))
        suite.figure("calls.pickles", len(every))
        suite.figure("calls.readers", len(TARGETS))
        suite.figure("calls.tried", tried)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
