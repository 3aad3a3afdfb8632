"""Files of trainers, in the shape in which they write them: the weights are found by themselves, the rest is shown."""

import argparse
import collections
import io
import json
import random
import sys
import types

import cases
import numpy
import saving
import torch
from group import dtensor, process_group
from saving import ZIP
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict


def trained():
    torch.manual_seed(5)
    model = cases.net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(4, 1, 4, 4)).square().mean().backward()
        optimizer.step()
        scheduler.step()
    return model, optimizer, scheduler


class Wrapped(nn.Module):
    """A LightningModule keeps the network as an attribute of its own."""

    def __init__(self, model):
        super().__init__()
        self.model = model


def lightning(model, optimizer, scheduler):
    """lightning.pytorch.trainer.connectors.checkpoint_connector.dump_checkpoint, version 2."""
    return {
        "epoch": 1,
        "global_step": 2,
        "pytorch-lightning_version": "2.5.0",
        "state_dict": Wrapped(model).state_dict(),
        "loops": {
            "fit_loop": {
                "state_dict": {},
                "epoch_loop.state_dict": {"_batches_that_stepped": 2},
                "epoch_progress": {"total": {"ready": 1, "completed": 0}, "current": {"ready": 1, "completed": 0}},
            }
        },
        "callbacks": {
            "ModelCheckpoint{'monitor': 'val_loss', 'mode': 'min'}": {
                "monitor": "val_loss",
                "best_model_score": torch.tensor(0.25),
                "best_k_models": {"/tmp/a.ckpt": torch.tensor(0.25)},
                "last_model_path": "",
            }
        },
        "optimizer_states": [optimizer.state_dict()],
        "lr_schedulers": [scheduler.state_dict()],
        "MixedPrecision": {"scale": 65536.0, "growth_factor": 2.0, "_growth_tracker": 0},
        "hparams_name": "kwargs",
        "hyper_parameters": {"lr": 1e-3, "layers": [16, 3]},
        "datamodule_hparams_name": "kwargs",
        "datamodule_hyper_parameters": {"batch_size": 4},
    }


def training_args():
    """transformers.TrainingArguments, of a package that is not here."""
    sys.modules["transformers"] = types.ModuleType("transformers")
    module = types.ModuleType("transformers.training_args")
    kind = type("TrainingArguments", (), {"__module__": module.__name__})
    module.TrainingArguments = kind
    sys.modules[module.__name__] = module
    args = kind()
    args.output_dir, args.learning_rate, args.seed, args.device = "out", 5e-5, 42, torch.device("cuda", 0)
    return args


def shown(checks, label, path):
    return checks.run(f"{label}: inspect", "inspect", "--json", path).json, checks.ckpt("inspect", path).text


def weights(checks, label, source, state):
    out = checks.written(f"{label}: --weights-only", source, "--weights-only", suffix=".pt")
    expected = checks.path()
    ZIP.save(state, expected)
    if out:
        checks.same_object(label, saving.load(expected, weights_only=True), saving.load(out, weights_only=True))
        checks.run(f"{label}: check", "check", source, "--like", expected)
    checks.suite.equal(
        f"{label}: digest", checks.ckpt("digest", "--root", "auto", source).text, checks.ckpt("digest", expected).text
    )


def lightning_files(checks):
    model, optimizer, scheduler = trained()
    for suffix in (".ckpt", ".ckpt.gz"):
        source, label = checks.path(suffix), f"Lightning {suffix}"
        saved = lightning(model, optimizer, scheduler)
        (ZIP if suffix == ".ckpt" else saving.WAYS[4]).save(saved, source)
        weights(checks, label, source, saved["state_dict"])
        report, text = shown(checks, label, source)
        checks.suite.equal(f"{label}: the first state dict", report["state_dicts"][0], "state_dict")
        checks.suite.equal(f"{label}: optimizers", report["optimizers"], ["optimizer_states.0"])
        checks.suite.check(f"{label}: the optimizer in words", "optimizer optimizer_states.0: state of 6 parameters, 1 group" in text, text)
        checks.suite.check(f"{label}: the rest", "other values: epoch, global_step, pytorch-lightning_version, loops," in text, text)
        bare = checks.written(f"{label}: bare names", source, "--weights-only", "--strip-prefix=model.", suffix=".pt")
        got = saving.load(bare, weights_only=True)
        checks.suite.check(f"{label}: loads into the model", not model.load_state_dict(dict(got)).missing_keys)


def lightning_runs(checks):
    """The best three epochs: each file knows others by their paths, and an infinite score until there are three."""
    model, optimizer, scheduler = trained()
    files, states = [], []
    for epoch in range(3):
        saved = lightning(model, optimizer, scheduler)
        saved["state_dict"] = {key: value + epoch for key, value in saved["state_dict"].items()}
        callback = next(iter(saved["callbacks"].values()))
        callback["best_k_models"] = {f"/run/epoch={i}.ckpt": torch.tensor(0.1 * i) for i in range(max(0, epoch - 1), epoch + 1)}
        callback["kth_value"] = torch.tensor(float("inf"))
        states.append(saved["state_dict"])
        files.append(checks.path(".ckpt"))
        ZIP.save(saved, files[-1])
    out = checks.path(".ckpt")
    checks.run("Lightning, best of a run: average", "average", *files, out)
    got = saving.load(out)
    mean = dict(saved["state_dict"])
    for key, value in mean.items():
        if value.is_floating_point():
            mean[key] = torch.stack([state[key] for state in states]).double().mean(0).to(value.dtype)
    checks.same_object("Lightning, best of a run: averaged", {**saved, "state_dict": mean}, got)
    out = checks.written("Lightning: --add-prefix", files[-1], "--add-prefix=net.")
    prefixed = {f"net.{key}": value for key, value in saved["state_dict"].items()}
    checks.same_object("Lightning: prefixed", {**saved, "state_dict": prefixed}, saving.load(out))
    done = checks.run("Lightning: --finite", "verify", "--finite", files[-1], code=1)
    checks.suite.check("Lightning: --finite: hint", f"ckpt verify {files[-1]} --finite --root auto" in done.err, done)
    checks.run("Lightning: --finite of the model", "verify", "--finite", "--root", "auto", files[-1])
    saved["state_dict"]["model.nan"] = torch.tensor(float("nan"))
    ZIP.save(saved, files[-1])
    done = checks.run("Lightning: --finite of a model with NaN", "verify", "--finite", "--root", "auto", files[-1], code=1)
    checks.suite.check("Lightning: --finite: names it", "tensor 'model.nan': 1 NaN" in done.text, done)


def flattened_optimizers(checks):
    """What torchtitan saves."""
    model, optimizer, _ = trained()
    options = StateDictOptions(flatten_optimizer_state_dict=True)
    weights_of, optim = get_state_dict(model, optimizer, options=options)
    saved, source = {"model": weights_of, "optim": optim, "step": 2}, checks.path()
    ZIP.save(saved, source)
    report, text = shown(checks, "a flattened optimizer", source)
    checks.suite.equal("a flattened optimizer: its place", report["optimizers"], ["optim"])
    checks.suite.check("a flattened optimizer: in words", "optimizer optim: state of 6 parameters" in text, text)
    out = checks.written("a flattened optimizer: --strip-optimizer", source, "--strip-optimizer")
    checks.same_object("a flattened optimizer: gone", {"model": weights_of, "step": 2}, saving.load(out))
    out = checks.written("a flattened optimizer: --add-prefix", source, "--add-prefix")
    got = saving.load(out)
    checks.same_object("a flattened optimizer: as it was", optim, got["optim"])
    checks.suite.equal("a flattened optimizer: the model's keys", list(got["model"]), [f"module.{key}" for key in weights_of])
    set_state_dict(model, optimizer, model_state_dict=weights_of, optim_state_dict=got["optim"], options=options)


def optimizers_beside_models(checks):
    """{"model": model.state_dict(), **optimizer.state_dict()}"""
    model, optimizer, _ = trained()
    weights_of, state = model.state_dict(), optimizer.state_dict()
    beside = {
        "state dict": {"net": weights_of, "epoch": 3},
        "module": {"net": model},
        "tensors": dict(weights_of),
        "master weights of no names": {"slow": {0: torch.ones(2)}},
    }
    for label, more in beside.items():
        for outer in (lambda obj: obj, lambda obj: {"agents": [obj, obj], "best": torch.tensor(0.5)}):
            saved, source = outer({**more, **state}), checks.path()
            ZIP.save(saved, source)
            if "slow" in more:
                if "best" in saved:
                    out = checks.written(f"an optimizer beside {label}: --strip-optimizer", source, "--strip-optimizer")
                    checks.same_object(f"an optimizer beside {label}: gone", {"best": saved["best"]}, saving.load(out))
                continue
            out = checks.written(f"an optimizer beside {label}: --strip-optimizer", source, "--strip-optimizer")
            checks.same_object(f"an optimizer beside {label}: what is left", outer(dict(more)), saving.load(out, weights_only=False))
    wrapped, source = {f"module.{key}": value for key, value in weights_of.items()}, checks.path()
    ZIP.save({"model": wrapped, "epoch": 3, **state}, source)
    out = checks.path()
    checks.run("an optimizer beside DataParallel's: strip-prefix", "strip-prefix", source, out)
    checks.same_object("an optimizer beside DataParallel's: stripped", {"model": dict(weights_of), "epoch": 3, **state}, saving.load(out))
    out = checks.written("an optimizer beside DataParallel's: --weights-only", source, "--weights-only", "--strip-prefix")
    checks.same_object("an optimizer beside DataParallel's: weights", dict(weights_of), saving.load(out))


@process_group()
def distributed_tensors(checks):
    """FSDP2's state_dict(): the numbers of a DTensor are another tensor's, which is not averaged."""
    files = [checks.path() for _ in range(2)]
    for file, ones in zip(files, (torch.ones(4), torch.zeros(4))):
        ZIP.save({"fc.weight": dtensor(ones), "bn.running_mean": ones}, file)
    done = checks.run("DTensors: average", "average", *files, checks.path(), code=3)
    checks.suite.check("DTensors: what is not averaged", '"fc.weight" has its numbers where only its class' in done.err, done)
    checks.suite.check("DTensors: what would mend it", "full_tensor()" in done.err, done)


def streams(checks):
    """TransformerEngine's extra states are streams of bytes."""
    stream = io.BytesIO(b"scales")
    source = checks.path()
    ZIP.save({"fc.weight": torch.ones(2), "fc._extra_state": stream}, source)
    done = checks.run("a stream: scan", "scan", source)
    checks.suite.check("a stream: not vouched for", "unknown: _io.BytesIO" in done.text, done)
    got = saving.load(checks.written("a stream: convert", source, "--to", "cpu"), weights_only=False)
    checks.suite.equal("a stream: its bytes", got["fc._extra_state"].getvalue(), stream.getvalue())


def transformers_folder(checks):
    """What transformers.Trainer leaves in checkpoint-500/."""
    model, optimizer, scheduler = trained()
    folder = checks.path("")
    folder.mkdir()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    torch.save(optimizer.state_dict(), folder / "optimizer.pt")
    torch.save(scheduler.state_dict(), folder / "scheduler.pt")
    rng = {
        "python": random.getstate(),
        "numpy": numpy.random.get_state(),
        "cpu": torch.random.get_rng_state(),
        "cuda": [torch.random.get_rng_state()],
    }
    torch.save(rng, folder / "rng_state.pth")
    torch.save(training_args(), folder / "training_args.bin")
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": 500, "log_history": []}))
    (folder / "config.json").write_text(json.dumps({"architectures": ["Net"]}))
    weights(checks, "a folder of transformers", folder, model.state_dict())
    report, text = shown(checks, "optimizer.pt", folder / "optimizer.pt")
    checks.suite.equal("optimizer.pt: optimizers", report["optimizers"], [""])
    checks.suite.equal("optimizer.pt: state dicts", report["state_dicts"], [])
    checks.suite.check("optimizer.pt: in words", "optimizer (root): state of 6 parameters, 1 group" in text, text)
    report, _ = shown(checks, "rng_state.pth", folder / "rng_state.pth")
    checks.suite.equal("rng_state.pth: no state dict", report["state_dicts"], [])
    shown(checks, "scheduler.pt", folder / "scheduler.pt")
    report, text = shown(checks, "training_args.bin", folder / "training_args.bin")
    checks.suite.check("training_args.bin: its class", "transformers.training_args.TrainingArguments" in text, text)
    done = checks.run("trainer_state.json: named", "inspect", folder / "trainer_state.json", code=3)
    checks.suite.check("trainer_state.json: as JSON", "this is JSON" in done.err, done)
    import safetensors.torch

    safetensors.torch.save_file(dict(model.state_dict()), folder / "model.safetensors", {"format": "pt"})
    (folder / "pytorch_model.bin").unlink()
    got = checks.ckpt("digest", folder).text
    checks.suite.equal("a folder with model.safetensors", got, checks.ckpt("digest", folder / "model.safetensors").text)


def plain_files(checks):
    """As scripts write them, under every usual name; with what weights_only refuses beside the weights."""
    model, optimizer, scheduler = trained()
    beside = {
        "epoch": 3,
        "args": argparse.Namespace(lr=0.1),
        "best": numpy.float64(0.5),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
    }
    files = {
        "state_dict": {**beside, "state_dict": model.state_dict(), "arch": "net"},
        "model_state_dict": {**beside, "model_state_dict": model.state_dict(), "ema": collections.OrderedDict(model.state_dict())},
        "model": {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 1},
        "net": {"net": nn.DataParallel(model).state_dict(), "acc": 93.2, "epoch": 1},
        "the only one": {"weights": {"encoder": model.state_dict()}, "step": torch.tensor(5)},
    }
    states = {"net": nn.DataParallel(model).state_dict()}
    for name, obj in files.items():
        source = checks.path()
        ZIP.save(obj, source)
        weights(checks, f"a trainer's {name}", source, states.get(name, model.state_dict()))
        report, text = shown(checks, f"a trainer's {name}", source)
        checks.suite.equal(f"a trainer's {name}: optimizers", report["optimizers"], ["optimizer"] if "optimizer" in obj else [])
        others = [k for k in obj if isinstance(obj[k], (int, float, str, torch.Tensor))]
        said = next((line for line in text.splitlines() if line.startswith("other values: ")), "")
        checks.suite.check(f"a trainer's {name}: the rest", all(k in said for k in others), text)


GROUPS = [lightning_files, lightning_runs, flattened_optimizers, optimizers_beside_models, distributed_tensors, streams, transformers_folder, plain_files]
