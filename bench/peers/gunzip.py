import gzip
import io
import sys

import torch

with gzip.open(sys.argv[1], "rb") as file:
    torch.save(torch.load(io.BytesIO(file.read()), map_location="cpu", weights_only=True), sys.argv[2])
