"""What is saved: models and trainers' files, and the tensors and objects of the other pages, by name."""

import argparse

import numpy
import object_cases
import tensor_cases
import torch
from torch import nn


def net():
    torch.manual_seed(7)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3))


def trainer(optimiser="Adam"):
    model = nn.DataParallel(net())
    kinds = {
        "Adam": lambda p: torch.optim.Adam(p, amsgrad=True),
        "SGD": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
        "AdamW": lambda p: torch.optim.AdamW(p, lr=torch.tensor(0.01)),
    }
    opt = kinds[optimiser](model.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 2)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(4, 1, 4, 4)).square().mean().backward()
        opt.step()
        scheduler.step()
    return {
        "epoch": 3,
        "model": model.state_dict(),
        "optimizer": opt.state_dict(),
        "scheduler": scheduler.state_dict(),
        "loss": 0.25,
        "best": torch.tensor(0.5),
        "rng": torch.get_rng_state(),
        "history": [{"loss": 0.1}, {"loss": 0.2}],
        "device": "cuda:0",
    }


def trainer_with_args():
    return {
        **trainer("SGD"),
        "top1": numpy.float64(0.25),
        "args": argparse.Namespace(device="cuda:0", gpus=[0, 1], seed=2**40),
        "classes": {"cat", "dog"},
    }


def data_parallel():
    return nn.DataParallel(net()).state_dict()


def extra_state():
    class WithExtra(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def get_extra_state(self):
            return {"calls": 3, "words": ["a"]}

        def set_extra_state(self, state):
            pass

    return nn.Sequential(WithExtra()).state_dict()


# Whole objects, as they are handed to torch.save.
WHOLE = {
    "bare tensor": lambda: torch.arange(6.0).reshape(2, 3),
    "bare view": lambda: torch.arange(20)[4:9],
    "bare 0-d": lambda: torch.tensor(2),
    "bare parameter": lambda: nn.Parameter(torch.ones(2, 2)),
    "bare storage": lambda: torch.arange(4, dtype=torch.uint8).untyped_storage(),
    "list of tensors": lambda: [torch.ones(2), torch.zeros(1, dtype=torch.int8)],
    "tuple": lambda: (torch.ones(1), {"a": 1}),
    "sequential": net,
    "lstm": lambda: nn.LSTM(3, 4, 2, bidirectional=True),
    "transformer layer": lambda: nn.TransformerEncoderLayer(8, 2, 16),
    "data parallel module": lambda: nn.DataParallel(net()),
    "no tensors": lambda: {"epoch": 3},
    "none": lambda: None,
    "text": lambda: "hello",
    "empty dict": dict,
    "number": lambda: 2**100,
}
NAMED = (
    [trainer, trainer_with_args, data_parallel, extra_state]
    + [getattr(tensor_cases, n) for n in tensor_cases.CASES]
    + [getattr(object_cases, n) for n in object_cases.CASES]
)
ALL = {**WHOLE, **{make.__name__.replace("_", " "): make for make in NAMED}}
