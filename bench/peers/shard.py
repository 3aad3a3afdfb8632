"""By huggingface_hub, as save_pretrained() of its models does it."""

import sys
from pathlib import Path

import torch
from huggingface_hub import save_torch_state_dict

state = torch.load(sys.argv[1], map_location="cpu", mmap=True, weights_only=True)
Path(sys.argv[2]).mkdir()
save_torch_state_dict(state, sys.argv[2], max_shard_size="256MB")
