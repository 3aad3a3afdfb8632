import gzip
import sys

import torch

with gzip.open(sys.argv[2], "wb") as file:
    torch.save(torch.load(sys.argv[1], map_location="cpu", mmap=True, weights_only=True), file)
