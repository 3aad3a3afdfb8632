#!/usr/bin/env python3
"""make.py KIND PATH BYTES: a checkpoint of zeros that ckpt itself does not write."""

import pickle
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "formats"))
import libraries  # noqa: E402

kind, path, size = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
tensors = {f"layer{i}.weight": torch.zeros(size // 8 // 4096, 1024) for i in range(8)}
if kind == "pickle":
    with path.open("wb") as file:
        pickle.dump(tensors, file, protocol=4)
elif kind == "pickle of arrays":
    with path.open("wb") as file:
        pickle.dump({name: tensor.numpy() for name, tensor in tensors.items()}, file, protocol=4)
else:
    next(x for x in libraries.ALL if x.name == kind).save(tensors, path)
