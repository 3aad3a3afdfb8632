"""samples/captcha: preparing, and the recipe beside Python's."""

import gzip
import re

import numpy as np
import torch
from digits import greatest_difference
from harness import ROOT
from nets import CaptchaResNet
from PIL import Image

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


def load_gzip(path):
    with gzip.open(path) as file:  # fails where the file is not compressed
        return torch.load(file, weights_only=True)


def pixels(path):
    """As a data set in Python reads a picture: (C, W, H) in [0, 1]."""
    picture = Image.open(path).resize((56, 24)).convert("RGB")
    return torch.from_numpy(np.array(picture)).permute(2, 1, 0).float() / 255


def one_hot(code):
    return torch.nn.functional.one_hot(torch.tensor([ALPHABET.index(c) for c in code.lower()]), 36).view(-1).float()


def made(sample, folder, count, batch):
    pictures, data = folder / "pictures", folder / "data"
    done = sample("captcha", "generate", pictures, "--count", count)
    assert done.code == 0, done
    done = sample("captcha", "prepare", pictures, "--out", data, "--batch", batch)
    assert done.code == 0, done
    return pictures, data, done


def read_codes(outputs):
    return outputs.view(-1, 4, 36).argmax(2)


def accuracy(model, inputs, targets):
    model.eval()
    with torch.no_grad():
        return (read_codes(model(inputs)) == read_codes(targets)).all(1).float().mean().item()


def bce(outputs, targets):
    return torch.nn.BCELoss()(torch.softmax(outputs.view(-1, 4, 36), 2).view(-1, 144), targets)


def ce(outputs, targets):
    return torch.nn.functional.cross_entropy(outputs.view(-1, 36), targets.view(-1, 36).argmax(1))


def generated_pictures_are_what_they_say(suite, sample, folder):
    for name in ("a", "b"):
        sample("captcha", "generate", folder / name, "--count", 6, "--seed", 7)
    first, second = (sorted((folder / name).iterdir()) for name in ("a", "b"))
    suite.equal("as many", len(first), 6)
    for one, two in zip(first, second):
        suite.check("name", re.fullmatch(r"\d{5}-[A-Z0-9]{4}\.png", one.name), one.name)
        suite.equal("the same seed gives the same picture", (one.name, one.read_bytes()), (two.name, two.read_bytes()))
        suite.equal("size", Image.open(one).size, (120, 50))


def batches_are_split_as_python_splits_them(suite, sample, folder):
    pictures, data, done = made(sample, folder, 47, 20)
    suite.check("the remainder is told", "2 batches of 20 pictures; 7 of 47 are left out" in done.text, done)
    order = torch.randperm(47, generator=torch.Generator().manual_seed(0)).tolist()
    paths = sorted(pictures.iterdir())
    for number in range(2):
        batch = [paths[i] for i in order[number * 20 : number * 20 + 20]]
        cuts = {"training": batch[: int(0.8 * 20)], "validating": batch[int(0.8 * 20) : int(0.9 * 20)],
                "testing": batch[int(0.9 * 20) :]}
        for name, chosen in cuts.items():
            loaded = load_gzip(data / f"{name}_set.{number}.pt")
            suite.check(f"{name} {number} is a tuple", isinstance(loaded, tuple) and len(loaded) == 2, type(loaded))
            inputs, targets = loaded
            suite.check(f"{name} {number}: pictures", torch.equal(inputs, torch.stack([pixels(p) for p in chosen])))
            suite.check(f"{name} {number}: codes", torch.equal(targets, torch.stack([one_hot(p.stem[-4:]) for p in chosen])))
    suite.equal("no more files", len(list(data.iterdir())), 6)


def batches_of_an_earlier_run_go(suite, sample, folder):
    pictures, data, _ = made(sample, folder, 30, 10)
    (data / "notes_set.2.pt").write_bytes(b"")
    done = sample("captcha", "prepare", pictures, "--out", data, "--batch", 15)
    left = sorted(path.name for path in data.iterdir())
    names = [f"{name}_set.{number}.pt" for name in ("testing", "training", "validating") for number in range(2)]
    suite.equal("files", left, sorted([*names, "notes_set.2.pt"]), done)


def a_picture_that_cannot_be_read_costs_no_earlier_run(suite, sample, folder):
    pictures, data, _ = made(sample, folder, 30, 10)
    before = {path.name: path.read_bytes() for path in data.iterdir()}
    sorted(pictures.iterdir())[-1].write_bytes(b"broken")
    done = sample("captcha", "prepare", pictures, "--out", data, "--batch", 10, "--seed", 3)
    suite.check("refused", done.code == 1, done)
    suite.equal("files", {path.name: path.read_bytes() for path in data.iterdir()}, before)


def a_gap_in_the_batches_is_told(suite, sample, folder):
    _, data, _ = made(sample, folder, 30, 10)
    (data / "training_set.1.pt").unlink()
    done = sample("captcha", "train", "--data", data, "--device", "cpu", "--epochs", 1, "--out", folder / "m.pt")
    suite.check("refused", done.code == 2 and "there is no training_set.1.pt" in done.err, done)


def what_cannot_be_prepared_is_told(suite, sample, folder):
    sample("captcha", "generate", folder, "--count", 12)
    few = sample("captcha", "prepare", folder, "--out", folder / "out")
    suite.check("too few", few.code == 1 and "12 pictures" in few.err and "1000" in few.err, few)
    (folder / "unnamed.png").write_bytes(b"")
    unnamed = sample("captcha", "prepare", folder, "--out", folder / "out", "--batch", 10)
    suite.check("a name without a code", unnamed.code == 1 and "unnamed.png" in unnamed.err, unnamed)
    suite.check("nothing is written", not (folder / "out").exists())


def one_step_is_pythons(suite, sample, folder):
    """Both losses, norms in training and evaluation, Adam: on one minibatch from the same weights."""
    _, data, _ = made(sample, folder, 10, 10)
    torch.manual_seed(8)
    start = CaptchaResNet()
    torch.save(start.state_dict(), folder / "init.pt")
    inputs, targets = load_gzip(data / "training_set.0.pt")
    order = torch.Generator().manual_seed(1)
    torch.randperm(1, generator=order)  # of the files
    indices = torch.randperm(len(inputs), generator=order)
    for name, loss_of in [("bce", bce), ("ce", ce)]:
        out = folder / f"{name}.pt"
        done = sample("captcha", "train", "--data", data, "--device", "cpu", "--epochs", 1, "--loss", name, "--init",
                      folder / "init.pt", "--out", out, "--curves", folder / "c.svg")
        if not suite.equal(f"{name}: status", done.code, 0, done):
            continue
        model = CaptchaResNet()
        model.load_state_dict(start.state_dict())
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        loss = loss_of(model(inputs[indices]), targets[indices])
        loss.backward()
        gradients = {key: parameter.grad for key, parameter in model.named_parameters()}
        optimizer.step()
        printed = float(re.search(r"epoch 1: loss ([0-9.]+)", done.text)[1])
        suite.check(f"{name}: loss", abs(printed - loss.item()) < 1e-5, f"{printed} and {loss.item()}")
        state = load_gzip(out)
        suite.equal(f"{name}: names in order", list(state), list(model.state_dict()))
        suite.equal(f"{name}: metadata", state._metadata, model.state_dict()._metadata)
        # Adam's first step is the sign of a gradient: where that is next to nothing, rounding decides.
        wrong = [key for key, gradient in gradients.items()
                 if ((state[key] - model.state_dict()[key]).abs() > 1e-4)[gradient.abs() > 1e-5].any()]
        suite.equal(f"{name}: weights", wrong, [])
        norms = {key: value for key, value in model.state_dict().items() if "running" in key or "tracked" in key}
        difference = greatest_difference(state, norms)
        suite.check(f"{name}: statistics of norms", difference < 1e-4, f"differ by {difference}")


def training_learns_and_its_file_is_sound(suite, sample, folder):
    """Six pictures learnt by heart, from a file of bytes and classes."""
    pictures, data, _ = made(sample, folder, 10, 10)
    inputs, targets = load_gzip(data / "training_set.0.pt")
    known = (inputs[:6].mul(255).round().byte(), read_codes(targets)[:6])
    for name in ("training", "validating", "testing"):
        torch.save(known, data / f"{name}_set.0.pt")
    out = folder / "model.pt"
    done = sample("captcha", "train", "--data", data, "--device", "cpu", "--epochs", 6, "--batch", 6, "--loss", "ce",
                  "--out", out, "--curves", folder / "c.svg")
    if not suite.equal("status", done.code, 0, done):
        return
    losses = [float(x) for x in re.findall(r": loss ([0-9.]+)", done.text)]
    suite.check("the loss falls", len(losses) == 6 and losses[-1] < losses[0] / 2, done)
    model = CaptchaResNet()
    model.load_state_dict(load_gzip(out))
    said = float(re.search(r"testing accuracy ([0-9.]+)", done.text)[1])
    best = max(float(x) for x in re.findall(r"validation accuracy ([0-9.]+)", done.text))
    suite.equal("the best is kept and tested", said, best)
    got = accuracy(model, known[0].float() / 255, torch.nn.functional.one_hot(known[1], 36).view(-1, 144))
    suite.check("Python reads as many", abs(got - said) < 1e-3, f"{got} and {said}")
    tested = sample("captcha", "eval", out, "--data", data, "--device", "cpu")
    suite.check("eval reads as many", f": {round(said * 6)} of 6 right" in tested.text, tested)
    picture = sorted(pictures.iterdir())[0]
    read = sample("captcha", "predict", out, picture, folder / "none.png", "--device", "cpu")
    with torch.no_grad():
        code = "".join(ALPHABET[i] for i in read_codes(model.eval()(pixels(picture)[None]))[0])
    suite.equal("predict reads what Python reads", read.text, f"{picture}\t{code}\n")
    suite.check("and goes on where there is no picture", read.code == 1 and "none.png" in read.err, read)


def time_is_told(suite, sample, folder):
    _, data, _ = made(sample, folder, 10, 10)
    done = sample("captcha", "train", "--data", data, "--device", "cpu", "--time")
    suite.check("seconds a batch file", re.search(r"^cpu: [0-9.]+ s a batch file$", done.text, re.M), done)


def the_shipped_model_is_evaluated(suite, sample, folder):

    for name in ("training", "validating", "testing"):
        inputs, targets = load_gzip(ROOT / "samples/captcha/testing_set.0.pt")
        torch.save((inputs[:20], targets[:20]), folder / f"{name}_set.0.pt")
    done = sample("captcha", "eval", ROOT / "samples/captcha/captcha_resnet.pt.gz", "--data", folder, "--device", "cpu")
    suite.check("eval", "20 of 20 right" in done.text, done)


GROUPS = [
    generated_pictures_are_what_they_say,
    batches_are_split_as_python_splits_them,
    batches_of_an_earlier_run_go,
    a_picture_that_cannot_be_read_costs_no_earlier_run,
    a_gap_in_the_batches_is_told,
    what_cannot_be_prepared_is_told,
    one_step_is_pythons,
    training_learns_and_its_file_is_sound,
    time_is_told,
    the_shipped_model_is_evaluated,
]
