"""TorchScript whose weights are of every dtype, and targets by position."""

import torch
from evaluations import INPUT, ends, result, saved
from models import outputs
from results import COUNT, logits_of
from torch import nn


class Picked(nn.Module):
    """Its buffer is no number to be cast."""

    def __init__(self):
        super().__init__()
        self.register_buffer("order", torch.randperm(12))
        self.inner = nn.Linear(12, 5)

    def forward(self, x):
        return self.inner(x.flatten(1)[:, self.order])


class Stored(nn.Module):
    """Its weights are kept small, and converted as they are used."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(5, 12).half())
        self.bias = nn.Parameter(torch.rand(5))

    def forward(self, x):
        return nn.functional.linear(x.flatten(1), self.weight.float(), self.bias)


class Counting(nn.Module):
    """It answers with the number of the call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1, dtype=torch.int64))

    def forward(self, x):
        self.calls += 1
        return nn.functional.one_hot(self.calls % 10, 10).float().expand(x.shape[0], 10)


def torchscript_of_every_dtype(t):
    torch.manual_seed(9)
    inputs = torch.rand(COUNT, 3, 4)
    for title, script, bound in (
        ("an index", Picked(), 1e-4),
        ("doubles", nn.Sequential(nn.Flatten(), nn.Linear(12, 5)).double(), 1e-4),
        ("halves", nn.Sequential(nn.Flatten(), nn.Linear(12, 5)).half(), 1e-2),
        ("bfloat16", Picked().bfloat16(), 1e-1),
        ("weights of another dtype", Stored(), 1e-4),
    ):
        torch.jit.script(script.eval()).save(file := t.path())
        type_ = torch.float32 if isinstance(script, Stored) else next(p for p in script.parameters()).dtype
        expected = outputs(script, inputs.to(type_)).float()
        logits_of(t, f"torchscript, {title}", file, inputs, expected, 5, "--arch", "torchscript", bound=bound)


def one_hot_targets(t):
    """Positions in a row of outputs are those that the targets have; a single output tells no classes apart."""
    torch.manual_seed(10)
    script = nn.Sequential(nn.Flatten(), nn.Linear(12, 20))
    with torch.no_grad():
        script[1].bias[10:] += 100  # of the second position, which one argmax over both would always take
    torch.jit.script(script.eval()).save(file := t.path())
    inputs = torch.rand(COUNT, 3, 4)
    best = outputs(script, inputs).view(-1, 2, 10).argmax(-1)
    best[0, 0] = (best[0, 0] + 1) % 10
    targets = nn.functional.one_hot(best, 10).float()
    found = result(t, "rows of one-hot", file, saved(t, (inputs, targets)), "--arch", "torchscript")
    t.suite.equal("rows of one-hot: correct", found and found["correct"], COUNT - 1)
    mlp = saved(t, {"weight": torch.rand(20, 12), "bias": torch.rand(20)})
    ends(t, "rows that the model has not", t.ckpt("eval", mlp, "--data", saved(t, (inputs, targets))), INPUT, "its targets are float32")
    one = saved(t, {"0.weight": torch.rand(10, 12), "2.weight": torch.rand(1, 10)})
    for shape in ((COUNT,), (COUNT, 1)):
        done = t.ckpt("eval", one, "--data", saved(t, (inputs, torch.rand(shape))), "--min-accuracy", "99%")
        ends(t, f"one output, targets of shape {shape}", done, INPUT, "one output, which tells no classes apart")


def calls_that_count(t):
    """One worker makes them in order, and none before the first batch."""
    torch.jit.script(Counting().eval()).save(file := t.path())
    data = saved(t, (torch.zeros(COUNT, 3), torch.arange(1, COUNT + 1) % 10))
    options = ("--arch", "torchscript", "--batch-size", "1", "--device", "cpu")
    found = result(t, "calls that count", file, data, *options, OMP_NUM_THREADS="1")
    t.suite.equal("calls that count: as in Python", found and found["correct"], COUNT)


def damaged_weights(t):
    """libtorch compares no checksum."""
    torch.jit.script(linear := nn.Linear(3, 2)).save(file := t.path())
    content = bytearray(file.read_bytes())
    content[content.index(linear.weight.detach().numpy().tobytes())] ^= 0x80
    file.write_bytes(content)
    data = saved(t, (torch.zeros(COUNT, 3), torch.zeros(COUNT, dtype=torch.int64)))
    done = t.ckpt("eval", file, "--arch", "torchscript", "--data", data, "--device", "cpu")
    ends(t, "damaged weights", done, INPUT, "CRC-32", f"hint: ckpt verify {file}")


GROUPS = [torchscript_of_every_dtype, one_hot_targets, calls_that_count, damaged_weights]
