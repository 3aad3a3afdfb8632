import gzip
import io
import sys

import torch

with gzip.open(sys.argv[1], "rb") as file:
    state = torch.load(io.BytesIO(file.read()), map_location="cpu", weights_only=True)
for name, tensor in state.items():
    print(name, tensor.dtype, tuple(tensor.shape))
