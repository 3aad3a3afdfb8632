"""`python timed.py SCRIPT ARGUMENT…` runs SCRIPT, and says on standard error what it took without `import torch`."""

import runpy
import sys
import time

import torch  # noqa: F401

begin = time.perf_counter()
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
print(f"without import: {time.perf_counter() - begin:.6f}", file=sys.stderr)
