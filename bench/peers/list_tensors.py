import sys

import torch

state = torch.load(sys.argv[1], map_location="cpu", mmap=True, weights_only=True)
for name, tensor in state.items():
    print(name, tensor.dtype, tuple(tensor.shape))
