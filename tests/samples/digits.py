"""samples/mnist: preparing, and the recipe beside Python's."""

import gzip
import re
import struct
import xml.etree.ElementTree as ET

import numpy as np
import torch
from harness import ROOT
from nets import FNN

SHIPPED = ROOT / "samples/digits/digits_test.pt.gz"
NAMES = [f"{part}-{kind}" for part in ("train", "t10k") for kind in ("images-idx3-ubyte", "labels-idx1-ubyte")]


def read_idx(path):
    data = path.read_bytes()
    count = data[3]
    shape = struct.unpack(f">{count}I", data[4 : 4 + 4 * count])
    return torch.from_numpy(np.frombuffer(data[4 + 4 * count :], np.uint8).reshape(shape).copy())


def prepared(sample, folder):
    raw = folder / "raw"
    done = sample("mnist", "prepare", "--digits", SHIPPED, "--out", raw)
    assert done.code == 0, done
    return raw


def saved_model(path, model):
    torch.save(model.state_dict(), path)
    return path


def normalised(images):
    return (images.view(-1, 784).float() / 255 - 0.1307) / 0.3081


def recipe(model, raw, epochs, batch=64, seed=0):
    """The sample's training, as one writes it in Python. Returns each epoch's batch losses and right ones of the test."""
    images, labels = normalised(read_idx(raw / NAMES[0])), read_idx(raw / NAMES[1]).long()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    losses, right = [], []
    for epoch in range(1, epochs + 1):
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed + epoch))
        for indices in order.split(batch):
            optimizer.zero_grad()
            loss = torch.nn.CrossEntropyLoss()(model(images[indices]), labels[indices])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        right.append(right_of(model, raw))
    return losses, right


def right_of(model, raw):
    with torch.no_grad():
        outputs = model(normalised(read_idx(raw / NAMES[2])))
    return int((outputs.argmax(1) == read_idx(raw / NAMES[3])).sum())


def greatest_difference(a, b):
    return max(float((a[name].double() - b[name].double()).abs().max()) for name in b)


def shipped_digits_become_mnists_files(suite, sample, folder):
    raw = prepared(sample, folder)
    with gzip.open(SHIPPED) as file:
        images, labels = torch.load(file, weights_only=True)
    both = [torch.cat([read_idx(raw / NAMES[i]), read_idx(raw / NAMES[i + 2])]) for i in (0, 1)]
    suite.check("images are those that ship", torch.equal(both[0], images[:, 0]))
    suite.check("labels are those that ship", torch.equal(both[1].long(), labels))
    suite.equal("four fifths to train on", len(read_idx(raw / NAMES[0])), int(len(labels) * 4 / 5))


def what_are_no_digits_is_refused(suite, sample, folder):
    images = torch.zeros(10, 1, 28, 28, dtype=torch.uint8)
    for name, targets, text in [
        ("one-hot", torch.eye(10), "its labels are no digits"),
        ("floats", torch.full((10,), 4.7), "its labels are no digits"),
        ("past a byte", torch.full((10,), 260), "its labels are no digits"),
        ("below nothing", torch.full((10,), -252), "its labels are no digits"),
        ("none", torch.zeros(0, dtype=torch.long), "there are no images"),
    ]:
        torch.save((images[: len(targets)], targets), folder / "batch.pt")
        done = sample("mnist", "prepare", "--digits", folder / "batch.pt", "--out", folder / "never")
        suite.check(name, done.code == 1 and text in done.err, done)
    suite.check("and nothing is written", not (folder / "never").exists())


def compressed_and_dotted_files_are_taken(suite, sample, folder):
    raw = prepared(sample, folder)
    other = folder / "other"
    other.mkdir()
    for i, name in enumerate(NAMES):
        dotted = name.replace("-idx", ".idx") if i % 2 else name
        (other / (dotted + ".gz")).write_bytes(gzip.compress((raw / name).read_bytes()))
    done = sample("mnist", "prepare", other, "--out", folder / "again")
    suite.equal("status", done.code, 0, done)
    for name in NAMES:
        suite.equal(name, (folder / "again" / name).read_bytes(), (raw / name).read_bytes())
    # Labels of another number of pictures.
    (other / "t10k-labels.idx1-ubyte.gz").write_bytes(gzip.compress((raw / NAMES[1]).read_bytes()))
    done = sample("mnist", "prepare", other, "--out", folder / "never")
    suite.check("counts that differ are refused", done.code == 1 and "not as many labels" in done.err, done)
    suite.check("and nothing is written", not (folder / "never").exists())


def the_recipe_gives_pythons_weights(suite, sample, folder):
    raw = prepared(sample, folder)
    torch.manual_seed(5)
    model = FNN()
    init = saved_model(folder / "init.pt", model)
    out, svg = folder / "fnn.pt", folder / "curves.svg"
    done = sample("mnist", "train", "--data", raw, "--device", "cpu", "--epochs", 3, "--report", 2, "--init", init,
                  "--out", out, "--curves", svg)
    if not suite.equal("status", done.code, 0, done):
        return
    losses, right = recipe(model, raw, 3)
    state = torch.load(out, weights_only=True)
    suite.equal("names in order", list(state), list(model.state_dict()))
    suite.equal("metadata", state._metadata, model.state_dict()._metadata)
    difference = greatest_difference(state, model.state_dict())
    suite.check("weights", difference < 1e-4, f"differ by {difference}")
    printed = [float(x) for x in re.findall(r"batch \d+: loss ([0-9.]+)", done.text)]
    means = [sum(losses[e * 5 + i : e * 5 + i + 2]) / 2 for e in range(3) for i in (0, 2)]
    suite.check("losses are means of the batches between", len(printed) == 6
                and all(abs(a - b) < 2e-4 for a, b in zip(printed, means)), f"{printed}\n{means}")
    said = [int(x) for x in re.findall(r"(\d+) of 80 right", done.text)]
    suite.equal("test after each epoch", said, right)
    # The file by itself: in Python, and with the library.
    again = FNN()
    again.load_state_dict(state)
    suite.equal("Python reads as many", right_of(again, raw), said[-1])
    tested = sample("mnist", "eval", out, "--data", raw, "--device", "cpu")
    suite.check("eval reads as many", f": {said[-1]} of 80 right" in tested.text, tested)
    dots = ET.parse(svg).getroot().findall("{http://www.w3.org/2000/svg}circle")
    suite.equal("curves: 3 epochs of 4", len(dots), 12)


def accuracy_rises(suite, sample, folder):
    raw = prepared(sample, folder)
    done = sample("mnist", "train", "--data", raw, "--device", "cpu", "--epochs", 10, "--batch", 16, "--out", folder / "fnn.pt",
                  "--curves", folder / "c.svg")
    said = [int(x) for x in re.findall(r"(\d+) of 80 right", done.text)]
    suite.check("from little to most", len(said) == 10 and said[0] < 40 and said[-1] >= 60, done)


def wrong_words_are_told(suite, sample, folder):
    for words, status, text in [
        (["train", "--epoch", "5"], 2, "there is no option --epoch"),
        (["train", "--epochs", "five"], 2, "--epochs is 'five'"),
        (["train", "--data", str(folder), "--device", "cpu"], 1, "No such file"),
        (["train", "--device", "cuda:x"], 2, "--device is 'cuda:x'"),
        (["learn"], 2, "mnist train"),
    ]:
        done = sample("mnist", *words)
        suite.check(" ".join(words[:2]), done.code == status and text in done.err, done)


GROUPS = [
    shipped_digits_become_mnists_files,
    what_are_no_digits_is_refused,
    compressed_and_dotted_files_are_taken,
    the_recipe_gives_pythons_weights,
    accuracy_rises,
    wrong_words_are_told,
]
