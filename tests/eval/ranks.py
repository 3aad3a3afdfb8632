"""Several processes count what one counts, and end in bounded time, with the reason, where one of them does not."""

import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from evaluations import (CAPTCHA_MODEL, CAPTCHA_SET, DIGITS, DIGITS_MODEL, DONE, INPUT, OF_EACH_RUN, UNAVAILABLE, USAGE,
                         digits_state, ends, loaded, result, saved)  # fmt: skip
from harness import environment
from rank_processes import BOUND, HANGS, World, free_port, torchrun

ON_CPU = ("--device", "cpu")  # elsewhere the first rank would take the GPU, and the others the CPU
LONG = 4000  # captchas: some ten seconds of work, so that a rank can be stopped in the middle


def without(found, *keys):
    return {key: value for key, value in found.items() if key not in (*OF_EACH_RUN, *keys)}


def same_json(t, name, text, alone, size):
    """One object, that of one process but for what no two runs share."""
    try:
        found = json.loads(text)
    except ValueError:
        return t.suite.fail(name, f"no JSON, or more than one: {text}")
    t.suite.equal(f"{name}: keys", list(found), list(alone))
    t.suite.equal(f"{name}: ranks", found["ranks"], size)
    t.suite.equal(name, without(found, "ranks"), without(alone, "ranks"))


def by_torchrun(t):
    for model, data, sizes in [(DIGITS_MODEL, DIGITS, (1, 2, 3)), (CAPTCHA_MODEL, CAPTCHA_SET, (3,))]:
        table = t.path(".csv")
        alone = result(t, "alone", model, data, *ON_CPU, "--predictions", table)
        for size in sizes:
            name, together, page = f"{model.stem}, {size} ranks", t.path(".csv"), t.path(".html")
            done = torchrun(t, size, model, "--data", data, *ON_CPU, "--json", "--predictions", together, "--report", page)
            if t.suite.check(f"{name}: exit 0", done.code == DONE, lambda: done.text + done.err):
                same_json(t, name, done.text, alone, size)
                t.suite.equal(f"{name}: said once", done.err.count("ckpt strip-prefix"), int(model == DIGITS_MODEL))
                t.suite.check(f"{name}: predictions", close(table, together))
                t.suite.check(f"{name}: a page", "</html>" in page.read_text())
    done = torchrun(t, 2, DIGITS_MODEL, "--data", t.folder / "none")
    t.suite.check("a failure", done.code != DONE and str(t.folder / "none") in done.err, lambda: done.err)
    done = torchrun(t, 2, DIGITS_MODEL, "--data", DIGITS, "--min-accuracy", "99%")
    t.suite.check("a bar that is missed", done.code != DONE and "is below" in done.text, lambda: done.text + done.err)


def close(one, other):
    """Two tables of predictions, the same but for rounding."""
    first, second = one.read_text().splitlines(), other.read_text().splitlines()
    same = len(first) == len(second) and first[0] == second[0]
    for a, b in zip(first[1:], second[1:]):
        (a, p), (b, q) = a.rsplit(",", 1), b.rsplit(",", 1)
        same &= a == b and abs(float(p) - float(q)) < 1e-5
    return same


def by_variables(t):
    """As one sets them by hand, and as Slurm does."""
    images, labels = loaded(DIGITS)
    few = saved(t, (images[:2], labels[:2]))
    for name, size, data, slurm in [
        ("by hand", 2, DIGITS, False),
        ("Slurm", 2, DIGITS, True),
        ("one rank", 1, DIGITS, False),
        ("more ranks than samples", 4, few, False),
    ]:
        alone = result(t, name, DIGITS_MODEL, data, *ON_CPU)
        outputs = t.path(".npz")
        words = [DIGITS_MODEL, "--data", data, *ON_CPU, "--json", "--outputs", outputs]
        ranks = World(t, size, *words, slurm=slurm).wait()
        for rank, done in enumerate(ranks):
            t.suite.check(f"{name}, rank {rank}: exit 0", done.code == DONE, done)
            if rank:
                t.suite.equal(f"{name}, rank {rank}: silent", done.text + done.err, "")
        same_json(t, name, ranks[0].text, alone, size)
        if data == DIGITS:
            one = t.path(".npz")
            t.ckpt("eval", DIGITS_MODEL, "--data", data, "--outputs", one)
            diff = t.ckpt("diff", one, outputs, "--atol", "1e-4")
            t.suite.check(f"{name}: outputs", diff.code == DONE, diff)


def with_a_baseline(t):
    """The model of the baseline is evaluated by all ranks, too."""
    alone = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--baseline", DIGITS_MODEL, "--json")
    ranks = World(t, 2, DIGITS_MODEL, "--data", DIGITS, "--baseline", DIGITS_MODEL, "--json").wait()
    t.suite.equal("exit 0", [rank.code for rank in ranks], [DONE, DONE], "\n".join(map(str, ranks)))
    same_json(t, "the same", ranks[0].text, alone.json, 2)


def warnings_of_others(t):
    """What only another rank warned of is said by rank 0, and stands in its result."""
    t.ckpt("convert", DIGITS_MODEL, plain := t.path(), "--to", "cpu")
    options = ["--data", DIGITS, "--device", "cpu", "--json"]
    ranks = World(t, 2, plain, *options, others={1: [DIGITS_MODEL, *options]}).wait()
    ends(t, "rank 0", ranks[0], DONE, f"ckpt: warning: {plain}: its tensors are tagged cuda:0, ")
    t.suite.equal("rank 1 is silent", ranks[1].text + ranks[1].err, "")
    found = json.loads(ranks[0].text or "{}").get("warnings", [])
    t.suite.equal("in the result", sum("tagged cuda:0" in warning for warning in found), 1, ranks[0])


def faster(t):
    """All ranks run in both precisions or none does; what some computed in another is no part of the sum."""
    options = [DIGITS_MODEL, "--data", DIGITS, "--bf16"]
    on_cpus = {rank: [*options, "--device", "cpu"] for rank in range(2)}
    ranks = World(t, 2, others=on_cpus).wait()
    ends(t, "two CPUs", ranks[0], DONE, "--tf32 and --bf16 are for GPUs: this ran on cpu in float32", "390 of 397")
    t.suite.equal("two CPUs: rank 1", (ranks[1].code, ranks[1].text + ranks[1].err), (DONE, ""))
    if not torch.cuda.is_available():
        return t.suite.skip("a CPU and a GPU", "there is no GPU")
    for gpu in range(2):
        ranks = World(t, 2, others={**on_cpus, gpu: [*options, "--device", "cuda:0"]}).wait()
        words = ("have different precisions: ", "need a GPU for each")
        ends(t, f"a GPU at rank {gpu}", ranks[0], USAGE, *words)
        t.suite.equal(f"a GPU at rank {gpu}: no result", ranks[0].text + ranks[1].text, "")


def variables_that_contradict(t):
    for name, variables, phrase in [
        ("no address", {"RANK": "0", "WORLD_SIZE": "2"}, "MASTER_ADDR"),
        ("no size", {"RANK": "0"}, "WORLD_SIZE"),
        ("rank beyond the size", {"RANK": "2", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}, "RANK"),
        ("no number", {"RANK": "x", "WORLD_SIZE": "1"}, "'x'"),
    ]:
        done = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, **variables)
        ends(t, name, done, USAGE, phrase, "hint: torchrun")
    both = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--shard", "0/2", RANK="0", WORLD_SIZE="1")
    ends(t, "ranks and --shard", both, USAGE, "--shard", "hint: ")


def rank_that_fails(t):
    """The others say which, and why; its own output says it, too."""
    gone = t.folder / "gone.pt"
    good = [DIGITS_MODEL, "--data", DIGITS]
    for size, bad in [(2, 0), (2, 1), (3, 1)]:
        ranks = World(t, size, *good, others={bad: [DIGITS_MODEL, "--data", gone]}).wait()
        for rank, done in enumerate(ranks):
            name = f"{size} ranks, {bad} fails: rank {rank}"
            if rank == bad:
                ends(t, name, done, INPUT, f"ckpt: {gone}: ")
            else:
                ends(t, name, done, UNAVAILABLE, f"rank {bad} failed: {gone}: ")
            t.suite.equal(f"{name}: no result", done.text, "")
            t.suite.check(f"{name}: no backtraces", "frame #" not in done.err, done)


def other_models_or_data(t):
    """Ranks that have different files before them give no result."""
    images, labels = loaded(DIGITS)
    state = digits_state()
    state["layer_1.bias"] = state["layer_1.bias"] + 1
    for name, other in [
        ("another model", [saved(t, state), "--data", DIGITS]),
        ("fewer samples", [DIGITS_MODEL, "--data", saved(t, (images[:100], labels[:100]))]),
        ("other labels", [DIGITS_MODEL, "--data", saved(t, (images, labels.roll(1)))]),
        ("other pictures", [DIGITS_MODEL, "--data", saved(t, (images.flip(0), labels))]),
    ]:
        ranks = World(t, 2, DIGITS_MODEL, "--data", DIGITS, others={1: other}).wait()
        ends(t, name, ranks[0], USAGE, "ranks 0 and 1 have different ", "hint: ")
        ends(t, f"{name}: rank 1", ranks[1], UNAVAILABLE, "rank 0 failed: ranks 0 and 1 have different ", "hint: ")
        t.suite.equal(f"{name}: no result", ranks[0].text + ranks[1].text, "")


def other_options(t):
    """Predictions of some ranks are no whole table."""
    plain, table = [DIGITS_MODEL, "--data", DIGITS], t.path(".csv")
    keeps = [*plain, "--predictions", table]
    for rank, (usual, other) in enumerate([(plain, keeps), (keeps, plain)]):
        ranks = World(t, 2, *usual, others={1: other}).wait()
        ends(t, f"case {rank}", ranks[0], USAGE, "the ranks were given different options", "hint: ")
    t.suite.check("no output", not table.exists())


def lost_ranks(t):
    """A rank is killed, or stops, in the middle: the others end in bounded time, and name it."""
    images, labels = loaded(CAPTCHA_SET)
    times = LONG // len(images)
    data = saved(t, (images.repeat(times, 1, 1, 1), labels.repeat(times, 1)))
    print("lost ranks: the others wait 15 s for one before they give it up", flush=True)

    def lose(size, lost, how):
        name = f"{size} ranks, {lost} gets {how.name}"
        world = World(t, size, CAPTCHA_MODEL, "--data", data, "--batch-size", "4", "--json")
        try:
            world.met()
            world.ranks[lost].process.send_signal(how)
            begin = time.monotonic()
            for rank, done in enumerate(world.ranks):
                if rank == lost:
                    continue
                done.wait()
                t.suite.check(f"{name}: rank {rank} ends", done.code == UNAVAILABLE, done)
                t.suite.check(f"{name}: rank {rank} names it", f"rank {lost} " in done.err, done)
                t.suite.check(f"{name}: rank {rank} has no result", not done.out, done)
                t.suite.check(f"{name}: rank {rank} prints no backtraces", "frame #" not in done.err, done)
                t.suite.check(f"{name}: rank {rank} in time", done.ended - begin < BOUND, f"{done.ended - begin} s")
        finally:
            for one in world.ranks:
                if one.process.poll() is None:
                    one.process.kill()
            world.wait()

    with ThreadPoolExecutor(3) as pool:
        jobs = [(2, 1, signal.SIGKILL), (3, 0, signal.SIGKILL), (2, 0, signal.SIGSTOP)]
        for job in [pool.submit(lose, *job) for job in jobs]:
            job.result()


def killed_under_torchrun(t):
    """It sees the end of a rank at once, and ends the others."""
    images, labels = loaded(CAPTCHA_SET)
    times = LONG // len(images)
    data = saved(t, (images.repeat(times, 1, 1, 1), labels.repeat(times, 1)))
    script = t.path(".sh")  # rank 1 kills itself
    script.write_text(f"""[ $RANK = 0 ] || (sleep 2; kill -9 $$) &
exec '{t.ckpt.path}' eval '{CAPTCHA_MODEL}' --data '{data}' --batch-size 4 --json
""")
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(free_port()),
         "--no-python", "sh", script], stdin=subprocess.DEVNULL, capture_output=True, timeout=HANGS, env=environment(),
        check=False)  # fmt: skip
    said = done.stderr.decode("utf-8", "backslashreplace")
    good = done.returncode != 0 and not done.stdout and "SIGKILL" in said
    t.suite.check("it fails, and says which", good, lambda: f"{done.returncode} {done.stdout} {said}")
    t.suite.check("in time", time.monotonic() - begin < 2 * BOUND)


def shards(t):
    table = t.path(".csv")
    alone = result(t, "whole", DIGITS_MODEL, DIGITS, "--predictions", table)

    def part(index, count, *options, data=DIGITS):
        done = t.ckpt("eval", DIGITS_MODEL, "--data", data, "--shard", f"{index}/{count}", *options)
        t.suite.check(f"part {index} of {count}", done.code == DONE and json.loads(done.out)["partial"] == 2, done)
        (path := t.path(".json")).write_bytes(done.out)
        return path

    thirds = [part(index, 3, "--predictions", "-") for index in range(3)]
    whole, half, empty = part(0, 1), part(0, 2), part(0, 400)
    for name, parts in [
        ("in order", thirds),
        ("in another order", [thirds[2], thirds[0], thirds[1]]),
        ("one part", [whole]),
    ]:
        merged = t.path(".csv")
        more = ["--predictions", merged] if parts != [whole] else []
        done = t.ckpt("eval-merge", *parts, "--json", "--min-accuracy", "98%", *more)
        if not t.suite.check(f"{name}: exit 0", done.code == DONE, done):
            continue
        t.suite.equal(name, without(done.json, "ranks"), without(alone, "ranks"))
        t.suite.equal(f"{name}: ranks", done.json["ranks"], len(parts))
        if more:
            t.suite.check(f"{name}: predictions", close(table, merged))
    bare = part(1, 3)
    merged = t.path(".csv")
    mixed = [thirds[0], bare, thirds[2]]
    ends(t, "predictions of some parts", t.ckpt("eval-merge", *mixed, "--predictions", merged), USAGE, str(bare), "--shard 1/3")
    t.suite.check("predictions of some parts: no output", not merged.exists())
    for name, drop in [("a baseline by samples", []), ("… and a drop", ["--max-drop", "1%"])]:
        done = t.ckpt("eval-merge", *mixed, "--baseline", table, *drop)
        ends(t, name, done, USAGE, str(bare), f"--baseline {table} needs", "--predictions FILE")
    t.suite.equal("parts without predictions", t.ckpt("eval-merge", *mixed).code, DONE)
    ends(t, "the bar", t.ckpt("eval-merge", *thirds, "--min-accuracy", "99%"), 1, "is below")
    ends(t, "a gap", t.ckpt("eval-merge", thirds[0], thirds[2]), USAGE, "in no part", "--shard 1/3")
    ends(t, "an overlap", t.ckpt("eval-merge", *thirds, half), USAGE, str(half))
    ends(t, "one twice", t.ckpt("eval-merge", *thirds, thirds[1]), USAGE, str(thirds[1]))
    done = t.ckpt("eval-merge", empty, *thirds, "--json")
    t.suite.equal("a part of no samples: exit", done.code, DONE, done)
    t.suite.equal("a part of no samples changes nothing", without(done.json, "ranks"), without(alone, "ranks"))
    images, labels = loaded(DIGITS)
    other = part(1, 3, data=saved(t, (images[:300], labels[:300])))
    ends(t, "of other data", t.ckpt("eval-merge", thirds[0], other, thirds[2]), USAGE, str(other))
    for name, changed in (("labels", (images, labels.roll(1))), ("pictures", (images.flip(0), labels))):
        other = part(1, 3, data=saved(t, changed))
        ends(t, f"of other {name}", t.ckpt("eval-merge", thirds[0], other, thirds[2]), USAGE, "of different data: ", str(other))
    ends(t, "no parts", t.ckpt("eval-merge"), USAGE, "hint: ")
    ends(t, "no part", t.ckpt("eval-merge", DIGITS), INPUT, str(DIGITS))
    ends(t, "a shard with a baseline", t.ckpt("eval", DIGITS_MODEL, "--shard", "0/2", "--baseline", table), USAGE, "eval-merge")
    ends(t, "a shard with a bar", t.ckpt("eval", DIGITS_MODEL, "--shard", "0/2", "--min-accuracy", "1%"), USAGE, "eval-merge")
    done = t.ckpt("eval-merge", *thirds, "--baseline", table, "--json")
    t.suite.check("the whole with a baseline", done.code == DONE and done.json["baseline"]["lost"] == 0, done)
    chain = saved(t, {"a.weight": torch.rand(16, 784) - 0.5, "b.weight": torch.rand(10, 16) - 0.5})
    parts = []
    for i, activation in enumerate(("relu", "none")):
        words = ["eval", chain, "--data", DIGITS, "--arch", "mlp", "--activation", activation]
        (path := t.path(".json")).write_bytes(t.ckpt(*words, "--shard", f"{i}/2").out)
        parts.append(path)
    ends(t, "of other activations", t.ckpt("eval-merge", *parts), USAGE, "of different activations: relu and none")
    for i in range(2):
        parts[i].write_bytes(t.ckpt("eval", CAPTCHA_MODEL, "--data", CAPTCHA_SET, "--shard", f"{i}/2").out)
    ends(t, "captchas of several files", t.ckpt("eval-merge", *parts), DONE)
    ends(t, "a model as baseline", t.ckpt("eval-merge", *thirds, "--baseline", DIGITS_MODEL), USAGE, "runs no model")


GROUPS = [
    by_torchrun,
    by_variables,
    with_a_baseline,
    warnings_of_others,
    faster,
    variables_that_contradict,
    rank_that_fails,
    other_models_or_data,
    other_options,
    lost_ranks,
    killed_under_torchrun,
    shards,
]
