"""The same job on three sizes: does memory grow with the file? The plot of the page is made of these rows."""

import checks
from files import File
from marks import memory_flat
from row import Command, Row
from rows.common import MEMORY, on_cpu, same, stripped

ROUNDS = 3  # memory varies little, and 4 GiB take their time
SIZES = ("small", "large", "huge")
UP_TO_1_GIB = ("small", "medium", "large")  # Python's GzipFile would take minutes for 4 GiB
JOBS = {  # name: (command, check, form of the file, sizes)
    "to-cpu": ("ckpt convert IN.pt OUT.pt --to cpu", on_cpu, "", SIZES),
    "strip-prefix": ("ckpt strip-prefix IN.pt OUT.pt", stripped, "", SIZES),
    "cast": ("ckpt convert IN.pt OUT.pt --dtype bfloat16", checks.holds(dtype="bfloat16"), "", SIZES),
    "to-safetensors": ("ckpt convert IN.pt OUT.safetensors", on_cpu, "", SIZES),
    "from-safetensors": ("ckpt convert IN.safetensors OUT.pt", on_cpu, "safetensors", SIZES),
    "shard": ("ckpt shard IN.pt OUT/ --max-size 256MB", same, "", SIZES),
    "merge": ("ckpt merge IN/ OUT.safetensors", on_cpu, "sharded", SIZES),
    "join-dcp": ("ckpt merge IN/ OUT.pt", on_cpu, "dcp", SIZES),
    "gzip": ("ckpt convert IN.pt OUT.pt.gz", same, "", SIZES),
    "gunzip": ("ckpt convert IN.pt.gz OUT.pt", same, "python", UP_TO_1_GIB),
    "gunzip-ours": ("ckpt convert IN.pt.gz OUT.pt", same, "ckpt", SIZES),
    "regzip-ours": ("ckpt strip-prefix IN.pt.gz OUT.pt.gz", stripped, "ckpt", SIZES),
    "digest": ("ckpt digest IN.pt", checks.hashes, "", SIZES),
    "stats": ("ckpt stats --json IN.pt", checks.describes, "", SIZES),
    "diff": ("ckpt diff IN.pt IN.pt", checks.succeeds, "", SIZES),
}
# As far as it goes: at 4 GiB it would take what this machine has.
PYTHON = ("python to_cpu.py IN.pt OUT.pt", on_cpu, ("small", "large"))


def rows():
    made = []
    for name, (line, check, form, sizes) in JOBS.items():
        commands = [Command(line, check, File(size, form)) for size in sizes]
        if name == "to-cpu":
            line_of_python, check, its_sizes = PYTHON
            commands += [Command(line_of_python, check, File(size)) for size in its_sizes]
        title = f"Memory by size: `{line}`" + (", gzip by Python" if form == "python" else "")
        # An inflated stream keeps at most 64 positions to go back to, some 5 MiB in all.
        made.append(Row(f"memory-{name}", title, commands[0].file, commands, [MEMORY, memory_flat(8)], rounds=ROUNDS))
    return made
