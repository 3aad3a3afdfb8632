import sys

import numpy as np
import torch

state = torch.load(sys.argv[1], map_location="cpu", mmap=True, weights_only=True)
np.savez(sys.argv[2], **{name: tensor.numpy() for name, tensor in state.items()})
