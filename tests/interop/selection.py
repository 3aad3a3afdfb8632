"""--root, --keep, --drop and --weights-only against the same done to the object in Python."""

import argparse
import collections
import copy
import fnmatch

import cases
import numpy
import saving
import tensor_cases
import torch
from saving import LEGACY, WAYS, ZIP, Failed
from torch import nn


def kept(obj, matches, path="", inside=False):
    """(whether anything of it is kept, the object without the entries that are not)."""
    inside = inside or bool(path) and matches(path)
    if isinstance(obj, dict):
        found = {k: kept(v, matches, f"{path}.{k}" if path else str(k), inside) for k, v in obj.items()}
        for key, (stays, _) in found.items():
            if not stays:
                del obj[key]
        return inside or any(stays for stays, _ in found.values()), obj
    if isinstance(obj, (list, tuple)):
        found = [kept(v, matches, f"{path}.{i}" if path else str(i), inside) for i, v in enumerate(obj)]
        return inside or any(stays for stays, _ in found), obj
    if isinstance(obj, argparse.Namespace):
        found = [kept(v, matches, f"{path}.{k}", inside) for k, v in vars(obj).items()]
        return inside or any(stays for stays, _ in found), obj
    return inside, obj


def dropped(obj, matches, path=""):
    if isinstance(obj, dict):
        for key in list(obj):
            below = f"{path}.{key}" if path else str(key)
            if matches(below):
                del obj[key]
            else:
                dropped(obj[key], matches, below)
    elif isinstance(obj, (list, tuple)):
        for i, value in enumerate(obj):
            dropped(value, matches, f"{path}.{i}" if path else str(i))
    return obj


def any_of(globs):
    return lambda path: any(fnmatch.fnmatchcase(path, glob) for glob in globs)


def big_trainer():
    """What a trainer saves beside the weights: namespaces, numpy scalars, classes, aliases of tensors."""
    obj = cases.trainer_with_args()
    obj["best_loss"] = numpy.float32(0.5)
    obj["kind"] = nn.Linear
    obj["mean"] = numpy.arange(3.0)
    obj["last"] = obj["model"]["module.0.weight"]
    obj["averaged"] = collections.OrderedDict(obj["model"])
    return obj


TRAINERS = {"trainer": cases.trainer, "with args": cases.trainer_with_args, "big": big_trainer}


def expect(checks, label, source, out, edit):
    """`out` is what `edit` makes of the object in `source`."""
    if out is None:
        return
    loaded = saving.load(source, weights_only=False)
    checks.same_object(label, edit(loaded), saving.load(out, weights_only=False))


def roots(checks):
    ways = {
        "model": lambda o: o["model"],
        "optimizer.param_groups.0": lambda o: o["optimizer"]["param_groups"][0],
        "optimizer.state.1": lambda o: o["optimizer"]["state"][1],
        "model.module.0.weight": lambda o: o["model"]["module.0.weight"],
        "history.1.loss": lambda o: o["history"][1]["loss"],
        "rng": lambda o: o["rng"],
        "auto": lambda o: o["model"],
    }
    for name, make in TRAINERS.items():
        for way in WAYS:
            source = checks.path(way.suffix)
            if not way.save(make(), source):
                continue
            for root, edit in ways.items():
                label = f"--root {root}, {name}, {way.name}"
                out = checks.written(label, source, "--root", root)
                expect(checks, label, source, out, edit)


def globs(checks):
    """Each entry of the object by name, as Python leaves it."""
    keeps = [["model.*"], ["*.weight"], ["epoch", "*.exp_avg", "best"], ["history.0", "model"], ["opt*"], ["*"]]
    drops = [["optimizer"], ["*.bias", "rng"], ["optimizer.param_groups.0.lr"], ["model*"], ["nothing"], ["averaged"]]
    for name, make in TRAINERS.items():
        for way in (ZIP, LEGACY, WAYS[2], WAYS[4]):
            source = checks.path(way.suffix)
            way.save(make(), source)
            for patterns in keeps:
                label = f"--keep {patterns}, {name}, {way.name}"
                out = checks.written(label, source, *(word for p in patterns for word in ("--keep", p)))
                expect(checks, label, source, out, lambda o, p=patterns: kept(o, any_of(p))[1])
            for patterns in drops:
                label = f"--drop {patterns}, {name}, {way.name}"
                out = checks.written(label, source, *(word for p in patterns for word in ("--drop", p)))
                expect(checks, label, source, out, lambda o, p=patterns: dropped(o, any_of(p)))
            label = f"--keep and --drop, {name}, {way.name}"
            out = checks.written(label, source, "--keep", "model", "--keep", "epoch", "--drop", "*running*")
            expect(
                checks,
                label,
                source,
                out,
                lambda o: dropped(kept(o, any_of(["model", "epoch"]))[1], any_of(["*running*"])),
            )


def weights_only(checks):
    """Whatever else the trainer saved, in whatever protocol: the weights load without running anything."""
    for name, make in TRAINERS.items():
        for way in WAYS:
            source, label = checks.path(way.suffix), f"--weights-only, {name}, {way.name}"
            way.save(make(), source)
            out = checks.written(label, source, "--weights-only")
            if out:
                expected = saving.load(source, weights_only=False)["model"]
                for mode in checks.modes(source, out):
                    checks.same_object(label, copy.copy(expected), saving.load(out, **mode))
                checks.suite.check(
                    f"{label}: its _metadata", saving.load(out, weights_only=True)._metadata == expected._metadata
                )
            loads = not isinstance(saving.load(source, weights_only=True), Failed)
            checks.suite.check(f"{label}: the source is refused, or the test is idle", not loads or name == "trainer")


def attributes(checks):
    """A mapping that an object which stays has for its attributes, or was copied from, is not taken apart."""
    args = argparse.Namespace(lr=0.1, steps=[1, 2])
    for way in WAYS:
        for first in ("hyper", "args"):
            obj = {"w": torch.ones(2), "hyper": vars(args), "args": args}
            source = checks.path(way.suffix)
            way.save({key: obj[key] for key in sorted(obj, key=lambda k: k != first)}, source)
            label = f"attributes, {first} first, {way.name}"
            for options in (["--keep", "w", "--keep", "args"], ["--drop", "hyper"], ["--drop", "hyper*"]):
                out = checks.written(f"{label}, {options}", source, *options)
                got = saving.load(out, weights_only=False) if out else {}
                checks.suite.equal(f"{label}, {options}: args", got.get("args"), args)
            done = checks.run(f"{label}, --drop hyper.lr", "convert", source, checks.path(), "--drop", "hyper.lr", code=2)
            checks.suite.check(f"{label}: refused", "'hyper.lr' is in a mapping that an object which stays was made of" in done.err, done)
            out = checks.written(f"{label}, both dropped", source, "--drop", "hyper", "--drop", "args")
            if out:
                checks.suite.equal(f"{label}, both dropped: names", list(saving.load(out, weights_only=False)), ["w"])


def shared(checks):
    """Tensors that a dropped part held first are made where they are needed, for weights_only too."""
    one = torch.ones(3)
    obj = {"ema": {"w": torch.zeros(2), "s": one}, "model": {"a": torch.rand(1), "s": one, "b": torch.rand(4)}}
    for way in WAYS:
        source = checks.path(way.suffix)
        way.save(obj, source)
        for options in (["--drop", "ema"], ["--root", "model"], ["--keep", "model.[bs]"], ["--weights-only"]):
            label = f"shared, {' '.join(options)}, {way.name}"
            out = checks.written(label, source, *options)
            if out and way.protocol == 2:
                loaded = saving.load(out, weights_only=True)
                checks.suite.check(f"{label}: loads", not isinstance(loaded, Failed), repr(loaded))
    tied = tensor_cases.tied()
    source = checks.path()
    ZIP.save(tied, source)
    first = next(iter(tied))
    out = checks.written("tied, one name dropped", source, "--drop", first)
    expect(checks, "tied, one name dropped", source, out, lambda o: dropped(o, any_of([first])))
