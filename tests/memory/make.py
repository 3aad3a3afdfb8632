#!/usr/bin/env python3
"""make.py KIND PATH BYTES: a checkpoint of zeros that ckpt itself does not write."""

import pickle
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "formats"))
import libraries  # noqa: E402



def views(each, name="layer"):
    """A trainer's file: views, tied weights, equal storages, under a wrapper's prefix, and an optimizer's state."""
    bases = [torch.empty(each // 4096, 1024) for _ in range(8)]
    model = {f"module.{name}{i}.weight": base for i, base in enumerate(bases[:5])}
    model |= {f"module.{name}.turned": bases[1].t(), f"module.{name}.columns": bases[5][:, 256:512]}
    model |= {f"module.{name}.tied": bases[0], f"module.{name}.rows": bases[6][: each // 16384]}
    return {"model": model, "optimizer": {"state": {0: {"exp_avg": bases[7]}}, "param_groups": [{"params": [0]}]}}


kind, path, size = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
if kind.endswith("views"):  # space is left for the bytes: neither memory nor disk holds them, and nobody sums them up
    torch.serialization.set_crc32_options(False)
    with torch.serialization.skip_data():
        torch.save(views(size // 8, "block" if kind == "other views" else "layer"), path)
    sys.exit()
tensors = {f"layer{i}.weight": torch.zeros(size // 8 // 4096, 1024) for i in range(8)}
if kind == "pickle":
    with path.open("wb") as file:
        pickle.dump(tensors, file, protocol=4)
elif kind == "pickle of arrays":
    with path.open("wb") as file:
        pickle.dump({name: tensor.numpy() for name, tensor in tensors.items()}, file, protocol=4)
else:
    next(x for x in libraries.ALL if x.name == kind).save(tensors, path)
