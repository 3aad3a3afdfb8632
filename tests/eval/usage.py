"""`ckpt eval` as one uses it: where it finds data, devices, pictures to read, streams, and what it says where it cannot."""

import math
import os
import pty
import re
import select
import shutil
import subprocess
import tarfile
from pathlib import Path

import torch
from evaluations import (CAPTCHA_MODEL, CAPTCHA_SET, DIGITS, DIGITS_MODEL, DONE, INPUT, UNAVAILABLE, USAGE, counts,
                         digits_state, ends, loaded, result, saved)  # fmt: skip
from harness import Ckpt, environment
from nets import FooNet
from torch import nn

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


def where_data_is_looked_for(t):
    """$CKPT_DATA, then beside the model, in data beside it, in ./data; which one is printed. None: the command."""
    home, away = t.folder / "home", t.folder / "away"
    home.mkdir()
    away.mkdir()
    model = home / "m.pt.gz"
    shutil.copy(DIGITS_MODEL, model)
    none = t.ckpt("eval", model, cwd=away)
    ends(t, "none", none, USAGE, "no test set for fnn", "$CKPT_DATA", f"hint: ckpt eval {model} --data PATH")
    ends(t, "missing", t.ckpt("eval", model, "--data", away / "x"), INPUT, str(away / "x"))
    ends(t, "an empty folder", t.ckpt("eval", model, "--data", away), USAGE, str(away), "hint: ")
    ends(t, "$CKPT_DATA missing", t.ckpt("eval", model, CKPT_DATA="/nowhere"), INPUT, "/nowhere")
    first = counts(result(t, "named", model, DIGITS))

    def finds(name, place, **variables):
        done = t.ckpt("eval", model, "--json", cwd=away, **variables)
        ends(t, name, done, DONE, f"the test set is {place}")
        t.suite.equal(f"{name}: counts", done.code == DONE and counts(done.json), first)

    for name, folder, place in [
        ("./data", away / "data", "./data/digits_test.pt.gz"),
        ("data beside the model", home / "data", home / "data" / "digits_test.pt.gz"),
        ("beside the model", home, home / "digits_test.pt.gz"),
    ]:
        folder.mkdir(exist_ok=True)
        shutil.copy(DIGITS, folder)
        finds(name, place)
    finds("$CKPT_DATA", DIGITS, CKPT_DATA=str(DIGITS))
    finds("$CKPT_DATA, a folder", DIGITS, CKPT_DATA=str(DIGITS.parent))
    quiet = t.ckpt("eval", model, "--json", "--quiet", cwd=away)
    t.suite.check("--quiet says nothing of it", "the test set is" not in quiet.err and quiet.code == DONE, quiet)


def devices(t):
    ends(t, "no such device", t.ckpt("eval", DIGITS_MODEL, "--device", "gpu"), USAGE, "unknown device 'gpu'", "cuda:all")
    found = result(t, "cpu", DIGITS_MODEL, DIGITS, "--device", "cpu")
    t.suite.equal("cpu", found and found["device"], "cpu")
    hidden = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--device", "cuda", CUDA_VISIBLE_DEVICES="")
    ends(t, "no CUDA", hidden, UNAVAILABLE, "--device cuda: no GPU: ", "hint: --device cpu")
    auto = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--json", CUDA_VISIBLE_DEVICES="")
    t.suite.equal("auto without CUDA", auto.json["device"], "cpu")
    if torch.cuda.is_available():
        on_a_gpu(t)
        return t.suite.skip("no GPU", "there is one")
    ends(t, "what was looked for", t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--device", "cuda:0"), UNAVAILABLE,
         "libcuda.so.1", "hint: --device cpu")  # fmt: skip
    done = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--bf16")
    ends(t, "--bf16 without a GPU", done, DONE, "--tf32 and --bf16 are for GPUs", "390 of 397")


def on_a_gpu(t):
    """One program, several evaluations: libtorch keeps its first answer to whether there is CUDA."""
    done = t.tool("evaluate", CAPTCHA_MODEL, CAPTCHA_SET, "cuda", "cpu", "auto")
    t.suite.equal("a GPU, the CPU, a GPU", done.text, "cuda:0 200 of 200\ncpu 200 of 200\ncuda:0 200 of 200\n", done)
    done = t.tool("evaluate", CAPTCHA_MODEL, CAPTCHA_SET, "cpu", "cuda")
    ends(t, "the CPU, then a GPU", done, UNAVAILABLE, "libtorch was asked for CUDA before ",
         "hint: --device cpu; or: evaluate on a GPU first")  # fmt: skip
    t.suite.equal("… the CPU's is there", done.text, "cpu 200 of 200\n")


def without_the_component(t):
    """A ckpt that was installed alone says what is missing and how to get it."""
    bin_folder, lib = t.folder / "alone" / "bin", t.folder / "alone" / "lib"
    bin_folder.mkdir(parents=True)
    lib.mkdir()
    shutil.copy(t.ckpt.path, bin_folder / "ckpt")
    for library in (Path(t.ckpt.path).parent.parent / "lib").glob("lib*.so*"):
        if "eval" not in library.name:
            shutil.copy(library, lib)
    alone = Ckpt(bin_folder / "ckpt")
    t.suite.check("it works", alone("digest", DIGITS_MODEL).code == DONE, lambda: alone("digest", DIGITS_MODEL))
    for command in ("eval", "eval-merge"):
        done = alone(command, DIGITS_MODEL)
        ends(t, command, done, UNAVAILABLE, "ckpt-eval", str(bin_folder), "hint: ", "libtorch")


def streams(t):
    """The model may come from standard input; data may not."""
    first = counts(result(t, "from a file", DIGITS_MODEL, DIGITS))
    done = t.ckpt("eval", "-", "--data", DIGITS, "--json", stdin=DIGITS_MODEL.read_bytes())
    t.suite.equal("from standard input", done.code == DONE and counts(done.json), first)
    done = t.ckpt("eval", DIGITS_MODEL, "--data", "-", stdin=DIGITS.read_bytes())
    ends(t, "data from standard input", done, INPUT, "a stream", "expected a file or a folder")
    ends(t, "nothing on standard input", t.ckpt("eval", "-", "--data", DIGITS), INPUT, "standard input: the file is empty")


def wrong_usage(t):
    def refused(name, *args, phrases=("hint: ",), code=USAGE):
        ends(t, name, t.ckpt("eval", *args), code, *phrases)

    refused("no model")
    refused("two models", DIGITS_MODEL, DIGITS_MODEL)
    refused("no such option", DIGITS_MODEL, "--dat", DIGITS, phrases=["--dat", "hint: "])
    refused("no such architecture", DIGITS_MODEL, "--arch", "fn", phrases=["hint: --arch fnn"])
    refused("batch size", DIGITS_MODEL, "--batch-size", "0", phrases=["--batch-size 64"])
    refused("too great a batch size", DIGITS_MODEL, "--batch-size", str(2**63), phrases=["from 1 to", "--batch-size 64"])
    refused("both precisions", DIGITS_MODEL, "--tf32", "--bf16")
    refused("no such split", DIGITS_MODEL, "--split", "test", phrases=["testing"])
    refused("--normalize", DIGITS_MODEL, "--normalize", "1", phrases=["--normalize 0.1307,0.3081"])
    refused("--activation", DIGITS_MODEL, "--activation", "swish")
    refused("--predict alone", DIGITS_MODEL, "--predict", phrases=["--predict picture.png"])
    for option in ("--data=x", "--shard=0/2", "--json", "--junit=x", "--report=x", "--min-accuracy=97%", "--baseline=x"):
        refused(f"--predict {option}", CAPTCHA_MODEL, "--predict", "x.png", option, phrases=[option.split("=")[0], "hint: "])
    part = t.folder / "part.json"
    refused("--shard --json", DIGITS_MODEL, "--shard", "0/2", f"--json={part}", phrases=["eval-merge"])
    refused("a model that is not there", t.folder / "none.pt", code=INPUT, phrases=["none.pt"])
    refused("a folder as the model", t.folder, code=INPUT)
    refused("data as the model", DIGITS, phrases=["no state dict was found", f"hint: ckpt inspect {DIGITS}"])
    refused("the model as data", DIGITS_MODEL, "--data", DIGITS_MODEL, code=INPUT)
    refused("data of another shape", DIGITS_MODEL, "--data", CAPTCHA_SET, code=INPUT, phrases=["784", "56"])
    torch.save({"a": FooNet().state_dict(), "b": FooNet().state_dict()}, two := t.path())
    refused("two state dicts", two, "--data", DIGITS, phrases=["a, b", "--root a"])


def settings_of_other_models(t):
    done = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--activation", "tanh", "--normalize", "0.5,0.5", "--json")
    ends(t, "an fnn", done, DONE, "--activation is for mlp, and was left aside: fnn has its own", "--normalize is for mlp and")
    t.suite.equal("in --json", [warning.split()[0] for warning in done.json["warnings"][:2]], ["--activation", "--normalize"])
    flat = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))
    torch.jit.script(flat).save(script := t.path())
    done = t.ckpt("eval", script, "--data", DIGITS, "--arch", "torchscript", "--activation", "relu", "--normalize", "0,1")
    ends(t, "TorchScript", done, DONE, "--activation is for mlp, and was left aside: torchscript has its own")
    t.suite.check("TorchScript is normalised", "--normalize" not in done.err, done)


def settings_of_a_baseline(t):
    """A module says its own activation; of a state dict it is said that the new model's was taken."""
    torch.manual_seed(3)
    old = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 5))
    inputs = 3 * torch.randn(500, 20)
    with torch.inference_mode():
        data = saved(t, (inputs, old(inputs).argmax(1)))
    state, module = saved(t, old.state_dict()), saved(t, old)
    words = ["eval", state, "--data", data, "--activation", "tanh", "--normalize", "0,1", "--json", "--max-drop", "100%"]
    right = t.ckpt(*words, "--baseline", module).json
    t.suite.equal("a module", right["baseline"]["accuracy"], 1)
    for baseline, settings in ((state, "--activation tanh and --normalize"), (module, "--normalize")):
        done = t.ckpt(*words, "--baseline", baseline)
        ends(t, settings, done, DONE, warning := f"{baseline}: the baseline was run with {settings}, too")
        t.suite.check(f"{settings}, in --json", warning in done.json["warnings"], done)
    plain = t.ckpt(*words[:4], "--baseline", state)
    t.suite.check("no settings", plain.code == DONE and "the baseline was run" not in plain.err, plain)


def warnings_of_data(t):
    """What a file's reader has to say, of a test set as of a model."""
    images, labels = loaded(DIGITS)
    (junk := saved(t, (images, labels), packed=True)).write_bytes(junk.read_bytes() + b"junk")
    (t.folder / "README").write_text("a test set")
    with tarfile.open(archive := t.path(".tar"), "w") as tar:
        for file, name in ((t.folder / "README", "README"), (saved(t, (images, labels)), "testing_set.0.pt")):
            tar.add(file, name)
    for name, data, phrase in [
        ("bytes behind gzip", junk, "4 bytes follow the gzip stream"),
        ("an archive", archive, "left out"),
    ]:
        done = t.ckpt("eval", DIGITS_MODEL, "--data", data, "--quiet", "--json")
        ends(t, name, done, DONE, f"test set {data}: ", phrase)
        said = [warning for warning in done.json["warnings"] if warning.startswith(f"test set {data}: ")]
        t.suite.check(f"{name}: in --json", len(said) == 1 and phrase in said[0], done)


def several_pairs(t):
    """Only what the split's names or a single pair tell is taken; the command of the hint leaves one."""
    images, labels = loaded(DIGITS)
    other = (labels + 1) % 10
    both = saved(t, {"images": images, "labels": labels, "targets": other})
    done = t.ckpt("eval", DIGITS_MODEL, "--data", both)
    hint = f"ckpt convert {both} OUT --drop targets"
    ends(t, "two targets", done, USAGE, "several pairs", "images with labels, images with targets", f": {hint}")
    t.ckpt(*hint.replace("OUT", str(one := t.path())).split()[1:])
    t.suite.equal("two targets: mended", result(t, "mended", DIGITS_MODEL, one)["correct"], 390)
    shared = saved(t, {"images": images, "labels": labels, "targets": labels})
    t.suite.equal("one under two names", result(t, "two names", DIGITS_MODEL, shared)["correct"], 390)
    named = saved(t, {"images": images, "labels": other, "x_test": images, "y_test": labels})
    t.suite.equal("the split's own", result(t, "by the split", DIGITS_MODEL, named)["correct"], 390)


def precision_without_a_gpu(t):
    done = t.ckpt("eval", DIGITS_MODEL, "--data", DIGITS, "--device", "cpu", "--bf16", "--quiet", "--json")
    t.suite.equal("--bf16 on a CPU", (done.code, done.json["precision"]), (DONE, "float32"), done)
    t.suite.equal("in the warnings", done.json["warnings"][-1][:29], "--tf32 and --bf16 are for GPU", done)


def hints_about_data(t):
    """What is wrong with a test set is mended in Python, or by another one: not by commands for checkpoints."""
    images, labels = loaded(DIGITS)
    soft = torch.rand(9, 10)
    soft[3, 4] = math.nan
    ragged = saved(t, (images[:9], labels[:9]), name="batches/testing_set.0.pt").parent
    saved(t, (images[:9].float(), labels[:9]), name="batches/testing_set.1.pt")
    for name, data in [
        ("fewer labels", saved(t, (images, labels[:9]))),
        ("NaN", saved(t, (images[:9], soft))),
        ("a label out of range", saved(t, (images[:9], labels[:9] + 9))),
        ("sparse inputs", saved(t, (images[:9].float().to_sparse(), labels[:9]))),
        ("batches that differ", ragged),
    ]:
        done = t.ckpt("eval", DIGITS_MODEL, "--data", data)
        ends(t, name, done, INPUT, "hint: ")
        t.suite.check(f"{name}: hint", "ckpt verify" not in done.err and "ckpt formats" not in done.err, done)
    torch.jit.script(torch.nn.Flatten(0)).save(script := t.path())
    done = t.ckpt("eval", script, "--data", DIGITS, "--arch", "torchscript")
    ends(t, "the shape of TorchScript's outputs", done, INPUT, "hint: in Python: script a module whose forward()")


def pictures(t, count):
    """The samples that ship as PNG files; [(path, code)]."""
    from PIL import Image

    images, labels = loaded(CAPTCHA_SET)
    folder = t.folder / "pictures"
    folder.mkdir()
    for number, (image, label) in enumerate(zip(images[:count], labels)):
        code = "".join(ALPHABET[i] for i in label)
        Image.fromarray(image.permute(2, 1, 0).numpy()).save(path := folder / f"{number:05}-{code.upper()}.png")
        yield path, code


def predictions(t):
    made = list(pictures(t, 70))  # more than go through the model at once
    expected = [f"{path}: {code}" for path, code in made]
    folder = made[0][0].parent
    done = t.ckpt("eval", CAPTCHA_MODEL, "--predict", folder)
    t.suite.equal("a folder", (done.code, done.text.splitlines()), (DONE, expected), done.err)
    found = result(t, "as data", CAPTCHA_MODEL, folder)
    t.suite.equal("as data", found and (found["samples"], found["correct"]), (70, 70))
    done = t.ckpt("eval", CAPTCHA_MODEL, "--predict", made[1][0], made[0][0])
    t.suite.equal("files", (done.code, done.text.splitlines()), (DONE, [expected[1], expected[0]]), done.err)
    names = "".join(f"{path}\n" for path, _ in made[:3]).encode()
    done = t.ckpt("eval", CAPTCHA_MODEL, "--predict", "-", stdin=names)
    t.suite.equal("paths on standard input", (done.code, done.text.splitlines()), (DONE, expected[:3]), done.err)
    done = t.ckpt("eval", CAPTCHA_MODEL, "--predict", "-", stdin=names.rstrip(b"\n"))
    t.suite.equal("the last without a line's end", (done.code, done.text.splitlines()), (DONE, expected[:3]), done.err)
    done = t.ckpt("eval", CAPTCHA_MODEL, "--predict", "-")
    t.suite.check("no paths", done.code == DONE and not done.out, done)

    live = subprocess.Popen([t.ckpt.path, "eval", CAPTCHA_MODEL, "--predict", "-"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, env=environment())  # fmt: skip
    for (path, _), line in zip(made[:2], expected):
        live.stdin.write(f"{path}\n".encode())
        live.stdin.flush()
        answered = select.select([live.stdout], [], [], 60)[0]
        t.suite.equal("a live pipe is answered at once", answered and live.stdout.readline().decode(), line + "\n")
    live.stdin.close()
    t.suite.equal("a live pipe ends", live.wait(60), DONE)

    bad = t.folder / "bad.png"
    bad.write_bytes(made[0][0].read_bytes()[:100])
    text = t.folder / "text.png"
    text.write_text("no picture")
    gone = t.folder / "gone.png"
    some = [made[0][0], bad, gone, made[1][0], text, made[2][0]]
    for name, done in [
        ("among files", t.ckpt("eval", CAPTCHA_MODEL, "--predict", *some)),
        ("on standard input", t.ckpt("eval", CAPTCHA_MODEL, "--predict", "-", stdin="\n".join(map(str, some)).encode())),
    ]:
        ends(t, f"unreadable {name}", done, INPUT, *(f"ckpt: {path}: " for path in (bad, gone, text)))
        t.suite.equal(f"unreadable {name}: the rest", done.text.splitlines(), expected[:3], done.err)
    shutil.copy(bad, folder / "00002z.png")
    done = t.ckpt("eval", CAPTCHA_MODEL, "--predict", folder)
    ends(t, "unreadable in a folder", done, INPUT, "00002z.png")
    t.suite.equal("unreadable in a folder: the rest", done.text.splitlines(), expected)
    ends(t, "no folder", t.ckpt("eval", CAPTCHA_MODEL, "--predict", t.folder / "no"), INPUT, str(t.folder / "no"))
    ends(t, "unreadable as data", t.ckpt("eval", CAPTCHA_MODEL, "--data", folder), INPUT, "00002z.png")


def digit_pictures(t):
    from PIL import Image

    images, labels = loaded(DIGITS)
    state = digits_state()
    plain, right = saved(t, state), 0
    paths = []
    for number in range(40):
        Image.fromarray(images[number, 0].numpy()).save(path := t.folder / f"{number}.png")
        paths.append(path)
    done = t.ckpt("eval", plain, "--predict", *paths)
    read = [line.rsplit(": ", 1)[1] for line in done.text.splitlines()]
    found = result(t, "the same", plain, saved(t, (images[:40], labels[:40])))
    right = sum(a == str(int(b)) for a, b in zip(read, labels))
    t.suite.equal("as the data set has it", (len(read), right), (40, found and found["correct"]))
    state["layer_5.bias"][0] = math.nan
    done = t.ckpt("eval", saved(t, state), "--predict", paths[0])
    t.suite.check("NaN reads as ?", done.text == f"{paths[0]}: ?\n", done)


def progress(t):
    """On a terminal a bar, drawn while the model runs and gone at the end."""
    images, labels = loaded(CAPTCHA_SET)
    times = 2 * len(os.sched_getaffinity(0))  # some seconds, whatever the machine
    data = saved(t, (images.repeat(times, 1, 1, 1), labels.repeat(times, 1)))
    ours, its = pty.openpty()
    run = subprocess.Popen([t.ckpt.path, "eval", CAPTCHA_MODEL.name, "--data", data, "--device", "cpu"], stderr=its,
                           stdout=subprocess.DEVNULL, cwd=CAPTCHA_MODEL.parent, env=environment(TERM="xterm"))  # fmt: skip
    os.close(its)
    shown = b""
    while part := read_terminal(ours):
        shown += part
    t.suite.equal("exit", run.wait(60), DONE)
    percents = {int(percent) for percent in re.findall(rb"(\d+) %", shown)}
    t.suite.check("drawn while the model runs", len(percents) > 2 and max(percents) > 50, shown)
    t.suite.check("gone at the end", shown.endswith(b"\r\x1b[K"), shown)


def read_terminal(terminal):
    try:
        return os.read(terminal, 4096)
    except OSError:  # nobody has it open any longer
        return b""


def names_that_need_care(t):
    """Control characters in a path are printed as such, and an output goes where it was told."""
    odd = t.folder / "a\x1b[31m b'.pt"
    shutil.copy(DIGITS_MODEL, odd)
    done = t.ckpt("eval", odd, "--data", DIGITS)
    t.suite.check("printable", done.code == DONE and b"\x1b" not in done.out and "\x1b" not in done.err, done)
    done = t.ckpt("eval", odd, "--data", DIGITS, "--json")
    t.suite.equal("in JSON", done.json["model"], str(odd))
    raw = os.fsencode(t.folder) + b"/\xff.pt"
    shutil.copy(DIGITS_MODEL, raw)
    done = t.ckpt("eval", os.fsdecode(raw), "--data", DIGITS, "--json", "--junit=" + str(t.path(".xml")))
    t.suite.check("bytes that are not UTF-8", done.code == DONE and done.json["correct"] == 390, done)


GROUPS = [
    where_data_is_looked_for,
    devices,
    without_the_component,
    streams,
    wrong_usage,
    settings_of_other_models,
    settings_of_a_baseline,
    warnings_of_data,
    several_pairs,
    precision_without_a_gpu,
    hints_about_data,
    predictions,
    digit_pictures,
    progress,
    names_that_need_care,
]
