import gzip
import sys

import torch

with gzip.open(sys.argv[1], "rb") as file:
    state = torch.load(file, map_location="cpu", weights_only=True)
for name, tensor in state.items():
    print(name, tensor.dtype, tuple(tensor.shape))
