"""strip-prefix and add-prefix against torch.nn.modules.utils.consume_prefix_in_state_dict_if_present."""

import collections

import cases
import saving
import tensor_cases
import torch
from equal import differences
from saving import LEGACY, WAYS, ZIP
from torch import nn
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present as consume

PACKED = WAYS[4]


def in_order_of(mapping, keys):
    """The same mapping with its keys in this order: torch moves those it renames to the end, ckpt does not."""
    items = [(k, mapping[k]) for k in keys]
    for k in keys:
        del mapping[k]
    mapping.update(items)


def stripped(state, prefix="module."):
    """What torch makes of a state dict, in the source's order."""
    order = [k.removeprefix(prefix) for k in state]
    metadata = getattr(state, "_metadata", None)
    if metadata is not None:
        bare = prefix.replace(".", "")
        names = list(dict.fromkeys(n if not n else "" if n == bare else n.removeprefix(prefix) for n in metadata))
    consume(state, prefix)
    in_order_of(state, order)
    if metadata is not None:
        in_order_of(metadata, names)
    return state


def strip(checks):
    weird = collections.OrderedDict(
        [
            ("module.a", torch.ones(1)),
            ("b", torch.ones(2)),
            ("module.module.c", torch.ones(3)),
            ("modules.d", torch.ones(4)),
            ("module", torch.ones(5)),
        ]
    )
    numbered = nn.DataParallel(nn.DataParallel(cases.net())).state_dict()
    numbered._metadata = collections.OrderedDict(
        (name, {"version": i, "words": [name]}) for i, name in enumerate(numbered._metadata)
    )
    tied = tensor_cases.tied()
    models = {
        "data parallel": (cases.data_parallel(), "module."),
        "odd keys": (weird, "module."),
        "twice": (nn.DataParallel(nn.DataParallel(cases.net())).state_dict(), "module."),
        "twice, each version its own": (numbered, "module."),
        "compiled": (torch.compile(cases.net()).state_dict(), "_orig_mod."),
        "tied": (collections.OrderedDict((f"module.{k}", v) for k, v in tied.items()), "module."),
        "plain dict": (dict(weird), "module."),
        "extra state": (nn.DataParallel(nn.Sequential(nn.Linear(2, 2))).state_dict(), "module."),
        "nothing to do": (cases.net().state_dict(), "module."),
    }
    for name, (state, prefix) in models.items():
        for way in (ZIP, PACKED, LEGACY):
            source, label = checks.path(way.suffix), f"strip, {name}, {way.name}"
            way.save(state, source)
            out = checks.written(
                label, source, *([] if prefix == "module." else ["--prefix", prefix]), command="strip-prefix"
            )
            if out:
                for mode in checks.modes(source, out):
                    checks.same_object(label, stripped(saving.load(source, **mode), prefix), saving.load(out, **mode))
                again = checks.written(f"{label}, by convert", source, f"--strip-prefix={prefix}")
                checks.suite.check(
                    f"{label}: convert --strip-prefix writes the same bytes",
                    again and again.read_bytes() == out.read_bytes(),
                )


def trainer(checks):
    """In a trainer's file the model's keys change, and nothing else."""
    for name in ("trainer", "trainer with args"):
        for way in (ZIP, LEGACY):
            source, label = checks.path(), f"strip, {name}, {way.name}"
            way.save(cases.ALL[name](), source)
            out = checks.written(label, source, command="strip-prefix")
            expected = saving.load(source, weights_only=False)
            stripped(expected["model"])
            checks.same_object(label, expected, saving.load(out, weights_only=False))
            back = checks.written(f"{label}, and back", out, command="add-prefix")
            checks.alike(f"{label}, and back", source, back)


def modules(checks):
    """The result loads into the real module, strictly."""
    plain, parallel = cases.net(), nn.DataParallel(cases.net())
    for way in (ZIP, PACKED, LEGACY):
        bare, wrapped = checks.path(way.suffix), checks.path(way.suffix)
        way.save(plain.state_dict(), bare)
        way.save(parallel.state_dict(), wrapped)
        added = checks.written(f"add, {way.name}", bare, command="add-prefix")
        checks.alike(f"add, {way.name}: what DataParallel saves", wrapped, added)
        taken = checks.written(f"strip, {way.name}", wrapped, command="strip-prefix")
        checks.alike(f"strip, {way.name}: what the bare module saves", bare, taken)
        for label, path, model in (("strip", taken, cases.net()), ("add", added, nn.DataParallel(cases.net()))):
            try:
                model.load_state_dict(saving.load(path, weights_only=True), strict=True)
                found = differences(dict(plain.state_dict()), dict(getattr(model, "module", model).state_dict()))
            except Exception as error:
                found = [repr(error)]
            checks.suite.check(f"{label}, {way.name}: load_state_dict(strict=True)", not found, "\n".join(found))


def identity(checks):
    """Adding and then stripping is no change at all."""
    models = {
        "net": cases.net().state_dict(),
        "already prefixed": cases.data_parallel(),
        "tied": tensor_cases.tied(),
        "two of them": {"g": cases.net().state_dict(), "d": cases.data_parallel(), "step": 3},
        "plain": {"a": torch.ones(2), "b": None},
    }
    for name, state in models.items():
        for prefix in ("module.", "a.b.", "ü_"):
            for way in (ZIP, LEGACY):
                source, label = checks.path(), f"add {prefix} and strip, {name}, {way.name}"
                way.save(state, source)
                there = checks.written(label, source, "--prefix", prefix, command="add-prefix")
                back = there and checks.written(label, there, "--prefix", prefix, command="strip-prefix")
                checks.alike(label, source, back)
