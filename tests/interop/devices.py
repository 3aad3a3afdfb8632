"""Location tags: a checkpoint saved on GPUs, moved without one."""

import cases
import saving
from saving import LEGACY, WAYS, ZIP

MODELS = (
    "data parallel",
    "trainer",
    "trainer with args",
    "tied",
    "views",
    "quantised",
    "sparse",
    "sequential",
    "flags",
    "attributes",
    "old dtypes",
    "bare tensor",
    "bare parameter",
    "extra state",
    "storages",
    "many",
)
PACKED = WAYS[4]


def to_cpu(checks):
    """--to cpu gives what saving on the CPU would have given."""
    for name in MODELS:
        obj = cases.ALL[name]()
        for way in (ZIP, PACKED, LEGACY):
            if way.legacy and name == "storages":
                continue
            here, there = checks.path(way.suffix), checks.path(way.suffix)
            if not way.save(obj, here):
                raise ValueError(f"{name} cannot be saved as {way.name}")
            for devices in (("cuda:0",), ("cuda:0", "cuda:1", "cpu")):
                with saving.tagged(*devices):
                    way.save(obj, there)
                label = f"{name}, {way.name}, {' '.join(devices)} to cpu"
                checks.alike(label, here, checks.written(label, there, "--to", "cpu"))


def tags(checks):
    """Tags stay as they are, or become what --to and --map say; map_location's callback tells which."""
    rules = ["--map", "cuda:0=cuda:3", "--map", "cuda:1=cpu"]
    table = {"cuda:0": "cuda:3", "cuda:1": "cpu"}
    for name in MODELS:
        obj = cases.ALL[name]()
        for way in (ZIP, LEGACY):
            if way.legacy and name == "storages":
                continue
            source = checks.path()
            with saving.tagged("cuda:0", "cuda:1", "mps", "cpu"):
                way.save(obj, source)
            old = saving.locations(source)
            for label, options, expected in (
                ("no edit", [], old),
                ("--map", rules, [table.get(tag, tag) for tag in old]),
                ("--map with *", [*rules, "--map", "*=cuda:7"], [table.get(tag, "cuda:7") for tag in old]),
                ("--to cuda:1", ["--to", "cuda:1"], ["cuda:1"] * len(old)),
                ("--to cuda", ["--to", "cuda"], ["cuda:0"] * len(old)),
            ):
                label = f"{name}, {way.name}, {label}"
                out = checks.written(label, source, *options)
                if out:
                    checks.suite.equal(f"{label}: tags", saving.locations(out), expected)
                    checks.alike(label, source, out, modes=[{"weights_only": False}], map_location="cpu")


def words_stay(checks):
    """The word "cuda:0" in a trainer's file is no location tag, and a torch.device in it is not one either."""
    import torch

    obj = {"device": "cuda:0", "gpu": torch.device("cuda:0"), "t": torch.ones(2), "cuda:0": [b"cuda:0", ("cuda:0",)]}
    for way in WAYS:
        here, there = checks.path(way.suffix), checks.path(way.suffix)
        way.save(obj, here)
        with saving.tagged("cuda:0"):
            way.save(obj, there)
        checks.alike(f"words, {way.name}", here, checks.written(f"words, {way.name}", there, "--to", "cpu"))
