#!/usr/bin/env python3
"""Makes the files that fuzzing starts from, by plain Python (no torch): small, and of many shapes.

    python3 fuzz/seeds/make.py FOLDER        # a folder a target: FOLDER/pickle, FOLDER/torch_zip, …

Nothing here is ever unpickled.
"""

import gzip
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path[:0] = [str(TESTS / "data"), str(TESTS / "bad")]

from other_files import arrays, ggufs, gzips, idx_files, pngs, safetensors_files  # noqa: E402
from pickles import pickles, plain_pickles  # noqa: E402
from torch_files import LARGEST, distributed, hidden, legacies, odd_zips, scripts, tars, zips  # noqa: E402


def packed(files):
    """Some of them in gzip, in one member or two."""
    for name, data in files:
        yield f"{name}.gz", gzip.compress(data, mtime=0)
        if name == "weights":
            yield f"{name}.members.gz", gzip.compress(data[:500], mtime=0) + gzip.compress(data[500:], 9, mtime=0)


def seeds():
    """Each target and its files, as (name, bytes)."""
    all_pickles, all_zips, all_legacies, all_gzips = list(pickles()), list(zips()), list(legacies()), list(gzips())
    all_arrays, all_safetensors, all_ggufs = list(arrays()), list(safetensors_files()), list(ggufs())
    all_scripts, all_plain, all_tars = list(scripts()), list(plain_pickles()), list(tars())
    archives = all_zips + list(odd_zips())
    bare = [
        *archives,
        *all_scripts[-7:],
        *all_legacies,
        *all_plain[::9],
        *all_tars,
        *all_arrays,
        *all_safetensors,
        *all_ggufs,
    ]
    files = [*bare, *packed(all_zips[:6] + all_legacies[:6] + all_arrays[-2:])]
    return {
        "pickle": all_pickles,
        "torch_zip": archives,
        "torch_legacy": all_legacies,
        "torchscript": all_scripts,
        "plain_pickle": all_plain + all_pickles,
        "torch_tar": all_tars,
        "numpy": all_arrays,
        "safetensors": all_safetensors,
        "dcp": list(distributed()),
        "gguf": all_ggufs,
        "scan": files[::3] + list(hidden()),
        "gzip": all_gzips + list(packed(all_zips[:4])),
        "zip": archives,
        "png": list(pngs()),
        "idx": list(idx_files()),
        "compressed": bare + all_scripts,
        "recover": archives + all_legacies + list(packed(all_zips[:4] + all_legacies[:4])),
        "roundtrip": files + all_pickles,
        # The first byte chooses the command.
        "program": [(f"{name}.{i % 256}", bytes([i % 256]) + data) for i, (name, data) in enumerate(files * 4)],
    }


def main():
    for target, files in seeds().items():
        folder = Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for i, (name, data) in enumerate(files):
            if len(data) <= LARGEST:
                (folder / f"{i:04}-{name}").write_bytes(data)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
