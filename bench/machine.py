"""What the benchmarks ran on and with: everything a reader needs to judge the figures."""

import os
import platform
import re
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path


def _first(path, pattern):
    found = re.search(pattern, Path(path).read_text(), re.M)
    return found[1].strip() if found else "unknown"


def memory_available():
    return int(_first("/proc/meminfo", r"^MemAvailable:\s+(\d+) kB")) << 10


def _version(*command):
    """The first version number that a program names; None where it is not here."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    found = re.search(r"\d+\.[\d.]*\d", done.stdout + done.stderr)
    return found[0] if found else "unknown"


def _package(name, peers):
    """The version of a Python package; None where it is not here."""
    places = [str(peers)] * bool(peers) + sys.path
    return next((found.version for found in metadata.distributions(name=name, path=places)), None)


def describe(ckpt, where, peers=None):
    programs = {name: _version(name, "--version") for name in ("cp", "sha256sum", "igzip", "gzip", "pigz")}
    programs["openssl"] = _version("openssl", "version")
    packages = ("numpy", "safetensors", "torchvision", "huggingface_hub", "picklescan")
    programs |= {name: _package(name, peers) for name in packages}
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "processor": _first("/proc/cpuinfo", r"^model name\s*:(.*)$"),
        "cores": len(os.sched_getaffinity(0)),
        "memory": int(_first("/proc/meminfo", r"^MemTotal:\s+(\d+) kB")) << 10,
        "kernel": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "files_on": where,
        "load": round(os.getloadavg()[0], 2),
        "versions": {
            "ckpt": _version(ckpt, "--version"),
            "Python": platform.python_version(),
            "torch": _package("torch", None),
            **{name: version for name, version in programs.items() if version},
        },
    }
