"""docs/recipes.md: each command of the page does for PyTorch what its heading says."""

import json
import shlex

import dcp
import harness
import numpy
import saving
import torch
from saving import ZIP
from torch import nn

PAGE = harness.ROOT / "docs" / "recipes.md"


def commands():
    """Each heading of the page, with its commands."""
    found, heading = {}, None
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            heading = line[3:]
            found[heading] = []
        elif heading and line.startswith("ckpt "):
            found[heading].append(line)
    return found


class Kitchen:
    """A folder in which the commands of one recipe run."""

    def __init__(self, checks, heading):
        self.checks, self.heading = checks, heading
        self.folder = checks.path("")
        self.folder.mkdir()
        self.commands = iter(commands().get(heading, []))

    def __truediv__(self, name):
        return self.folder / name

    def save(self, name, obj, way=ZIP, device="cpu"):
        with saving.tagged(device):
            (GZIP if name.endswith(".gz") else way).save(obj, self / name)
        return obj

    def load(self, name):
        return saving.load(self / name, weights_only=True)

    def cook(self, code=0):
        """Runs the next command of the recipe, as it stands; what it printed."""
        command = next(self.commands)
        done = self.checks.ckpt(*shlex.split(command)[1:], cwd=self.folder)
        self.checks.suite.check(f"{self.heading}: {command}", done.code == code, done)
        return done.text + done.err

    def same(self, name, expected):
        self.checks.same_object(f"{self.heading}: {name}", expected, self.load(name))

    def check(self, what, good, shown=""):
        self.checks.suite.check(f"{self.heading}: {what}", good, lambda: str(shown))


GZIP = saving.WAYS[4]


def weights(prefix=""):
    torch.manual_seed(11)
    return {
        f"{prefix}{name}": torch.randn(*shape)
        for name, shape in {"fc.weight": (30, 40), "fc.bias": (30,), "norm.weight": (30,), "head.weight": (4, 30)}.items()
    }


def trainer():
    model = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return {
        "epoch": 3,
        "model": dict(model.state_dict()),
        "optimizer": optimizer.state_dict(),
        "best": 0.5,
    }


def from_a_gpu(k):
    k.save("model.pt", weights(), device="cuda:0")
    k.cook()
    k.same("cpu.pt", weights())
    k.check("no GPU is asked for", saving.locations(k / "cpu.pt") == ["cpu"] * 4)


def without_wrapper(k):
    k.save("model.pt", nn.DataParallel(nn.Linear(3, 2)).state_dict())
    k.cook()
    missing = nn.Linear(3, 2).load_state_dict(k.load("bare.pt"))
    k.check("it loads", not missing.missing_keys and not missing.unexpected_keys, missing)


def with_wrapper(k):
    k.save("model.pt", nn.Linear(3, 2).state_dict())
    k.cook()
    missing = nn.DataParallel(nn.Linear(3, 2)).load_state_dict(k.load("wrapped.pt"))
    k.check("it loads", not missing.missing_keys and not missing.unexpected_keys, missing)


def at_once(k):
    k.save("model.pt.gz", weights("module."), device="cuda:1")
    k.cook()
    k.same("model.pt", weights())
    k.check("no GPU is asked for", saving.locations(k / "model.pt") == ["cpu"] * 4)


def weights_alone(k):
    saved = k.save("trainer.pt", trainer())
    k.cook()
    k.same("weights.pt", saved["model"])


def all_but_optimizer(k):
    saved = k.save("trainer.pt", trainer())
    k.cook()
    k.same("slim.pt", {key: value for key, value in saved.items() if key != "optimizer"})


class Gone(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))


def source_gone(k):
    model = k.save("whole_model.pt", Gone())
    k.cook()
    k.same("weights.pt", model.state_dict())


def half(k):
    saved = k.save("model.pt", weights())
    k.cook()
    k.same("half.pt", {key: value if "norm" in key else value.half() for key, value in saved.items()})


def ten_numbers(k):
    k.save("view.pt", {"row": torch.arange(100_000.0)[50:60]})
    k.cook()
    k.same("small.pt", {"row": torch.arange(50.0, 60.0)})
    k.check("it is small", (k / "small.pt").stat().st_size < 3000, (k / "small.pt").stat().st_size)


def renamed(k):
    k.save("model.pt", {"encoder.layer.0.w": torch.ones(2), "encoder.layer.11.w": torch.zeros(2), "head": torch.ones(1)})
    k.cook()
    k.check("names", list(k.load("renamed.pt")) == ["blocks.0.w", "blocks.11.w", "head"], k.load("renamed.pt"))


def backbone(k):
    k.save("model.pt", {**weights("backbone."), "head.weight": torch.ones(3)})
    k.cook()
    k.same("backbone.pt", weights())


def safetensors_and_back(k):
    from safetensors.torch import load_file

    saved = k.save("model.pt", weights())
    k.cook()
    k.checks.same_object(f"{k.heading}: model.safetensors", by_name(saved), by_name(load_file(k / "model.safetensors")))
    (k / "model.pt").unlink()
    k.cook()
    k.checks.same_object(f"{k.heading}: model.pt", by_name(saved), by_name(k.load("model.pt")))


def by_name(tensors):
    return {name: tensors[name] for name in sorted(tensors)}


def shards(k):
    saved = k.save("model.pt", {f"layer.{i}": torch.randn(100, 50) for i in range(12)})
    k.cook()
    listed = json.loads((k / "sharded/model.safetensors.index.json").read_text())
    k.check("several shards", len(set(listed["weight_map"].values())) > 1, listed)
    k.cook()
    k.checks.same_object(f"{k.heading}: one.pt", by_name(saved), by_name(k.load("one.pt")))


def distributed(k):
    saved = {"model": weights()}
    dcp.save(saved, k / "step-1000")
    k.cook()
    k.same("model.pt", saved)


def average(k):
    saved = [k.save(f"epoch-{n}.pt", {key: value * n for key, value in weights().items()}) for n in (8, 9, 10)]
    k.cook()
    mean = {key: torch.stack([s[key].double() for s in saved]).sum(0).div(3).float() for key in saved[0]}
    k.same("average.pt", mean)


def for_numpy(k):
    saved = k.save("model.pt", weights())
    k.cook()
    k.check("the array", numpy.array_equal(numpy.load(k / "fc.weight.npy"), saved["fc.weight"].numpy()))


def not_a_number(k):
    k.save("model.pt", {**weights(), "fc.bias": torch.tensor([1.0, float("nan")])})
    k.check("it is named", "fc.bias" in k.cook(code=1))


def what_they_look_like(k):
    k.save("model.pt", weights())
    shown = k.cook()
    k.check("each tensor", all(name in shown for name in weights()), shown)


def safe(k):
    (k / "downloads").mkdir()
    k.save("downloads/good.pt", weights())
    (k / "downloads/bad.pt").write_bytes(b"cposix\nsystem\n(S'true'\ntR.")
    shown = k.cook(code=1)
    k.check("the name is told", "posix.system" in shown, shown)


def broke_off(k):
    saved = k.save("model.pt", {f"layer.{i}": torch.randn(50, 50) for i in range(6)})
    whole = (k / "model.pt").read_bytes()
    (k / "cut.pt").write_bytes(whole[: len(whole) // 2])
    shown = k.cook(code=1)
    got = k.load("saved.pt")
    k.check("some are saved", 0 < len(got) < 6, shown)
    k.checks.same_object(k.heading, {name: saved[name] for name in got}, dict(got))


def will_it_load(k):
    k.save("reference.pt", weights())
    k.save("new.pt", weights())
    k.cook()


def changed(k):
    k.save("model.pt", weights(), device="cuda:0")
    k.save("cpu.pt", weights())
    k.cook()


def before_1_6(k):
    saved = k.save("model.pt", weights())
    k.cook()
    k.same("old.pt", saved)
    k.check("no zip", (k / "old.pt").read_bytes()[:2] != b"PK")


RECIPES = {
    "A checkpoint from a GPU, on a machine without one": from_a_gpu,
    "A model without DataParallel's wrapper": without_wrapper,
    "A model that is wrapped now": with_wrapper,
    "All of it at once: GPU, wrapper and gzip": at_once,
    "The weights alone out of a trainer's file": weights_alone,
    "All but the optimizer": all_but_optimizer,
    "The weights of a pickled model whose source code is gone": source_gone,
    "Half precision, but not for the norms": half,
    "Forty megabytes for ten numbers": ten_numbers,
    "Keys that are named otherwise": renamed,
    "Only the backbone, without its head": backbone,
    "safetensors, and back": safetensors_and_back,
    "Shards for a hub, and one file of shards": shards,
    "One file of a distributed checkpoint": distributed,
    "The average of the last checkpoints": average,
    "One tensor for numpy": for_numpy,
    "Has training gone to NaN?": not_a_number,
    "What do the weights look like?": what_they_look_like,
    "Is it safe to load?": safe,
    "A download that broke off": broke_off,
    "Will it load into my model?": will_it_load,
    "Has the conversion changed a weight?": changed,
    "A file for PyTorch before 1.6": before_1_6,
}


def every_recipe(checks):
    checks.suite.equal("every heading of the page has its test", list(commands()), list(RECIPES))
    for heading, recipe in RECIPES.items():
        kitchen = Kitchen(checks, heading)
        recipe(kitchen)
        kitchen.check("every command was run", next(kitchen.commands, None) is None)


GROUPS = [every_recipe]
