"""What programs that clang compiled with CKPT_COVERAGE have executed of this repository's sources."""

import json
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WHAT = ("lines", "branches")


def tool(name):
    """Of LLVM's; none where it is not installed."""
    return shutil.which(f"{name}-14") or shutil.which(name)


def by_file(build, profiles, binaries):
    """{file: {"lines": (covered, all), "branches": (covered, all)}} of what profiles, files of LLVM_PROFILE_FILE, tell of binaries."""
    merged = profiles[0].with_name("all.profdata")
    subprocess.run([tool("llvm-profdata"), "merge", "-sparse", "-o", merged, *profiles], check=True)
    objects = [part for binary in binaries[1:] for part in ("-object", binary)]
    command = [tool("llvm-cov"), "export", "-summary-only", f"-instr-profile={merged}", binaries[0], *objects]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    found = {}
    for file in report["data"][0]["files"]:
        path = (build / file["filename"]).resolve()  # ccache makes names relative
        if path.is_relative_to(ROOT):
            summary = file["summary"]
            found[str(path.relative_to(ROOT))] = {what: (summary[what]["covered"], summary[what]["count"]) for what in WHAT}
    return found
