#!/usr/bin/env python3
"""What the built programs and libraries are hardened with, read from the files by readelf and objdump (binutils).

    tests/hardening.py --build build/release
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

import harness

# The last three: in a build with libtorch, and nvcc.
FILES = ("bin/ckpt", "lib/libckpt.so", "bin/ckpt-eval", "lib/libckpt_eval.so", "lib/libckpt_cuda_kernels.so")
RIGHTS = re.compile(r"^  GNU_STACK(?: +0x\w+){5} +(\w+)", re.M)
CHECKED = re.compile(r"\b__(?!stack)\w+_chk(@|$)", re.M)
ENTRY = re.compile(r"^[0-9a-f]+ <(_ZN?K?4ckpt\w+)>:\n\s+[0-9a-f]+:\s+(\w+)", re.M)


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, env=harness.environment()).stdout


def checks(file):
    """Name and outcome of each property of one file."""
    headers, dynamic, symbols = (output("readelf", "-W", what, file) for what in ("-hl", "-d", "--dyn-syms"))
    yield "position-independent", re.search(r"Type:\s+DYN", headers) and (".so" in file.name or re.search(r"FLAGS_1.*\bPIE\b", dynamic))
    yield "the stack is not executable", RIGHTS.findall(headers) == ["RW"]
    yield "nothing is writable and executable", not re.search(r"^  LOAD .* RWE ", headers, re.M)
    yield "tables are read-only once filled", "GNU_RELRO" in headers
    yield "and filled before main()", re.search(r"FLAGS_1.*\bNOW\b", dynamic)
    if "cuda" in file.name:  # a dozen short functions, which have nothing of what follows
        return
    yield "stack protector", "__stack_chk_fail" in symbols
    yield "checked functions of the C library", CHECKED.search(symbols)
    yield "checked indexes of the C++ library", "__glibcxx_assert_fail" in symbols
    if "X86-64" in headers:
        yield "functions begin where they may be jumped to", has_entries(file)


def has_entries(file):
    """Nearly all do: a function that nothing can reach by a pointer needs no mark."""
    first = [instruction for _, instruction in ENTRY.findall(output("objdump", "-d", "--no-show-raw-insn", file))]
    return len(first) > 20 and first.count("endbr64") > len(first) / 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, required=True, help="the build folder")
    options = parser.parse_args()
    suite = harness.Suite()
    if not shutil.which("readelf") or not shutil.which("objdump"):
        suite.skip("hardening", "no readelf or objdump (binutils)")
        return suite.finish()
    files = [options.build / name for name in FILES if (options.build / name).exists()]
    suite.check("the program and the library are there", len(files) >= 2, files)
    for file in files:
        with suite.group(file.name):
            for name, good in checks(file):
                suite.check(f"{file.name}: {name}", good)
    # Kernels are compiled where there is an nvcc that is new enough.
    suite.figure("hardening.files", sum("cuda" not in file.name for file in files))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
