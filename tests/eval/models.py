"""Every architecture with random weights, in every guise: its outputs are Python's."""

import copy
import gzip
from collections import OrderedDict

import numpy
import safetensors.torch
import torch
from harness import ROOT
from nets import MLP, FNN, CaptchaResNet, FooNet, Net, randomised
from torch import nn

SHARED = ROOT.parent / "shared"


def outputs(model, inputs):
    with torch.inference_mode():
        return model(inputs)


def inputs_for(name, count=3):
    shape = {"fnn": (784,), "captcha-resnet": (3, 56, 24), "foonet": (5,), "net": (3,), "mlp": (6,)}[name]
    return torch.randn(count, *shape, generator=torch.Generator().manual_seed(5))


def sequential():
    return nn.Sequential(nn.Linear(6, 11), nn.ReLU(), nn.Linear(11, 11), nn.ReLU(), nn.Linear(11, 4))


def reference_models():
    torch.manual_seed(1)
    yield "fnn", FNN()
    yield "captcha-resnet", randomised(CaptchaResNet())
    yield "foonet", FooNet()
    yield "net", Net()
    yield "mlp", sequential()


def arrays(t, state):
    numpy.savez(path := t.path(".npz"), **{name: value.numpy() for name, value in state.items()})
    return path


def guises(t, model):
    """(what it is, the file, what stderr must hold, the model in Python)"""
    state = model.state_dict()

    def saved(obj, **options):
        torch.save(obj, path := t.path(), **options)
        return path

    plain = saved(state)
    yield "plain", plain, "", model
    yield "module.", saved(nn.DataParallel(model).cpu().state_dict()), "ckpt strip-prefix ", model
    cuda = t.path()
    t.suite.check("cuda tags made", t.ckpt("convert", plain, cuda, "--to", "cuda:1").code == 0)
    yield "cuda tags", cuda, "tagged cuda:1", model
    yield "legacy", saved(state, _use_new_zipfile_serialization=False), "", model
    with gzip.open(packed := t.path(".pt.gz"), "wb", 1) as file:
        torch.save({"epoch": 1, "model_state_dict": state}, file)
    yield "gzip, in a trainer's file", packed, "", model
    yield "npz", arrays(t, state), "", model
    safetensors.torch.save_file(state, bare := t.path(".safetensors"))
    yield "safetensors", bare, "", model
    for format_ in ("safetensors-index", "torch-index"):
        done = t.ckpt("convert", plain, folder := t.path(""), "--format", format_, "--shard-size", "20KB")
        t.suite.check(f"{format_} made", done.code == 0, done)
        yield format_, folder, "", model
    for dtype, word in [(torch.float16, "Half"), (torch.bfloat16, "BFloat16"), (torch.float64, "Double")]:
        other = copy.deepcopy(model).to(dtype)
        yield str(dtype), saved(other.state_dict()), f"{word} tensor", other.float()


def all_guises(t):
    for name, model in reference_models():
        inputs = inputs_for(name)
        for guise, file, said, same in guises(t, model):
            done = t.same_logits(f"{name}, {guise}", file, inputs, outputs(same, inputs))
            t.suite.check(f"{name}, {guise}: architecture", done.text.startswith(name + " "), done)
            t.suite.check(f"{name}, {guise}: notes", said in done.err and bool(said) == bool(done.err), done)


def normalisation_and_answers(t):
    """What the signature says, beside the outputs: positions, classes, mean, standard deviation."""
    for name, said in [
        ("fnn", "fnn 1x10 (x - 0.1307) / 0.3081\n"),
        ("captcha-resnet", "captcha-resnet 4x36 (x - 0) / 1\n"),
        ("mlp", "mlp 1x4 (x - 0) / 1\n"),
    ]:
        model = dict(reference_models())[name]
        torch.save(model.state_dict(), path := t.path())
        _, done = t.logits(path, inputs_for(name))
        t.suite.equal(name, done.text, said)
    _, done = t.logits(path, inputs_for("mlp"), "normalize=0.5,0.25")
    t.suite.equal("mlp, --normalize", done.text, "mlp 1x4 (x - 0.5) / 0.25\n")


def chains(t):
    """Names, order, biases and activations of an mlp are the file's and the user's."""
    torch.manual_seed(2)
    inputs = inputs_for("mlp")

    def try_one(name, model, state=None, settings=(), expected=None):
        torch.save(model.state_dict() if state is None else state, path := t.path())
        expected = outputs(model, inputs) if expected is None else expected
        t.same_logits(name, path, inputs, expected, "arch=mlp", *settings)

    for activation, act in [
        ("tanh", torch.tanh),
        ("sigmoid", torch.sigmoid),
        ("gelu", nn.functional.gelu),
        ("none", lambda x: x),
    ]:
        model = MLP({"a": nn.Linear(6, 9), "b": nn.Linear(9, 3)}, act)
        try_one(activation, model, settings=[f"activation={activation}"])
    try_one("one layer that is the model", nn.Linear(6, 2))
    try_one("no biases", MLP({"in": nn.Linear(6, 8, bias=False), "out": nn.Linear(8, 2, bias=False)}))
    square = MLP({f"fc{i}": nn.Linear(6, 6) for i in range(1, 12)})
    backwards = OrderedDict(sorted(square.state_dict().items()))  # fc1, fc10, fc11, fc2: as safetensors sort them
    try_one("numbers decide, not places", square, backwards)
    named = MLP({"stem": nn.Linear(6, 9), "body": nn.Linear(9, 5), "head": nn.Linear(5, 2)})
    shuffled = OrderedDict(sorted(named.state_dict().items()))
    try_one("sizes decide where places cannot", named, shuffled)
    wrapped = OrderedDict((f"net.layers.{key}", value) for key, value in square.state_dict().items())
    try_one("deep names", square, wrapped)


def said_activations(t):
    """A whole module's classes say what runs between its Linear layers."""
    torch.manual_seed(6)
    inputs = inputs_for("mlp")
    for act in (nn.ReLU(), nn.Tanh(), nn.Sigmoid(), nn.GELU()):
        model = nn.Sequential(nn.Flatten(), nn.Linear(6, 9), act, nn.Dropout(), nn.Linear(9, 3)).eval()
        torch.save(model, path := t.path())
        t.same_logits(type(act).__name__, path, inputs, outputs(model, inputs))
        torch.jit.script(model).save(path := t.path())
        t.same_logits(f"{type(act).__name__}, TorchScript's weights", path, inputs, outputs(model, inputs), "arch=mlp")
    model = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 3), nn.Sigmoid())
    torch.save(model, path := t.path())
    t.same_logits("--activation", path, inputs, outputs(model[:3], inputs), "arch=mlp", "activation=tanh")
    student = sequential()
    inputs = inputs_for("mlp")
    torch.save({"state_dict": student.state_dict(), "teacher": model, "pool": nn.MaxPool2d(2)}, path := t.path())
    t.same_logits("another module beside a state dict", path, inputs, outputs(student, inputs), "root=state_dict")
    torch.save({"teacher": model[:3], "other": nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.BatchNorm1d(9))}, path := t.path())
    t.same_logits("another module beside a module", path, inputs, outputs(model[:3], inputs), "root=teacher")


def quantised(t):
    torch.manual_seed(4)
    model = sequential()
    inputs = inputs_for("mlp")
    state = model.state_dict()
    weight = state["0.weight"]
    scales = torch.rand(11, dtype=torch.float64) / 50 + 0.01
    for name, quantise in [
        ("per tensor", lambda: torch.quantize_per_tensor(weight, 0.02, 3, torch.qint8)),
        ("per tensor, unsigned", lambda: torch.quantize_per_tensor(weight, 0.02, 128, torch.quint8)),
        ("per channel", lambda: torch.quantize_per_channel(weight, scales, torch.zeros(11), 0, torch.qint8)),
    ]:
        held = quantise()
        torch.save({**state, "0.weight": held}, path := t.path())
        same = copy.deepcopy(model)
        same[0].weight.data = held.dequantize()
        done = t.same_logits(name, path, inputs, outputs(same, inputs))
        t.suite.check(f"{name}: said", "tensor was converted to float32" in done.err, done)


def batch_counts(t):
    """Norms saved before torch 0.4.1 do not count batches."""
    model = randomised(CaptchaResNet())
    inputs = inputs_for("captcha-resnet", 1)
    state = {k: v for k, v in model.state_dict().items() if not k.endswith("num_batches_tracked")}
    torch.save(state, path := t.path())
    t.same_logits("num_batches_tracked", path, inputs, outputs(model, inputs))


def torchscript(t):
    torch.manual_seed(6)
    model, inputs = CaptchaResNet().eval(), inputs_for("captcha-resnet")
    with torch.no_grad():
        expected = model(inputs)
    torch.jit.script(model).save(path := t.path())
    with gzip.open(packed := t.path(".pt.gz"), "wb", 1) as file:
        file.write(path.read_bytes())
    for name, file in [("bare", path), ("gzip", packed)]:
        done = t.same_logits(name, file, inputs, expected, "arch=torchscript", "shape=3,56,24")
        t.suite.check(f"{name}: signature", done.text.startswith("torchscript 1x144 "), done)


def captcha_reference(t):
    model, data = (SHARED / "reference" / name for name in ("captcha_resnet18_q4.pt.gz", "captcha_testing_set.0.pt"))
    if not data.exists():
        return t.suite.skip("captcha reference", f"{data} is not here")
    with gzip.open(data, "rb") as file:
        images, labels = torch.load(file, weights_only=True)
    got, done = t.logits(model, images)
    if t.suite.check("exit 0", got is not None, done):
        right = (got.view(-1, 4, 36).argmax(2) == labels.view(-1, 4, 36).argmax(2)).all(1).sum().item()
        t.suite.equal("codes", right, 200)


REAL = {  # files of the corpus, and where their state dict is
    "ggml__mnist_model.state_dict": None,
    "torch__ordered_dict.pt": None,
    "captum__boston_model_smpl.pt": None,
    "captum__california_model.pt": None,
    "captum__titanic_model.pt": None,
    "serve__iris.pt": None,
    "DR_blend__checkpoint.pth.tar": "state_dict",
    "burn__complex_structure.pt": "state.decoder",
}


def real_mlps(t):
    good = SHARED / "corpus" / "good"
    if not good.exists():
        return t.suite.skip("real MLPs", f"{good} is not here")
    for name, root in REAL.items():
        state = torch.load(good / name, map_location="cpu", weights_only=True)
        for part in root.split(".") if root else ():
            state = state[part]
        state = {key.removeprefix("module."): value for key, value in state.items()}
        weights = [key for key in state if key.endswith("weight")]
        inputs = torch.rand(4, state[weights[0]].shape[1], generator=torch.Generator().manual_seed(1))
        x = inputs
        for i, key in enumerate(weights):
            x = nn.functional.linear(torch.relu(x) if i else x, state[key], state.get(key[:-6] + "bias"))
        t.same_logits(name, good / name, inputs, x, "arch=mlp", *([f"root={root}"] if root else []))


GROUPS = [
    all_guises,
    normalisation_and_answers,
    chains,
    said_activations,
    quantised,
    batch_counts,
    torchscript,
    captcha_reference,
    real_mlps,
]
