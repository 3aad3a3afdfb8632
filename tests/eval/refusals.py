"""What does not fit is said in PyTorch's own words, with the command that mends it."""

import shlex
from collections import OrderedDict

import evaluations
import harness
import torch
from evaluations import saved
from nets import MLP, FNN, CaptchaResNet, FooNet
from torch import nn

USAGE, INPUT = 2, 3


def ends(t, name, file, code, lines, *settings):
    """The tool fails with `code` and says exactly `lines`, FILE standing for the file's name."""
    _, done = t.logits(file, torch.zeros(1), *settings)
    expected = "\n".join(lines).replace("FILE", str(file)) + "\n"
    t.suite.check(name, done.code == code and done.err == expected, lambda: f"{done}\nexpected:\n{expected}")


def python_error(model, state):
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        return f"ckpt: FILE: {error}".split("\n")
    raise AssertionError("PyTorch loads it")


def prefix(t):
    torch.manual_seed(1)
    hint = "hint: ckpt strip-prefix FILE OUT"
    for model in (FNN(), CaptchaResNet(), FooNet()):
        state = nn.DataParallel(model).cpu().state_dict()
        torch.save(state, path := t.path())
        ends(t, type(model).__name__, path, INPUT, [*python_error(model, state), hint], "strict")


def cuda_tags(t):
    torch.save(FooNet().state_dict(), plain := t.path())
    t.ckpt("convert", plain, tagged := t.path(), "--to", "cuda:0")
    try:
        torch.load(tagged)
        words = None
    except RuntimeError as error:
        words = str(error)
    if words is None:
        return t.suite.skip("cuda tags", "there is CUDA here")
    ends(t, "cuda", tagged, INPUT, [f"ckpt: FILE: {words}", "hint: ckpt convert FILE OUT --to cpu"], "strict")


def other_keys(t):
    look = "hint: ckpt inspect FILE shows its keys and shapes; --arch NAME names another model"
    torch.manual_seed(2)

    def try_one(name, model, state, hint=look, arch="fnn"):
        torch.save(state, path := t.path())
        ends(t, name, path, INPUT, [*python_error(model, state), hint], f"arch={arch}")

    try_one("sizes", FNN(), FNN(classes=11).state_dict())
    state = FNN().state_dict()
    del state["layer_2.weight"], state["layer_5.bias"]
    state["layer_6.weight"] = torch.ones(2)
    state["layer_1.weight"] = torch.ones(2, 3)
    try_one("all three", FNN(), state)
    extra = OrderedDict(**FNN().state_dict(), ema=torch.ones(1))
    try_one("one too many", FNN(), extra, "hint: ckpt convert FILE OUT --drop ema")
    try_one("nothing of it", FooNet((3, 3)), FNN().state_dict(), arch="foonet")
    state = CaptchaResNet().state_dict()
    del state["layer3.0.identity.0.weight"], state["conv1.1.num_batches_tracked"]
    try_one("batches that were counted", CaptchaResNet(), state, arch="captcha-resnet")
    state = FooNet((3, 4, 5)).state_dict()
    state["linears.1.weight"] = torch.ones(5, 3)
    try_one("a gap in the chain", FooNet((3, 4, 5)), state, arch="foonet")


def control_characters(t):
    state = OrderedDict(**FNN().state_dict(), **{"\x1b[31mred\n": torch.ones(1)})
    torch.save(state, path := t.path())
    _, done = t.logits(path, torch.zeros(1), "arch=fnn")
    good = done.code == INPUT and "\x1b" not in done.err and 'Unexpected key(s) in state_dict: "\\x1b[31mred\\n"' in done.err
    t.suite.check("printable", good, done)


def unrecognised(t):
    torch.manual_seed(3)
    state = FNN(classes=10).state_dict()
    del state["layer_4.bias"]
    state["layer_9.running_mean"] = torch.ones(3)
    torch.save(state, path := t.path())
    words = python_error(FNN(), state)
    ends(t, "closest", path, INPUT, [
        "ckpt: FILE: no architecture has the keys and shapes of this state dict, expected one of fnn, captcha-resnet, "
        "foonet, net, mlp, torchscript",
        f"\tClosest is fnn. {words[0].removeprefix('ckpt: FILE: ')}",
        *words[1:],
        "\tIt is no mlp: its layer 'layer_4' has no bias, and others have one (--arch mlp runs it so).",
        "hint: --arch NAME, where you know which it is, or --root PATH, where the weights lie elsewhere",
    ])  # fmt: skip
    wrapped = OrderedDict((f"_orig_mod.{key}", value) for key, value in CaptchaResNet().state_dict().items())
    torch.save(wrapped, path := t.path())
    _, done = t.logits(path, torch.zeros(1))
    mend = f"hint: ckpt strip-prefix {path} OUT --prefix _orig_mod.\n"
    t.suite.check("another prefix", done.code == INPUT and done.err.endswith(mend), done)
    out = t.path()
    fixed = t.ckpt(*shlex.split(mend.removeprefix("hint: ckpt ").replace(" OUT", f" {out}")))
    got, done = t.logits(out, torch.zeros(1, 3, 56, 24))
    t.suite.check("and the command mends it", fixed.code == 0 and got is not None, f"{fixed}\n{done}")
    torch.save(nn.Conv2d(1, 1, 3).state_dict(), path := t.path())
    _, done = t.logits(path, torch.zeros(1))
    t.suite.check("nothing near", done.code == INPUT and "Closest" not in done.err, done)


def commands_that_mend(t):
    """What a hint names works, whatever the file holds beside the keys: a whole module, a trainer's part, a prefix."""
    torch.manual_seed(3)

    def extra():
        model = FNN()
        model.register_buffer("ema", torch.ones(1))
        return model

    def keys(model, prefix=""):
        return OrderedDict((prefix + key, value) for key, value in model.state_dict().items())

    parallel = nn.DataParallel(extra()).cpu()
    for name, held, options in [
        ("a module", extra(), ""),
        ("a module of a trainer", {"net": extra(), "epoch": 3}, ""),
        ("one of two modules", {"a": extra(), "b": extra()}, "--root a"),
        ("DataParallel", parallel, ""),
        ("its keys", keys(extra(), "module."), ""),
        ("its keys in a trainer", {"model": keys(extra(), "module."), "epoch": 3}, ""),
        ("two prefixes", keys(FNN(), "module._orig_mod."), ""),
    ]:
        torch.save(held, path := t.path())
        done = t.ckpt("eval", path, *options.split(), "--arch", "fnn", "--data", evaluations.DIGITS)
        hint = next((line for line in done.err.splitlines() if line.startswith("hint: ckpt ")), "hint: ckpt none OUT")
        fixed = t.ckpt(*shlex.split(hint.removeprefix("hint: ckpt ").replace(" OUT", f" {(out := t.path())}")))
        again = t.ckpt("eval", out, "--arch", "fnn", "--data", evaluations.DIGITS)
        good = done.code == INPUT and fixed.code == 0 and again.code == 0
        t.suite.check(name, good, lambda done=done, fixed=fixed, again=again: f"{done}\n{fixed}\n{again}")
    torch.save(nn.DataParallel(FNN()).cpu(), path := t.path())
    done = t.ckpt("eval", path, "--data", evaluations.DIGITS)
    evaluations.ends(t, "a note", done, 0, f"(ckpt convert {path} OUT --weights-only --strip-prefix makes that permanent)")


def chains_below_a_prefix(t):
    """The names of an architecture after a prefix are not taken for any chain, which is given its inputs otherwise."""
    torch.manual_seed(3)
    for name, prefix, model in [("fnn", "model.", FNN()), ("foonet", "_orig_mod.net.", FooNet())]:
        path = saved(t, {f"{prefix}{key}": value for key, value in model.state_dict().items()})
        inputs = torch.zeros(1, 784 if name == "fnn" else 5)
        _, done = t.logits(path, inputs)
        hint = f"hint: ckpt strip-prefix {path} OUT --prefix {prefix} makes {name} of it; --arch mlp "
        evaluations.ends(t, name, done, INPUT, f"its keys are those of {name} after the prefix '{prefix}'", hint)
        got, done = t.logits(path, inputs, "arch=mlp")
        t.suite.check(f"{name}: --arch mlp runs it", got is not None, done)


def layers_that_are_no_linear(t):
    """Dropping a norm would leave a model that runs, and is another one: no command is offered that does so."""
    models = {
        "a norm": nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 2)),
        "a convolution": nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 2)),
    }
    for name, model in models.items():
        for arch in ("auto", "mlp"):
            _, done = t.logits(saved(t, model.state_dict()), torch.zeros(1, 6), f"arch={arch}")
            good = done.code == INPUT and "--drop" not in done.err and "--arch torchscript" in done.err
            t.suite.check(f"{name}, --arch {arch}", good, done)
    torch.manual_seed(3)
    between = {**FNN().state_dict(), **{f"norm.{key}": value for key, value in nn.BatchNorm1d(512).state_dict().items()}}
    _, done = t.logits(saved(t, between), torch.zeros(1))
    good = done.code == INPUT and "Closest is fnn" in done.err and "--drop" not in done.err
    t.suite.check("a norm in an fnn", good, done)


def lost_biases(t):
    """A state dict that lacks a bias is not taken for a model without it, unless it is said to be one."""
    torch.manual_seed(3)
    state = FNN().state_dict()
    del state["layer_2.bias"]
    _, done = t.logits(path := saved(t, state), torch.zeros(1, 784))
    phrases = ("Closest is fnn", 'Missing key(s) in state_dict: "layer_2.bias"', "'layer_2' has no bias")
    evaluations.ends(t, "an fnn", done, INPUT, *phrases)
    got, done = t.logits(path, torch.zeros(1, 784), "arch=mlp")
    t.suite.check("--arch mlp runs it", got is not None, done)
    mixed = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4, bias=False))
    _, done = t.logits(saved(t, mixed.state_dict()), torch.zeros(1, 6))
    evaluations.ends(t, "an mlp", done, INPUT, "It is no mlp: its layer '2' has no bias, and others have one", "--arch mlp")


def order_of_layers(t):
    """Where neither names nor sizes tell it, formats that sort names have lost it; a pickle's is taken, and said."""
    torch.manual_seed(3)
    model = MLP({"stem": nn.Linear(20, 20), "body": nn.Linear(20, 20), "top": nn.Linear(20, 5)})
    data = saved(t, (torch.rand(9, 20), torch.zeros(9, dtype=torch.int64)))
    plain = saved(t, model.state_dict())
    found = evaluations.result(t, "a pickle", plain, data)
    order = "taken from the file, and their sizes allow others: stem 20 to 20, body 20 to 20, top 20 to 5"
    t.suite.check("a pickle: said", found and order in " ".join(found["warnings"]), found)
    done = t.ckpt("eval", plain, "--data", data, "--quiet")
    t.suite.check("a pickle: also with --quiet", order in done.err, done)
    state = model.state_dict()
    other = saved(t, {name: state[name] for name in sorted(state)})
    parts = []
    for i, file in enumerate((plain, other)):
        (path := t.path(".json")).write_bytes(t.ckpt("eval", file, "--data", data, "--shard", f"{i}/2").out)
        parts.append(path)
    orders = "different orders of layers: stem, body, top and body, stem, top"
    evaluations.ends(t, "parts of two orders", t.ckpt("eval-merge", *parts), evaluations.USAGE, orders)
    for format_ in ("safetensors", "safetensors-index", "npz"):
        t.ckpt("convert", plain, sorted_ := t.path(f".{format_}"), "--format", format_)
        for arch in ("auto", "mlp"):
            done = t.ckpt("eval", sorted_, "--data", data, "--arch", arch)
            phrases = ("in which order its Linear layers run", "stem 20 to 20", "hint: evaluate the file that PyTorch wrote")
            evaluations.ends(t, f"{format_}, --arch {arch}", done, INPUT, *phrases)
    names = {f"fc{i}": nn.Linear(6, 6) for i in range(1, 12)}
    model, inputs = MLP({**names, "out": nn.Linear(6, 4)}), torch.rand(3, 6)
    t.ckpt("convert", saved(t, model.state_dict()), sorted_ := t.path(".safetensors"))
    with torch.inference_mode():
        t.same_logits("numbers before another name", sorted_, inputs, model(inputs))


def no_chain(t):
    torch.manual_seed(4)
    for name, layers in [
        ("a gap", {"a": nn.Linear(6, 5), "b": nn.Linear(4, 3)}),
        ("two orders", {"z": nn.Linear(6, 5), "b": nn.Linear(5, 5), "a": nn.Linear(5, 5), "c": nn.Linear(4, 6)}),
        ("a branch", {"z": nn.Linear(6, 5), "b": nn.Linear(5, 4), "a": nn.Linear(5, 4)}),
    ]:
        torch.save(MLP(layers).state_dict(), path := t.path())
        _, done = t.logits(path, torch.zeros(1), "arch=mlp")
        good = done.code == INPUT and "this is no mlp: its Linear layers form no chain: " in done.err
        t.suite.check(name, good, done)
    torch.save(nn.Linear(2, 2).to(torch.complex64).state_dict(), path := t.path())
    _, done = t.logits(path, torch.zeros(1))
    t.suite.check("complex", done.code == INPUT and "'weight': " in done.err and "complex" in done.err, done)


def roots(t):
    torch.manual_seed(5)
    one, two = FooNet(), FooNet()
    torch.save({"generator": one.state_dict(), "critic": two.state_dict()}, path := t.path())
    _, done = t.logits(path, torch.zeros(1, 5))
    listed = "2 state dicts were found: generator, critic" in done.err and "hint: --root generator" in done.err
    t.suite.check("two are listed", done.code == USAGE and listed, done)
    inputs = torch.rand(2, 5)
    with torch.inference_mode():
        t.same_logits("--root", path, inputs, two(inputs), "root=critic")
    _, done = t.logits(path, inputs, "root=nowhere")
    t.suite.check("nothing there", done.code == USAGE and "'nowhere'" in done.err, done)
    _, done = t.logits(path, inputs, "root=critic", "arch=resnet")
    t.suite.check("no such architecture", done.code == USAGE and "captcha-resnet" in done.err, done)


def torchscript(t):
    torch.jit.script(nn.Linear(3, 2)).save(path := t.path())
    _, done = t.logits(path, torch.zeros(1, 3))
    t.suite.check("not run unasked", done.code == INPUT and "hint: --arch torchscript runs it" in done.err, done)
    done = t.ckpt("eval", path, "--arch=auto", "--data", "x y", "--activation", "none")
    hint = f"hint: ckpt eval {path} --data 'x y' --activation none --arch torchscript runs it"
    t.suite.check("what else was given", done.code == INPUT and hint in done.err, done)
    _, done = t.logits(path, torch.zeros(1, 4), "arch=torchscript", "shape=4")
    good = done.code == INPUT and "fails on zeros of the data's shape, [" in done.err and "mat1 and mat2" in done.err
    t.suite.check("another shape", good, done)
    torch.save(FooNet().state_dict(), path := t.path())
    _, done = t.logits(path, torch.zeros(1, 3), "arch=torchscript")
    t.suite.check("no TorchScript", done.code == INPUT and str(path) in done.err, done)


def outputs(t):
    """Models whose outputs cannot be counted: too many, or none. What they say costs no memory."""
    small = harness.Ckpt(t.ckpt.path, memory=4 * harness.GIB)

    def refused(name, model, shape, *phrases, arch="auto"):
        data = saved(t, (torch.zeros(2, *shape), torch.zeros(2, dtype=torch.int64)))
        done = small("eval", model, "--data", data, "--device", "cpu", "--arch", arch)
        evaluations.ends(t, name, done, INPUT, *phrases)

    cap = ("16777216 cells of confusion",)
    wide = saved(t, {"weight": torch.zeros(20000, 4)})
    refused("20,000 classes", wide, (4,), "1 by 20000 (positions, classes)", *cap)
    refused("so many that bytes wrap", saved(t, {"weight": torch.empty(1 << 32, 0)}), (4,), f"1 by {1 << 32}", *cap)
    for arch in ("mlp", "foonet"):
        name = "linears.0.weight" if arch == "foonet" else "weight"
        refused(f"no class, {arch}", saved(t, {name: torch.empty(0, 784)}), (784,), "has no outputs")
    for name, shape in [("no class", (1, 0)), ("no position", (1, 0, 10)), ("no class of several", (1, 4, 0))]:
        script = NoOutputs(shape)
        torch.jit.script(script).save(path := t.path())
        refused(f"{name}, torchscript", path, (4,), f"a tensor of shape {list(shape)}", arch="torchscript")


class NoOutputs(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape

    def forward(self, x):
        return x.new_zeros(list(self.shape))


def expanded(t):
    """Views that stand for far more bytes than the file has, one alone and many together, take no memory."""
    small = harness.Ckpt(t.ckpt.path, memory=4 * harness.GIB)
    data = saved(t, (torch.zeros(2, 4), torch.zeros(2, dtype=torch.int64)))

    def refused(name, state, *phrases):
        done = small("eval", saved(t, state), "--data", data, "--device", "cpu")
        evaluations.ends(t, name, done, INPUT, *phrases)

    one = torch.zeros(1)
    refused("one", {"weight": one.expand(10, 300_000_000)}, "tensor 'weight' stands for 12000000000 bytes")
    together = "the tensors stand for 3872000000 bytes"
    refused("eight", {f"{i}.weight": one.expand(11_000, 11_000) for i in range(8)}, together)
    refused("one under eight names", dict.fromkeys([f"{i}.weight" for i in range(8)], one.expand(11_000, 11_000)), together)


def deep(t):
    """A model of many layers is recognised, whatever their names are."""
    one = torch.zeros(1, 1)
    for name, key in [("foonet", "linears.{}.weight"), ("mlp", "{}.weight")]:
        state = {key.format(i): one for i in range(66_000)}
        done = t.ckpt("eval", saved(t, state), "--data", t.folder / "nowhere", "--device", "cpu")
        evaluations.ends(t, name, done, INPUT, "nowhere")


GROUPS = [
    prefix,
    cuda_tags,
    other_keys,
    control_characters,
    unrecognised,
    commands_that_mend,
    chains_below_a_prefix,
    layers_that_are_no_linear,
    lost_biases,
    order_of_layers,
    no_chain,
    roots,
    torchscript,
    outputs,
    expanded,
    deep,
]
