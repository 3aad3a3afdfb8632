"""With torch, as safetensors.torch needs it."""

import json
import sys
from pathlib import Path

import torch  # noqa: F401
from safetensors.torch import load_file, save_file

folder = Path(sys.argv[1])
index = json.loads((folder / "model.safetensors.index.json").read_text())
state = {}
for name in sorted(set(index["weight_map"].values())):
    state |= load_file(folder / name)
save_file(state, sys.argv[2])
