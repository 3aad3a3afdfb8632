"""Into gzip, out of it, and from one gzip file to another."""

import os

import checks
from marks import no_larger_than, times_at_most, times_faster
from row import Command, Row
from rows.common import (
    BF16,
    LARGE,
    LARGE_GZ,
    LARGE_OURS,
    MANY,
    MEDIUM_GZ,
    MEMORY,
    MEMORY_MANY,
    PRUNED,
    SMALL,
    SMALL_GZ,
    on_cpu,
    same,
    stripped,
    stripped_on_cpu,
)

ON_ALL_CORES = f"igzip -1 -T {len(os.sched_getaffinity(0))}"


def inflating():
    ckpt = Command("ckpt convert IN.pt.gz OUT.pt", same)
    igzip, pigz, gzip = (Command(f"{name} -d -c IN.pt.gz > OUT.pt", same) for name in ("igzip", "pigz", "gzip"))
    python = Command("python gunzip.py IN.pt.gz OUT.pt", on_cpu)
    one_stream = "Python writes one member, which can only be inflated from its start to its end."
    members = "ckpt writes members that need nothing of each other, so that each core inflates its own."
    like_igzip = times_at_most(1.1, "igzip -d")
    return [
        Row("gunzip", "Out of gzip", MEDIUM_GZ, [ckpt, igzip, pigz, gzip, python],
            [like_igzip, times_faster(20, "python gunzip.py"), MEMORY], one_stream),
        Row("gunzip-large", "Out of gzip, a large file", LARGE_GZ, [ckpt, igzip, pigz], [like_igzip, MEMORY], one_stream),
        Row("gunzip-ours", "Out of gzip that ckpt wrote", LARGE_OURS, [ckpt, igzip, pigz],
            [times_at_most(0.6, "igzip -d"), MEMORY], members),
    ]


def deflating():
    ckpt = Command("ckpt convert IN.pt OUT.pt.gz", same)
    igzip, igzip1 = (Command(f"{name} -c IN.pt > OUT.pt.gz", same) for name in (ON_ALL_CORES, "igzip -1"))
    gzips = [Command(f"{name} -{level} -c IN.pt > OUT.pt.gz", same) for name in ("pigz", "gzip") for level in (1, 9)]
    python = Command("python to_gzip.py IN.pt OUT.pt.gz", on_cpu)
    smallest = [gzips[1], gzips[3]]
    fast, small = times_at_most(1.1, ON_ALL_CORES), no_larger_than("gzip -9")
    marks = [fast, times_faster(30, "python to_gzip.py"), MEMORY]
    sparse = "How much smaller a file becomes that has much to be found in it: time and size are told, not judged."
    return [
        Row("gzip", "Into gzip, float32", SMALL, [ckpt, igzip, igzip1, *gzips, python], [small, *marks]),
        Row("gzip-bf16", "Into gzip, bfloat16", BF16, [ckpt, igzip, *smallest, python], [small, *marks]),
        Row("gzip-large", "Into gzip, a large file", LARGE, [ckpt, igzip], [fast, MEMORY]),
        Row("gzip-pruned", "Into gzip, pruned weights", PRUNED, [ckpt, igzip, *smallest, python], [MEMORY], sparse),
        Row("gzip-many", "Into gzip, very many tensors", MANY, [ckpt, igzip, gzips[-1]], [MEMORY_MANY], sparse),
    ]


def from_gzip_to_gzip():
    strip = Command("ckpt strip-prefix IN.pt.gz OUT.pt.gz", stripped)
    to_cpu = Command("ckpt convert IN.pt.gz OUT.pt.gz --to cpu", on_cpu)
    cp = Command("cp IN.pt.gz OUT.pt.gz", same, remark="changes nothing")
    both = Command("igzip -d -c IN.pt.gz | igzip -1 -c > OUT.pt.gz", same, remark="changes nothing")
    python = Command("python strip_prefix_gz.py IN.pt.gz OUT.pt.gz", stripped_on_cpu)
    like_cp = [times_at_most(1.2, "cp"), MEMORY]
    pipe = times_at_most(1.1, "igzip -d", called="igzip -d -c | igzip -1 -c")
    members = "Members that did not change are copied as they are."
    overlapped = "Python's one member has to be inflated and deflated; a pipe does both at a time."
    return [
        Row("regzip-strip", "Without `module.`, in gzip that ckpt wrote", LARGE_OURS, [strip, cp], like_cp, members),
        Row("regzip-to-cpu", "From the GPU to the CPU, in gzip that ckpt wrote", LARGE_OURS, [to_cpu, cp], like_cp, members),
        Row("regzip-python", "Without `module.`, in gzip by Python", SMALL_GZ, [strip, both, python], [pipe, MEMORY],
            overlapped),
        Row("regzip-python-large", "Without `module.`, in gzip by Python, a large file", LARGE_GZ, [strip, both],
            [pipe, MEMORY], overlapped),
    ]


def proving_gzip():
    verify = [
        Command("ckpt verify IN.pt.gz", checks.says(": ok")),
        Command("igzip -t IN.pt.gz", checks.succeeds, remark="the stream only"),
        Command("gzip -t IN.pt.gz", checks.succeeds, remark="the stream only"),
    ]
    return [Row("verify-gz", "Is the file in gzip whole?", SMALL_GZ, verify, [MEMORY])]


def rows():
    return [*inflating(), *deflating(), *from_gzip_to_gzip(), *proving_gzip()]
