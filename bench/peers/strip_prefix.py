import sys

import torch
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present

state = torch.load(sys.argv[1], map_location="cpu", mmap=True, weights_only=True)
consume_prefix_in_state_dict_if_present(state, "module.")
torch.save(state, sys.argv[2])
