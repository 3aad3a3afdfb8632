import sys

import torch

dtype = getattr(torch, sys.argv[3])
state = torch.load(sys.argv[1], map_location="cpu", mmap=True, weights_only=True)
torch.save({name: tensor.to(dtype) for name, tensor in state.items()}, sys.argv[2])
