import sys

import torch
from safetensors.torch import load_file

torch.save(load_file(sys.argv[1]), sys.argv[2])
