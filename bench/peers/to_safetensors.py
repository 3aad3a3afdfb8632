import sys

import torch
from safetensors.torch import save_file

state = torch.load(sys.argv[1], map_location="cpu", mmap=True, weights_only=True)
save_file(state, sys.argv[2])
