"""What `ckpt eval` hands on: outputs, --json, JUnit, Markdown, the page, bars, baselines, and the exit status."""

import json
import math
import re
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path

import numpy
import torch
from evaluations import (CAPTCHA_MODEL, CAPTCHA_SET, DIGITS, DIGITS_MODEL, DONE, INPUT, NO, OUTPUT, USAGE, counts,
                         digits_state, ends, loaded, result, rows, saved, write_idx)  # fmt: skip
from models import inputs_for, outputs, reference_models
from nets import CaptchaResNet, randomised
from torch import nn

COUNT = 9
CLASSES = {"fnn": 10, "captcha-resnet": 36, "foonet": 4, "net": 1, "mlp": 4, "torchscript": 36}


def logits_of(t, name, file, inputs, expected, classes, *options, bound=1e-4):
    """--outputs against Python's, with labels drawn at random."""
    expected = expected.reshape(len(inputs), -1, classes).squeeze(1)
    shape = tuple(expected.shape[:-1])
    labels = torch.randint(0, classes, shape, generator=torch.Generator().manual_seed(1))
    out = t.path(".npz")
    done = t.ckpt("eval", file, "--data", saved(t, (inputs, labels)), "--outputs", out, *options)
    if not t.suite.check(f"{name}: exit 0", done.code == DONE, done):
        return
    with numpy.load(out, allow_pickle=False) as found:
        t.suite.equal(f"{name}: arrays", sorted(found), ["labels", "logits", "predictions"])
        is_alike = found["logits"].shape == expected.shape and found["logits"].dtype == numpy.float32
        if t.suite.check(f"{name}: shape and type", is_alike, lambda: f"{found['logits']}\n{expected}"):
            furthest = float(abs(found["logits"] - expected.numpy()).max())
            t.suite.check(f"{name}: logits", furthest < bound, f"{furthest} apart")
        t.suite.check(f"{name}: labels", numpy.array_equal(found["labels"], labels), lambda: dict(found))
        same = numpy.array_equal(found["predictions"], found["logits"].argmax(-1))
        t.suite.check(f"{name}: predictions", same, lambda: dict(found))
    right = (expected.argmax(-1) == labels).reshape(len(inputs), -1).all(1)
    found = result(t, name, file, saved(t, (inputs, labels)), *options)
    t.suite.equal(f"{name}: correct", found and found["correct"], int(right.sum()))


def outputs_of_every_model(t):
    for name, model in reference_models():
        inputs = inputs_for(name, COUNT)
        logits_of(t, name, saved(t, model.state_dict()), inputs, outputs(model, inputs), CLASSES[name])
    torch.manual_seed(8)
    script = nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.Softplus(), nn.Linear(6, 5)).eval()
    torch.jit.script(script).save(file := t.path())
    inputs = torch.rand(COUNT, 3, 4)
    logits_of(t, "torchscript", file, inputs, outputs(script, inputs), 5, "--arch", "torchscript")

    class Read(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = randomised(CaptchaResNet())

        def forward(self, x):
            return self.inner(x).reshape(-1, 4, 36)

    script, inputs = Read().eval(), torch.rand(2, 3, 56, 24)
    torch.jit.trace(script, inputs).save(file := t.path())
    # On a GPU, TorchScript in PyTorch itself is 1.1e-4 from the CPU's outputs, where the module is 2e-7.
    bound = 1e-3 if torch.cuda.is_available() else 1e-4
    logits_of(t, "torchscript, positions", file, inputs, outputs(script, inputs), 36, "--arch", "torchscript", bound=bound)


KEYS = {  # docs/eval.md, in its order
    "model": str, "digest": str, "data": str, "data_digest": str, "version": str, "arch": str, "device": str,
    "precision": str, "samples": int, "correct": int, "accuracy": float, "interval": list, "per_class": list, "per_position": list,
    "seconds": dict, "samples_per_second": float, "warnings": list, "not_finite": int, "memory": dict, "ranks": int,
    "shard": type(None), "data_samples": int, "baseline": type(None), "verdict": dict,
}  # fmt: skip


def json_keys(t):
    for model, data, positions in [(DIGITS_MODEL, DIGITS, 1), (CAPTCHA_MODEL, CAPTCHA_SET, 4)]:
        name = model.stem
        found = result(t, name, model, data)
        expected = [key for key in KEYS if key != "per_position" or positions > 1]
        t.suite.equal(f"{name}: keys", list(found), expected)
        wrong = [key for key in expected if type(found.get(key)) is not KEYS[key]]
        t.suite.equal(f"{name}: types", wrong, [])
        t.suite.equal(f"{name}: paths", (found["model"], found["data"]), (str(model), str(data)))
        for key in ("digest", "data_digest"):
            t.suite.check(f"{name}: {key}", re.fullmatch("[0-9a-f]{64}", found[key]), found[key])
        version = t.ckpt("--version").text.split()[1]
        t.suite.equal(f"{name}: version", found["version"], version)
        digest = t.ckpt("digest", "--root", "auto", "--json", model)
        t.suite.equal(f"{name}: digest", found["digest"], digest.json["digest"])
        t.suite.equal(f"{name}: accuracy", found["accuracy"], found["correct"] / found["samples"])
        low, high = found["interval"]
        t.suite.check(f"{name}: interval", 0 <= low < found["accuracy"] <= high <= 1, found["interval"])
        t.suite.equal(f"{name}: seconds", list(found["seconds"]), ["start", "read", "upload", "run"])
        t.suite.equal(f"{name}: a class", list(found["per_class"][0]), ["class", "samples", "correct", "accuracy"])
        t.suite.equal(f"{name}: verdict", found["verdict"], {"passed": True, "failures": []})
        t.suite.equal(f"{name}: classes", sum(c["samples"] for c in found["per_class"]), positions * found["samples"])
    # Wilson's interval of 390 of 397, as its formula has it.
    z, n, p = 1.959963984540054, 397, 390 / 397
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    wilson = [(middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)]
    found = result(t, "Wilson", DIGITS_MODEL, DIGITS)["interval"]
    t.suite.check("Wilson's interval", all(abs(a - b) < 1e-9 for a, b in zip(found, wilson)), (found, wilson))


def files_for_ci(t):
    paths = {name: t.path(f".{name}") for name in ("json", "xml", "md", "html", "csv", "npz")}
    done = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, f"--json={paths['json']}", f"--junit={paths['xml']}",
                  f"--markdown={paths['md']}", "--report", paths["html"], "--predictions", paths["csv"],
                  "--outputs", paths["npz"], "--min-accuracy", "97%", "--quiet")  # fmt: skip
    ends(t, "all at once", done, DONE, "98.24 %", "390 of 397")
    t.suite.check("all written", all(path.exists() for path in paths.values()), lambda: list(t.folder.iterdir()))
    t.suite.equal("json", json.loads(paths["json"].read_text())["correct"], 390)
    suite = xml.parse(paths["xml"]).getroot()
    suite = suite if suite.tag == "testsuite" else suite.find("testsuite")
    cases = suite.findall("testcase")
    t.suite.equal("junit: counts", (int(suite.get("tests")), suite.get("failures")), (len(cases), "0"))
    t.suite.check("junit: the bar is a case", any("bar" in case.get("name") for case in cases), paths["xml"].read_text())
    t.suite.check("markdown", "98.24" in paths["md"].read_text() and "|" in paths["md"].read_text())
    page = paths["html"].read_text()
    t.suite.check("page: whole", page.startswith("<!doctype html>") and page.rstrip().endswith("</html>"), page[:100])
    t.suite.equal("page: needs no network", re.findall(r'(?:src|href)="(?!data:|#)[^"]*', page), [])
    t.suite.equal("page: the twelve worst", page.count("data:image/png;base64,"), 12)
    for option in ("--json", "--junit", "--markdown", "--predictions=-", "--report=-"):
        done = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--quiet", option)
        t.suite.check(f"{option} alone on standard output", done.code == DONE and "samples a second   " not in done.text, done)
    done = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--json", "--junit")
    ends(t, "two on standard output", done, USAGE, "only one result can go to standard output")


def junit_of_failures(t):
    for name, args, status in [
        ("a model that does not load", [saved(t, {"x": torch.ones(2)})], INPUT),
        ("a bar that is missed", [DIGITS_MODEL, "--min-accuracy", "99%"], NO),
    ]:
        path = t.path(".xml")
        done = t.ckpt("eval", *args, "--data", DIGITS, f"--junit={path}")
        t.suite.equal(f"{name}: status", done.code, status, done)
        root = xml.parse(path).getroot() if path.exists() else xml.Element("none")
        t.suite.check(f"{name}: said", list(root.iter("failure")), lambda: xml.tostring(root))


def junit_says_what_does_not_fit(t):
    state = digits_state()
    state["layer_5.weight"] = torch.ones(11, 64)
    del state["layer_4.bias"]
    done = t.ckpt("eval", saved(t, state), "--data", DIGITS, "--arch", "fnn", f"--junit={(path := t.path('.xml'))}")
    ends(t, "status", done, INPUT, "size mismatch for layer_5.weight")
    failure = xml.parse(path).getroot().find(".//failure")
    lines = [line[1:] for line in done.err.splitlines() if line.startswith("\t")]
    t.suite.check("the message", "Error(s) in loading state_dict for FNN" in failure.get("message"), failure.get("message"))
    t.suite.equal("each line of PyTorch's", failure.text.split("\n"), lines)


def outputs_replace_nothing(t):
    """Neither each other nor what is read, by whatever name: exit 2, and all files are as they were."""
    images, labels = loaded(DIGITS)
    write_idx(t.folder / "mn" / "t10k-images-idx3-ubyte", images[:40, 0].numpy())
    write_idx(t.folder / "mn" / "t10k-labels-idx1-ubyte", labels[:40].to(torch.uint8).numpy())
    saved(t, (images[:9], labels[:9]), name="b/testing_set.0.pt")
    saved(t, (images[:9], labels[:9]), name="b/testing_set.1.pt")
    model, broken, other = saved(t, digits_state(), name="ev.pt"), saved(t, {"x": labels}, name="no.pt"), t.folder / "r.x"
    (link := t.folder / "link").symlink_to(model)
    t.ckpt("convert", model, shards := t.folder / "shards", "--format", "torch-index", "--shard-size", "200KB")
    csv, one = t.folder / "old.csv", t.folder / "old.json"
    t.ckpt("eval", model, "--data", t.folder / "b", "--predictions", csv, f"--json={one}")

    def kept():
        return {path: path.read_bytes() for path in t.folder.rglob("*") if path.is_file()}

    def refused(name, *args, code=USAGE, phrases=()):
        before = kept()
        ends(t, name, t.ckpt(*args, cwd=t.folder), code, *phrases)
        t.suite.check(f"{name}: nothing is lost or written", kept() == before, lambda: sorted(kept()))

    digits, report = ["--data", t.folder / "mn"], f"--report={t.folder / 'page'}"
    refused("the model", "eval", model, *digits, "--report", model, phrases=["--report would replace", "hint: name another"])
    refused("the model through a link", "eval", model, *digits, f"--json={link}", report)
    with open(model, "rb") as given:
        done = subprocess.run([t.ckpt.path, "eval", "-", *digits, f"--json={model}"], stdin=given, stderr=subprocess.PIPE)
    good = done.returncode == USAGE and b"--json would replace standard input, which is read" in done.stderr
    t.suite.check("the model on standard input", good, done)
    refused("a model that does not load", "eval", broken, *digits, f"--junit={broken}")
    refused("a shard of the model", "eval", shards, *digits, "--outputs", next(shards.glob("*.bin")))
    for file in ("images-idx3", "labels-idx1"):
        refused(f"MNIST's {file}", "eval", model, *digits, "--predictions", f"mn/t10k-{file}-ubyte", f"--junit={other}")
    refused("labels, of a model that does not load", "eval", broken, *digits, "--junit=mn/t10k-labels-idx1-ubyte", code=INPUT)
    refused("a batch", "eval", model, "--data", "b", "--markdown=b/testing_set.1.pt", report)
    refused("a baseline", "eval", model, "--data", "b", "--baseline", link, "--max-drop", "1%", f"--json={link}")
    refused("a baseline, by another", "eval", model, "--data", "b", "--baseline", csv, f"--junit={csv}")
    refused("two in one", "eval", model, "--data", "b", "--report=r.x", "--predictions=./r.x", phrases=["--report and --pred"])
    (t.folder / "linked").symlink_to(t.folder / "b")
    (t.folder / "dangling").symlink_to("b/r.x")
    refused("two in one, by a linked folder", "eval", model, "--data", "b", "--json=b/r.x", "--junit=linked/r.x", phrases=["one file"])
    refused("two in one, by a link to it", "eval", model, "--data", "b", "--json=b/r.x", "--markdown=dangling", phrases=["one file"])
    refused("two in one file", "eval", model, "--data", "b", f"--report={csv}", f"--predictions={csv}")

    parts = [t.folder / f"p{i}.json" for i in range(2)]
    for i, part in enumerate(parts):
        part.write_bytes(t.ckpt("eval", model, *digits, "--shard", f"{i}/2").out)
    refused("a part", "eval-merge", *parts, "--report", "p0.json", phrases=["--report would replace"])
    refused("a baseline of eval-merge", "eval-merge", *parts, "--baseline", one, "--max-drop", "1%", f"--markdown={one}")
    whole = json.loads(one.read_text())
    for name, args in [
        ("eval", ["eval", model, "--data", t.folder / "b"]),
        ("eval, its predictions", ["eval", model, "--data", t.folder / "b", "--baseline", csv, "--predictions", csv]),
        ("eval-merge", ["eval-merge", *parts]),
    ]:
        rolling = [] if "--baseline" in args else ["--baseline", one, "--max-drop", "100%", f"--json={one}"]
        ends(t, f"a baseline that rolls, {name}", t.ckpt(*args, *rolling), DONE)
    t.suite.check("it has rolled", json.loads(one.read_text())["samples"] != whole["samples"], one.read_text())
    worse = saved(t, {name: torch.zeros_like(tensor) for name, tensor in digits_state().items()})
    for file, option in ((one, "--json"), (csv, "--predictions")):
        before = file.read_bytes()
        for time in ("once", "again"):
            done = t.ckpt("eval", worse, "--data", t.folder / "b", "--baseline", file, "--max-drop", "1%", f"{option}={file}")
            ends(t, f"a baseline of a model that fails, {option}, {time}", done, NO, f"{file} stays as it was", "FAILED")
        t.suite.equal(f"{option}: it has not rolled", file.read_bytes(), before)


def bars(t):
    for bar, code in [("0.97", DONE), ("97%", DONE), ("0.99", NO), ("99%", NO), ("97", USAGE), ("x", USAGE), ("-1%", USAGE)]:
        done = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--min-accuracy", bar)
        t.suite.check(f"--min-accuracy {bar}", done.code == code, done)
    ends(t, "the reason", t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--min-accuracy", "99%"), NO, "98.24 %", "99")
    close = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--min-accuracy", "98.24%")
    ends(t, "a bar above by less than is shown", close, NO, "98.237 %", "98.240 %")
    ends(t, "97 could be either", t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--min-accuracy", "97"), USAGE, "97%", "hint: ")
    found = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--min-accuracy", "99%", "--json")
    t.suite.check("--json: verdict", not found.json["verdict"]["passed"] and found.json["verdict"]["failures"], found)


def not_finite(t):
    """NaN in the weights fails without any bar, and says so."""
    state = digits_state()
    state["layer_5.bias"][3] = math.nan
    broken = saved(t, state)
    done = t.ckpt("eval", broken, "--data", DIGITS)
    ends(t, "NaN", done, NO, "NaN", "397")
    done = t.ckpt("eval", broken, "--data", DIGITS, "--json")
    t.suite.equal("counted apart", (done.code, done.json["not_finite"], done.json["correct"]), (NO, 397, 0))
    done = t.ckpt("eval", broken, "--data", DIGITS, "--predictions", path := t.path(".csv"))
    t.suite.equal("read as no class", {line[2] for line in rows(path)[1:]}, {"?"})
    images, labels = loaded(DIGITS)
    none = t.ckpt("eval", DIGITS_MODEL, "--data", saved(t, (images[:0], labels[:0])))
    t.suite.equal("no samples", none.code, NO, none)


def mcnemar(lost, gained):
    """docs/eval.md: exact below 25, else chi-square with continuity correction."""
    n = lost + gained
    if n == 0:
        return 1.0
    if n < 25:
        return min(1.0, 2 * sum(math.comb(n, k) for k in range(min(lost, gained) + 1)) / 2**n)
    return math.erfc(math.sqrt(max(0, abs(lost - gained) - 1) ** 2 / n / 2))


def baselines(t):
    """A model, its --json and its --predictions as the baseline of a worse one and of a slightly different one."""
    old_csv, old_json = t.path(".csv"), t.path(".json")
    t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--predictions", old_csv, f"--json={old_json}")
    old = json.loads(old_json.read_text())
    right = [line[1] == line[2] for line in rows(old_csv)[1:]]
    for noise in (0.03, 0.12):
        generator = torch.Generator().manual_seed(3)
        state = {k: v + noise * torch.randn(v.shape, generator=generator) for k, v in digits_state().items()}
        new, table = saved(t, state), t.path(".csv")
        alone = result(t, f"{noise}", new, DIGITS, "--predictions", table)
        now = [line[1] == line[2] for line in rows(table)[1:]]
        lost, gained = (sum(a and not b for a, b in pairs) for pairs in (zip(right, now), zip(now, right)))
        p, drop = mcnemar(lost, gained), old["accuracy"] - alone["accuracy"]
        for kind, baseline in [("model", DIGITS_MODEL), ("json", old_json), ("predictions", old_csv)]:
            name = f"noise {noise}, {kind}"
            most = ["--max-drop", "100%"] if kind == "json" else []
            done = t.ckpt("eval", new, "--data", DIGITS, "--baseline", baseline, *most, "--json")
            if not t.suite.check(f"{name}: a result", done.out, done):
                continue
            said = done.json["baseline"]
            t.suite.equal(f"{name}: counts", counts(done.json), counts(alone))
            keys = ["file", "kind", "accuracy", "drop", "same_data", "lost", "gained", "p"]
            t.suite.equal(f"{name}: keys", list(said), keys)
            t.suite.equal(f"{name}: the same data", said["same_data"], None if kind == "predictions" else True)
            t.suite.equal(f"{name}: kind", said["kind"], kind)
            t.suite.check(f"{name}: drop", abs(said["drop"] - drop) < 1e-9, said)
            if kind == "json":
                t.suite.equal(f"{name}: nothing a sample", (said["lost"], said["gained"], said["p"]), (None, None, None))
            else:
                t.suite.equal(f"{name}: lost and gained", (said["lost"], said["gained"]), (lost, gained))
                t.suite.check(f"{name}: p", abs(said["p"] - p) < 1e-6, (said, p))
                t.suite.equal(f"{name}: status by p", done.code, NO if p < 0.05 and lost > gained else DONE)
            for most, code in [(drop + 0.001, DONE), (drop - 0.001, NO)]:
                if most < 0:
                    continue
                done = t.ckpt("eval", new, "--data", DIGITS, "--baseline", baseline, "--max-drop", f"{most:.6f}")
                t.suite.check(f"{name}: --max-drop {most:.4f}", done.code == code, done)
    in_folders = t.folder / "index", t.folder / "dcp"
    for folder, words in zip(in_folders, (["torch-index", "--shard-size", "200KB"], ["dcp"])):
        t.ckpt("convert", DIGITS_MODEL, folder, "--format", *words)
    for baseline in (*in_folders, in_folders[0] / "pytorch_model.bin.index.json"):
        found = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--baseline", baseline, "--json").json["baseline"]
        t.suite.equal(f"{baseline.name}: a model in several files", (found["kind"], found["lost"]), ("model", 0))
    words = ["eval", DIGITS_MODEL, "--data", DIGITS, "--max-drop", "1%", "--json", "--baseline"]
    for file, kind in ((old_csv, "predictions"), (old_json, "json")):
        done = t.ckpt(*words, "/dev/stdin", stdin=file.read_bytes())
        t.suite.equal(f"{kind} through a pipe", (done.code, done.json["baseline"]["kind"]), (DONE, kind))
    done = t.ckpt(*words, "-", stdin=Path(DIGITS_MODEL).read_bytes())
    ends(t, "a model through a pipe", done, USAGE, "is a model that comes through a pipe", "hint: keep it in a file")
    torch.save({"new": digits_state()}, nested := t.path())
    done = t.ckpt("eval", nested, "--root", "new", "--data", DIGITS, "--baseline", DIGITS_MODEL)
    ends(t, "a baseline without that root", done, USAGE, f"{DIGITS_MODEL}: no state dict lies at 'new'", "--baseline old.csv")
    images, labels = loaded(DIGITS)
    other = saved(t, (images, (labels + 1) % 10))
    ends(t, "other labels", t.ckpt("eval", DIGITS_MODEL, "--data", other, "--baseline", old_csv), USAGE, str(old_csv))
    fewer = saved(t, (images[:50], labels[:50]))
    ends(t, "fewer samples", t.ckpt("eval", DIGITS_MODEL, "--data", fewer, "--baseline", old_csv), USAGE, str(old_csv))
    done = t.ckpt("eval", DIGITS_MODEL, "--data", fewer, "--max-drop", "9%", "--json", "--baseline", old_json,
                  f"--junit={(suite := t.path('.xml'))}")  # fmt: skip
    warning = f"the baseline {old_json} was measured on other data"
    ends(t, "other data", done, DONE, f"ckpt: warning: {warning}")
    t.suite.equal("other data, --json", (done.json["baseline"]["same_data"], done.json["warnings"][-1:]), (False, [warning]))
    t.suite.check("other data, --junit", warning in xml.parse(suite).getroot().findtext(".//system-err", ""), suite.read_text())
    alone = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--baseline", old_json)
    ends(t, "--json tells nothing of samples", alone, USAGE, "has no predictions to compare with", "--max-drop")
    early = t.ckpt("eval", t.folder / "none.pt", "--data", DIGITS, "--baseline", old_json)
    ends(t, "… which is said before the run", early, USAGE, "has no predictions to compare with", "--max-drop")
    late = t.ckpt("eval", t.folder / "none.pt", "--baseline", t.folder / "none.csv")
    ends(t, "a baseline that is not there is found before the run", late, INPUT, "none.csv: cannot open")
    t.suite.check("and nothing else was opened", "none.pt" not in late.err, late)
    ends(t, "--max-drop alone", t.ckpt("eval", DIGITS_MODEL, "--max-drop", "1%"), USAGE, "--baseline")


def unwritable(t):
    """Exit 6, whichever file it is."""
    nowhere = t.folder / "nowhere" / "out"
    for option in ("--json", "--junit", "--markdown", "--report", "--predictions", "--outputs"):
        done = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, f"{option}={nowhere}")
        ends(t, option, done, OUTPUT, str(nowhere), "hint: ")
        t.suite.check(f"{option}: no bug of ours", "bug" not in done.err, done)
    good = t.path(".json")
    t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, f"--json={good}", f"--report={nowhere}")
    t.suite.check("it is found before anything is written", not good.exists())


GROUPS = [
    outputs_of_every_model,
    json_keys,
    files_for_ci,
    junit_of_failures,
    junit_says_what_does_not_fit,
    outputs_replace_nothing,
    bars,
    not_finite,
    baselines,
    unwritable,
]
