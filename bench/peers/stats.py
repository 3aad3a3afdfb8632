"""The range, mean, deviation and norm of each tensor in float64, and a histogram, as anybody would ask torch for them."""

import sys

import torch

for name, tensor in torch.load(sys.argv[1], map_location="cpu", mmap=True, weights_only=True).items():
    x = tensor.to(torch.float64)
    low, high = x.min().item(), x.max().item()
    zeros, nans = int((x == 0).sum()), int(x.isnan().sum())
    histogram = [int(n) for n in torch.histc(x, 20, low, high)]
    print(name, low, high, x.mean().item(), x.std().item(), torch.linalg.vector_norm(x).item(), zeros, nans, histogram)
