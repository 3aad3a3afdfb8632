"""Models and their test sets for the rows that evaluate, and how many samples PyTorch finds right.

Beside `NAME.pt.gz`, a state dict as torch.save leaves it in a GzipFile, lies the folder `NAME-data`; `NAME.json` holds
the count that all commands must come to.

    python test_sets.py --folder FOLDER [--quick] NAME…
"""

import argparse
import gzip
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent / "samples"
SHARED = HERE.parent.parent / "shared"
# A FNN for MNIST and MNIST's test set, where they are at hand.
FNN_MNIST, MNIST = SHARED / "reference/fnn_mnist.pt.gz", SHARED / "corpus/datasets/mnist"
IMAGES, LABELS = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"


def has_mnist():
    return FNN_MNIST.exists() and (MNIST / IMAGES).exists() and (MNIST / LABELS).exists()


@dataclass(frozen=True)
class TestSet:
    kind: str  # "fnn" or "captcha"

    @property
    def name(self):
        return f"{self.kind}.pt.gz"

    @property
    def what(self):
        if self.kind == "captcha":
            return "1,000 captchas (200, five times)"
        return "MNIST's 10,000 test images" if has_mnist() else "10,000 images (397 handwritten digits, repeated)"


def folder(model):
    """The name of the folder beside a model."""
    return f"{model.name.split('.')[0]}-data"


def make(sets, target, quick):
    """torch runs in a process of its own, whose memory is gone when the measuring begins."""
    if not sets:
        return
    names = sorted(one.kind for one in sets)
    options = ["--quick"] if quick else []
    subprocess.run([sys.executable, __file__, "--folder", target, *options, *names], check=True)


def load(path):
    import torch

    with gzip.open(path) as file:
        return torch.load(file, map_location="cpu", weights_only=True)


def save(value, path):
    import torch

    with gzip.open(path, "wb") as file:
        torch.save(value, file)


def cycled(tensor, count):
    repeats = -(-count // len(tensor))
    return tensor.repeat(repeats, *[1] * (tensor.dim() - 1))[:count].contiguous()


def save_idx(path, tensor):
    head = bytes([0, 0, 8, tensor.dim()]) + b"".join(size.to_bytes(4, "big") for size in tensor.shape)
    path.write_bytes(head + tensor.numpy().tobytes())


def make_fnn(path, data, quick):
    """Writes both. Returns the network, the samples as it takes them, and their labels."""
    import torch
    from fnn_model import FNN, read_idx

    if has_mnist():
        shutil.copyfile(FNN_MNIST, path)
        images, labels = read_idx(MNIST / IMAGES), read_idx(MNIST / LABELS)
    else:
        wrapped = load(SAMPLES / "digits/fnn_digits_dp.pt.gz")
        save({name.removeprefix("module."): tensor for name, tensor in wrapped.items()}, path)
        images, labels = load(SAMPLES / "digits/digits_test.pt.gz")
        images, labels = images.squeeze(1), labels.to(torch.uint8)
    count = 100 if quick else 10_000
    images, labels = cycled(images, count), cycled(labels, count)
    # As torchvision leaves it: it also wants to see the training files, and does not read them.
    raw = data / "MNIST/raw"
    raw.mkdir(parents=True)
    save_idx(raw / IMAGES.removesuffix(".gz"), images)
    save_idx(raw / LABELS.removesuffix(".gz"), labels)
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"):
        (raw / name).touch()
    model = FNN()
    model.load_state_dict(load(path))
    return model, (images.float() / 255 - 0.1307) / 0.3081, labels.unsqueeze(1)


def make_captcha(path, data, quick):
    import torch
    from captcha_model import CaptchaResNet

    images, labels = load(SAMPLES / "captcha/testing_set.0.pt")
    count = 20 if quick else 1_000
    images, labels = cycled(images.float() / 255, count), cycled(labels, count)
    save((images, torch.nn.functional.one_hot(labels, 36).flatten(1).float()), data / "testing_set.0.pt")
    shutil.copyfile(SAMPLES / "captcha/captcha_resnet.pt.gz", path)
    model = CaptchaResNet()
    model.load_state_dict(load(path))
    return model, images, labels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE / "peers"))  # the models as the peers define them
    import torch

    for name in options.names:
        path = options.folder / TestSet(name).name
        data = options.folder / folder(path)
        data.mkdir()
        model, samples, labels = {"fnn": make_fnn, "captcha": make_captcha}[name](path, data, options.quick)
        model.eval()
        with torch.inference_mode():
            read = torch.cat([model(part).view(len(part), labels.shape[1], -1).argmax(2) for part in samples.split(100)])
        right = (read == labels).all(1).sum().item()
        (options.folder / f"{name}.json").write_text(json.dumps({"correct": right, "samples": len(samples)}))


if __name__ == "__main__":
    main()
