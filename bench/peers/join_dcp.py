import sys

import torch  # noqa: F401
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

dcp_to_torch_save(sys.argv[1], sys.argv[2])
