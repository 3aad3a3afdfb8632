import gzip
import io
import sys

import torch
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present

with gzip.open(sys.argv[1], "rb") as file:
    state = torch.load(io.BytesIO(file.read()), map_location="cpu", weights_only=True)
consume_prefix_in_state_dict_if_present(state, "module.")
with gzip.open(sys.argv[2], "wb") as file:
    torch.save(state, file)
