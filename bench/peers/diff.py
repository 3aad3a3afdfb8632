import sys

import torch

one, other = (torch.load(path, map_location="cpu", mmap=True, weights_only=True) for path in sys.argv[1:])
differ = set(one) ^ set(other)
differ |= {name for name in set(one) & set(other) if not torch.equal(one[name], other[name])}
print("\n".join(differ) or "equal")
