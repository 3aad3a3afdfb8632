import sys

import torch

torch.save(torch.load(sys.argv[1], map_location="cpu", mmap=True, weights_only=True), sys.argv[2])
