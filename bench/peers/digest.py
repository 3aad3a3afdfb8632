import hashlib
import sys

import torch

state = torch.load(sys.argv[1], map_location="cpu", mmap=True, weights_only=True)
for name, tensor in state.items():
    content = tensor.contiguous().reshape(-1).view(torch.uint8).numpy()
    print(hashlib.sha256(content).hexdigest(), name)
