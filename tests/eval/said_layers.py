"""Whole modules name their layers: what ckpt would not run as Python does is refused."""

import shlex
from collections import OrderedDict

import torch
from evaluations import INPUT, ends, saved
from models import outputs
from nets import FNN, CaptchaResNet
from torch import nn


def tanh_digits(net, images):
    x = (images.reshape(-1, 784) / 255 - 0.1307) / 0.3081
    for i in range(1, 5):
        x = torch.tanh(getattr(net, f"layer_{i}")(x))
    return net.layer_5(x)


def layers_without_weights(t):
    """A whole module that names layers which ckpt would not run."""
    torch.manual_seed(7)
    for name, layer, said in [
        ("another activation", nn.LeakyReLU(), "activation.LeakyReLU"),
        ("a norm", nn.LayerNorm(9, elementwise_affine=False), "normalization.LayerNorm"),
        ("two activations", nn.Sequential(nn.ReLU(), nn.Tanh()), "activation.ReLU, torch.nn.modules.activation.Tanh"),
    ]:
        torch.save(nn.Sequential(nn.Linear(6, 9), layer, nn.Linear(9, 3)), path := t.path())
        done = t.ckpt("eval", path, "--data", t.folder / "nowhere", "--device", "cpu")
        hint = f"hint: ckpt eval {path} --data {t.folder / 'nowhere'} --device cpu --arch mlp --activation NAME, "
        ends(t, name, done, INPUT, f"the module in the file has torch.nn.modules.{said} beside", hint)
    net = FNN()
    net.activation = nn.Tanh()
    images = torch.randint(0, 256, (64, 28, 28), dtype=torch.uint8)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter *= 3  # else all are read as one class
        labels = tanh_digits(net, images).argmax(1)
    torch.save({"one": net, "other": FNN()}, path := t.path())
    done = t.ckpt("eval", path, "--root", "one", "--device", "cpu", "--data", saved(t, (images, labels)))
    command = done.err.rpartition("hint: ckpt ")[2].partition(", where ")[0].replace("NAME", "tanh")
    done = t.ckpt(*shlex.split(command), "--min-accuracy", "100%")
    t.suite.check(f"pasted: {command}", "--root one" in command and done.code == 0, done)
    net = nn.Sequential(OrderedDict(fc1=nn.Linear(3, 2), act=nn.ReLU(), fc2=nn.Linear(2, 1)))
    torch.save(net, path := t.path())
    done = t.ckpt("eval", path, "--data", t.folder / "nowhere", "--device", "cpu")
    ends(t, "what an architecture does not run", done, INPUT, "expected its activation to be none")


class Magnitude(nn.Module):
    """Of which no file says what it does."""

    def forward(self, x):
        return x.abs()


class Within(nn.Module):
    """Most models are written so: what forward() does is unknown, what a Sequential in it does is not."""

    def __init__(self, *layers):
        super().__init__()
        self.body = nn.Sequential(*layers)

    def forward(self, x):
        return self.body(x)


def layers_in_their_order(t):
    """A Sequential runs them as they stand there."""
    torch.manual_seed(8)
    inputs = torch.randn(3, 6)

    def linear(*sizes):
        return [nn.Linear(a, b) for a, b in zip(sizes, sizes[1:], strict=False)]

    a, b, c = linear(6, 9, 9, 4)
    for title, layers in [
        ("nothing between", [a, b, c]),
        ("what changes nothing", [nn.Flatten(), a, nn.Dropout(), nn.ReLU(), b, nn.Identity(), nn.ReLU(), c]),
        ("one within another", [nn.Sequential(a, nn.Tanh()), nn.Sequential(b, nn.Tanh(), c)]),
    ]:
        for model in (nn.Sequential(*layers).eval(), Within(*layers).eval()):
            torch.save(model, path := t.path())
            t.same_logits(f"{title}, {type(model).__name__}", path, inputs, outputs(model, inputs))
    torch.save(nn.Sequential(a, nn.ReLU(), b, nn.ReLU(), c, nn.Softmax(1)), path := t.path())
    t.same_logits("softmax at the end", path, inputs, outputs(nn.Sequential(a, nn.ReLU(), b, nn.ReLU(), c), inputs))
    order = "has the layers "
    for title, layers, said in [
        ("softmax between", [a, nn.Softmax(1), b], f"{order}Linear, Softmax, Linear"),
        ("not between all", [a, b, nn.ReLU(), c], f"{order}Linear, Linear, ReLU, Linear"),
        ("before the first", [nn.ReLU(), a, nn.ReLU(), b], f"{order}ReLU, Linear, ReLU, Linear"),
        ("behind the last", [a, nn.ReLU(), b, nn.ReLU()], f"{order}Linear, ReLU, Linear, ReLU"),
        ("twice", [a, nn.Tanh(), nn.Tanh(), b], f"{order}Linear, Tanh, Tanh, Linear"),
        ("a class of somebody's own", [a, Magnitude(), b], "has said_layers.Magnitude beside"),
        ("another GELU", [a, nn.GELU(approximate="tanh"), b], "has torch.nn.modules.activation.GELU(approximate='tanh') beside"),
    ]:
        for model in (nn.Sequential(*layers), Within(*layers)):
            torch.save(model, path := t.path())
            done = t.ckpt("eval", path, "--data", t.folder / "nowhere", "--device", "cpu")
            ends(t, f"{title}, {type(model).__name__}", done, INPUT, f"the module in the file {said}", "--arch mlp --activation")
    sizes = (784, 512, 256, 128, 64, 10)
    torch.save(nn.Sequential(OrderedDict((f"layer_{i + 1}", layer) for i, layer in enumerate(linear(*sizes)))), path := t.path())
    done = t.ckpt("eval", path, "--data", t.folder / "nowhere", "--device", "cpu")
    ends(t, "an fnn without activation", done, INPUT, f"{order}Linear, Linear", "expected its activation to be relu")


def scaled(_module, _inputs, output):
    return output * 3


def what_is_called_otherwise(t):
    """Not in the order of the names, or by a hook."""
    torch.manual_seed(8)
    layers = {"2": nn.Linear(4, 4), "act": nn.ReLU(), "1": nn.Linear(4, 4)}
    for model, at in [
        (nn.Sequential(OrderedDict(layers)), ""),
        (Within(nn.Sequential(OrderedDict(layers))), "body.0."),
        (nn.DataParallel(nn.Sequential(OrderedDict(layers))), "module."),
    ]:
        torch.save(model, path := t.path())
        done = t.ckpt("eval", path, "--data", t.folder / "nowhere", "--device", "cpu")
        said = f"the module in the file runs its layer '{at}2' before '{at}1', expected '{at}1' first"
        ends(t, f"numbers that run backwards, {type(model).__name__}", done, INPUT, said, "--arch torchscript")
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
    inputs = torch.randn(3, 4)
    expected = outputs(model, inputs)
    model[0].register_forward_hook(scaled)
    model.register_forward_pre_hook(scaled)
    torch.save(model, path := t.path())
    done = t.ckpt("eval", path, "--data", saved(t, (inputs, expected.argmax(1))), "--device", "cpu", "--min-accuracy", "100%")
    ends(t, "hooks", done, 0, "hooks of the module and 1 other were not run, as what they do stands in no file")


def layers_of_captcha_resnet(t):
    def changed(**attributes):
        model = CaptchaResNet().eval()
        for name, value in attributes.items():
            at, _, attribute = name.replace("__", ".").rpartition(".")
            setattr(model.get_submodule(at), attribute, value)
        return model

    torch.manual_seed(8)
    inputs = torch.rand(1, 3, 56, 24)
    same = changed(act=nn.ReLU(), pool=nn.AdaptiveAvgPool2d((1, 1)), drop=nn.Dropout(), flat=nn.Flatten())
    torch.save(same, path := t.path())
    t.same_logits("layers that it runs", path, inputs, outputs(same, inputs))
    for model, said in [
        (changed(pool=nn.MaxPool2d(3)), "has a torch.nn.modules.pooling.MaxPool2d, 'pool'"),
        (changed(act=nn.LeakyReLU()), "has a torch.nn.modules.activation.LeakyReLU, 'act'"),
        (changed(act=Magnitude()), "has a said_layers.Magnitude, 'act'"),
        (changed(layer2__1__conv1__1__eps=0.1), "BatchNorm2d, 'layer2.1.conv1.1', with another eps"),
        (changed(layer3__0__identity__0__stride=(1, 1)), "Conv2d, 'layer3.0.identity.0', with another stride"),
        (changed(conv1__0__padding=(0, 0)), "Conv2d, 'conv1.0', with another padding"),
        (changed(conv1__0__padding_mode="circular"), "Conv2d, 'conv1.0', with another padding_mode"),
        (changed(pool=nn.AdaptiveAvgPool2d(2)), "AdaptiveAvgPool2d, 'pool', with another output_size"),
    ]:
        torch.save({"net": model}, path := t.path())
        done = t.ckpt("eval", path, "--data", t.folder / "nowhere", "--device", "cpu")
        hint = f"ckpt convert {path} weights.pt --weights-only --root net leaves out what it says"
        ends(t, said, done, INPUT, said, hint)
    done = t.ckpt("convert", path, weights := t.path(), *shlex.split("--weights-only --root net"))
    t.same_logits("the weights alone", weights, inputs, outputs(loaded(weights), inputs))


def loaded(path):
    model = CaptchaResNet().eval()
    model.load_state_dict(torch.load(path))
    return model


GROUPS = [layers_without_weights, layers_in_their_order, what_is_called_otherwise, layers_of_captcha_resnet]
