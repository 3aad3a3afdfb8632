"""`ckpt eval` counts what Python counts: on every container, at every batch size, in every guise of the model."""

import gzip

import numpy
import safetensors.torch
import torch
from evaluations import (CAPTCHA_MODEL, CAPTCHA_SET, CAPTCHAS, DIGITS, DIGITS_MODEL, DONE, MNIST, REFERENCE, SHARED, counts,
                         digits_state, loaded, result, rows, saved, write_idx)  # fmt: skip
from nets import FNN, CaptchaResNet
from test_sets import digest_of
from torch import nn


def logits(model, state, inputs):
    model.load_state_dict(state)
    with torch.inference_mode():
        return model.eval()(inputs)


def normalised(images):
    return (images.reshape(-1, 784).float() / 255 - 0.1307) / 0.3081


def every_sample(t, name, model, data, expected, labels, alphabet, positions=1):
    """--predictions and --json against Python's logits: each prediction, each confidence, the counts, the digest."""
    table = t.path(".csv")
    found = result(t, name, model, data, "--predictions", table)
    if found is None:
        return
    chances = torch.softmax(expected.reshape(-1, positions, len(alphabet)).double(), 2)
    values, classes = chances.max(2)
    right = (classes == labels.reshape(-1, positions)).all(1)
    t.suite.equal(f"{name}: correct", (found["samples"], found["correct"]), (len(right), int(right.sum())))

    def text(indices):
        return ["".join(alphabet[i] for i in sample) for sample in indices.reshape(-1, positions).tolist()]

    lines = rows(table)
    t.suite.equal(f"{name}: head", lines[0], ["index", "label", "prediction", "confidence"])
    indices = [str(i) for i in range(len(right))]
    for column, expected_column in enumerate((indices, text(labels), text(classes))):
        t.suite.equal(f"{name}: column {column}", [line[column] for line in lines[1:]], expected_column)
    confidence = torch.tensor([float(line[3]) for line in lines[1:]], dtype=torch.float64)
    t.suite.check(f"{name}: confidence", bool((confidence - values.prod(1)).abs().max() < 1e-4))
    for place in range(positions if positions > 1 else 0):
        said = found["per_position"][place]
        correct = int((classes == labels.reshape(-1, positions))[:, place].sum())
        t.suite.equal(f"{name}: position {place + 1}", (said["position"], said["correct"]), (place + 1, correct))
    for said in found["per_class"]:
        here = labels.reshape(-1, positions) == alphabet.index(said["class"])
        as_counted = (int(here.sum()), int((here & (classes == labels.reshape(-1, positions))).sum()))
        t.suite.equal(f"{name}: class {said['class']}", (said["samples"], said["correct"]), as_counted)


def digits(t):
    images, labels = loaded(DIGITS)
    expected = logits(FNN(), digits_state(), normalised(images))
    every_sample(t, "digits", DIGITS_MODEL, DIGITS, expected, labels, "0123456789")
    found = result(t, "digits", DIGITS_MODEL, DIGITS)
    t.suite.equal("98.2 % of 397", (found["samples"], found["correct"]), (397, 390))
    inputs = images.reshape(-1, 784).numpy()
    t.suite.equal("the digest as documented", found["data_digest"], digest_of(inputs, labels.int().numpy()[:, None]))


def captchas(t):
    images, labels = loaded(CAPTCHA_SET)
    quantised = loaded(CAPTCHA_MODEL)
    state = {key: value.dequantize() if value.is_quantized else value.float() for key, value in quantised.items()}
    expected = logits(CaptchaResNet(), state, images.float() / 255)
    every_sample(t, "captchas", CAPTCHA_MODEL, CAPTCHA_SET, expected, labels, ALPHABET, 4)
    for size in (1, 17):
        part = saved(t, (images[:20], labels[:20]))
        found = result(t, f"batches of {size}", CAPTCHA_MODEL, part, "--batch-size", str(size))
        t.suite.equal(f"batches of {size}", found and found["correct"], 20)


ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


def same_however(t, model, images, labels, sizes):
    """The same counts and digest for every container and batch size. `images`: uint8 [N, 28, 28]."""
    pixels, classes = images.numpy(), labels.to(torch.uint8).numpy()
    folders = {"IDX, gzip": ("", True), "IDX, bare": ("", False), "IDX in MNIST/raw": ("MNIST/raw", False)}
    containers = {}
    for name, (below, packed) in folders.items():
        containers[name] = t.path("")
        suffix = ".gz" if packed else ""
        write_idx(containers[name] / below / f"t10k-images-idx3-ubyte{suffix}", pixels, packed)
        write_idx(containers[name] / below / f"t10k-labels-idx1-ubyte{suffix}", classes, packed)
    containers["one IDX file"] = containers["IDX, bare"] / "t10k-images-idx3-ubyte"
    containers["torch"] = saved(t, (images, labels))
    containers["torch, gzip"] = saved(t, (images, labels), packed=True)
    containers["torch, legacy"] = saved(t, (images, labels), _use_new_zipfile_serialization=False)
    containers["torch, one-hot"] = saved(t, (images[:, None], nn.functional.one_hot(labels.long(), 10).float()))
    half = len(images) // 3
    containers["batches"] = saved(t, (images[:half], labels[:half]), name="batches/testing_set.0.pt").parent
    saved(t, (images[half:], labels[half:]), packed=True, name="batches/testing_set.1.pt.gz")
    for name, save in (("npz", numpy.savez), ("npz, deflated", numpy.savez_compressed)):
        save(path := t.path(".npz"), images=pixels, labels=classes)
        containers[name] = path
    held = {"images": images.contiguous(), "labels": labels.contiguous()}
    safetensors.torch.save_file(held, path := t.path(".safetensors"))
    containers["safetensors"] = path
    first = counts(result(t, "IDX", model, containers["IDX, gzip"]))
    for name, data in containers.items():
        t.suite.equal(name, counts(result(t, name, model, data)), first)
    for size in sizes:
        found = result(t, f"batch size {size}", model, containers["torch"], "--batch-size", str(size))
        t.suite.equal(f"batch size {size}", counts(found), first)
    return first


def containers_and_batch_sizes(t):
    images, labels = loaded(DIGITS)
    same_however(t, DIGITS_MODEL, images[:, 0], labels, (1, 7, 64, 396, 397, 10000))


def guises(t):
    """The model's container, prefix, tags and dtype change no count; what was mended is said with its command."""
    state = digits_state()
    plain = saved(t, state)
    first = counts(result(t, "plain", plain, DIGITS))
    trainer = {"epoch": 3, "model_state_dict": state, "optimizer": {"lr": 0.1}}
    prefixed = {f"module.{key}": value for key, value in state.items()}
    cuda = t.path()
    t.suite.check("cuda tags made", t.ckpt("convert", plain, cuda, "--to", "cuda:0").code == DONE)
    for name, model, said in [
        ("legacy", saved(t, state, _use_new_zipfile_serialization=False), ""),
        ("gzip", saved(t, state, packed=True), ""),
        ("legacy, gzip", saved(t, state, packed=True, _use_new_zipfile_serialization=False), ""),
        ("a trainer's file", saved(t, trainer), ""),
        ("module.", saved(t, prefixed), "ckpt strip-prefix"),
        ("cuda tags", cuda, "" if torch.cuda.is_available() else "--to cpu"),
        ("all at once", DIGITS_MODEL, "ckpt strip-prefix"),
    ]:
        found = result(t, name, model, DIGITS)
        if found is None:
            continue
        t.suite.equal(name, counts(found) | {"digest": ""}, first | {"digest": ""})
        t.suite.check(f"{name}: said", said in " ".join(found["warnings"]) and bool(said) == bool(found["warnings"]),
                      found["warnings"])  # fmt: skip
        if name in ("legacy", "gzip", "a trainer's file", "cuda tags"):
            t.suite.equal(f"{name}: digest of the weights", found["digest"], first["digest"])
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        found = result(t, str(dtype), saved(t, {key: value.to(dtype) for key, value in state.items()}), DIGITS)
        wider = {key: value.to(dtype).float() for key, value in state.items()}
        images, labels = loaded(DIGITS)
        right = int((logits(FNN(), wider, normalised(images)).argmax(1) == labels).sum())
        t.suite.equal(f"{dtype}: correct", found and found["correct"], right)
        t.suite.check(f"{dtype}: said", found and "float32" in " ".join(found["warnings"]), found)


def mnist(t):
    if not MNIST.exists():
        return t.suite.skip("MNIST", f"{MNIST} is not here")
    model = REFERENCE / "fnn_mnist.pt.gz"
    images = gzip.decompress((MNIST / "t10k-images-idx3-ubyte.gz").read_bytes())[16:]
    images = torch.frombuffer(bytearray(images), dtype=torch.uint8).reshape(-1, 28, 28)
    labels = gzip.decompress((MNIST / "t10k-labels-idx1-ubyte.gz").read_bytes())[8:]
    labels = torch.frombuffer(bytearray(labels), dtype=torch.uint8).long()
    state = loaded(model)
    every_sample(t, "MNIST", model, MNIST, logits(FNN(), state, normalised(images)), labels, "0123456789")
    first = same_however(t, model, images, labels, (7, 64, 512, 10000))
    t.suite.equal("9,771 of 10,000", (first["samples"], first["correct"]), (10000, 9771))
    part = result(t, "batch size 1", model, saved(t, (images[:500], labels[:500])), "--batch-size", "1")
    whole = result(t, "a part", model, saved(t, (images[:500], labels[:500])))
    t.suite.equal("batch size 1, of a part", counts(part), counts(whole))
    for name, other in [
        ("legacy", saved(t, state, _use_new_zipfile_serialization=False)),
        ("module.", saved(t, nn.DataParallel(wrapped(state)).state_dict())),
    ]:
        found = result(t, name, other, MNIST)
        t.suite.equal(f"MNIST, {name}", found and (found["correct"], found["data_digest"]), (9771, first["data_digest"]))


def wrapped(state):
    model = FNN()
    model.load_state_dict(state)
    return model


def captcha_reference(t):
    data = REFERENCE / "captcha_testing_set.0.pt"
    if not data.exists():
        return t.suite.skip("the captcha reference", f"{data} is not here")
    found = result(t, "captcha reference", REFERENCE / "captcha_resnet18_q4.pt.gz", data)
    t.suite.equal("200 of 200", found and (found["samples"], found["correct"]), (200, 200))
    found = result(t, "digits reference", REFERENCE / "fnn_digits.pt.gz", REFERENCE / "digits_test_u8.pt.gz")
    t.suite.equal("digits", found and (found["samples"], found["correct"]), (397, 390))


def real_mlp_on_mnist(t):
    file = SHARED / "corpus" / "good" / "ggml__mnist_model.state_dict"
    if not MNIST.exists() or not file.exists():
        return t.suite.skip("a real MLP", f"{file} or {MNIST} is not here")
    state = torch.load(file, weights_only=True, map_location="cpu")
    model = nn.Sequential(nn.Linear(784, 500), nn.ReLU(), nn.Linear(500, 10))
    state = dict(zip(model.state_dict(), state.values(), strict=True))
    images = gzip.decompress((MNIST / "t10k-images-idx3-ubyte.gz").read_bytes())[16:]
    images = torch.frombuffer(bytearray(images), dtype=torch.uint8).reshape(-1, 784).float() / 255
    labels = gzip.decompress((MNIST / "t10k-labels-idx1-ubyte.gz").read_bytes())[8:]
    labels = torch.frombuffer(bytearray(labels), dtype=torch.uint8)
    for name, inputs, options in [
        ("plain", images, []),
        ("--normalize", (images - 0.1307) / 0.3081, ["--normalize", "0.1307,0.3081"]),
    ]:
        right = int((logits(model, state, inputs).argmax(1) == labels).sum())
        found = result(t, name, file, MNIST, "--arch", "mlp", *options)
        t.suite.equal(f"{name}: correct", found and (found["arch"], found["correct"]), ("mlp", right))


def real_captchas(t):
    """Pictures of another kind than the model was trained on: what it reads in them is what Python reads."""
    if not CAPTCHAS.exists():
        return t.suite.skip("35 real captchas", f"{CAPTCHAS} is not here")
    found = result(t, "as data", CAPTCHA_MODEL, CAPTCHAS)
    t.suite.equal("as data", found and found["samples"], 35)
    done = t.ckpt("eval", CAPTCHA_MODEL, "--predict", CAPTCHAS)
    read = dict(line.rsplit(": ", 1) for line in done.text.splitlines())
    t.suite.equal("--predict", sorted(read), [str(path) for path in sorted(CAPTCHAS.glob("*.png"))])
    right = sum(path.rsplit("/", 1)[1].split("_")[0].lower() == code for path, code in read.items())
    t.suite.equal("both agree", found and found["correct"], right)
    from PIL import Image

    pixels = []
    for path in read:
        picture = Image.open(path)
        picture = picture.resize((56, 24), Image.NEAREST if picture.mode in "1P" else Image.BICUBIC).convert("RGB")
        pixels.append(torch.from_numpy(numpy.array(picture)).permute(2, 1, 0))
    state = {key: value.dequantize() if value.is_quantized else value.float() for key, value in loaded(CAPTCHA_MODEL).items()}
    classes = logits(CaptchaResNet(), state, torch.stack(pixels).float() / 255).reshape(-1, 4, 36).argmax(2)
    t.suite.equal("as Python reads them", list(read.values()), ["".join(ALPHABET[i] for i in code) for code in classes])


GROUPS = [
    digits,
    captchas,
    containers_and_batch_sizes,
    guises,
    mnist,
    captcha_reference,
    real_mlp_on_mnist,
    real_captchas,
]
