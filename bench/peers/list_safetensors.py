import sys

from safetensors import safe_open

with safe_open(sys.argv[1], framework="numpy") as file:
    for name in file.keys():
        part = file.get_slice(name)
        print(name, part.get_dtype(), tuple(part.get_shape()))
