"""Hashes and checks of whole files."""

import checks
from marks import as_fast_on_every_core
from row import Command, Row
from rows.common import LARGE, MEMORY

TOLERANCE = 0.1  # starting, and the last tensors, which fill no core


def rows():
    of_file = "one hash for the file, not one a tensor"
    sha256sum = Command("sha256sum IN.pt", checks.hashes_file, remark=of_file)
    digest = [
        Command("ckpt digest IN.pt", checks.hashes),
        sha256sum,
        Command("openssl dgst -r -sha256 IN.pt", checks.hashes_file, remark=of_file),
        Command("python digest.py IN.pt", checks.hashes),
    ]
    verify = [
        Command("ckpt verify IN.pt", checks.says(": ok")),
        Command("python -m zipfile -t IN.pt", checks.says("Done testing"), remark="checksums only"),
        sha256sum,
    ]
    finite = [Command("ckpt verify --finite IN.pt", checks.says("its tensors finite"))]
    on_all = as_fast_on_every_core(("sha256sum", "openssl dgst"), TOLERANCE)
    return [
        Row("digest", "A SHA-256 of each tensor", LARGE, digest, [on_all, MEMORY]),
        Row("verify", "Is the file whole?", LARGE, verify, [MEMORY]),
        Row("finite", "… and are its tensors finite?", LARGE, finite, [MEMORY]),
    ]
