"""Starting, and looking into a file."""

import checks
from files import File
from marks import seconds_at_most, times_at_most, times_faster
from row import Command, Row
from rows.common import CAT, HUGE, HUGE_OURS, LARGE, MANY, MEMORY, MEMORY_MANY, MODEL_GZ, SMALL

BY_INDEX = "A file that `ckpt` compressed carries an index, so that what is asked for is all that is inflated."


def looking():
    starting = [
        Command("ckpt --version", checks.says("ckpt")),
        Command('python -c "pass"', checks.succeeds),
        Command('python -c "import torch"', checks.succeeds),
    ]
    inspect = Command("ckpt inspect IN.pt", checks.lists)
    pair = [inspect, Command("python list_tensors.py IN.pt", checks.lists)]
    header = [
        Command("ckpt inspect IN.safetensors", checks.lists),
        Command("python list_safetensors.py IN.safetensors", checks.lists, remark="without torch"),
    ]
    at_once = [seconds_at_most(0.010), times_faster(200, "python list_tensors.py"), MEMORY]
    return [
        Row("start", "Starting, and doing nothing", SMALL, starting,
            [seconds_at_most(0.010), times_faster(200, 'python -c "import torch"')]),
        Row("inspect", "Listing the tensors of a model", SMALL, pair, at_once),
        Row("inspect-huge", "Listing the tensors of a model of 4 GiB", HUGE, pair, at_once),
        Row("inspect-safetensors", "Listing the tensors of a safetensors file", File("large", "safetensors"), header,
            [seconds_at_most(0.010), MEMORY]),
        Row("inspect-many", "Listing very many tensors", MANY, pair,
            [times_faster(15, "python list_tensors.py"), MEMORY_MANY]),
    ]


def looking_into_gzip():
    python_gz = [
        Command("ckpt inspect IN.pt.gz", checks.lists),
        Command("igzip -d -c IN.pt.gz > /dev/null", checks.succeeds, remark="inflates, and lists nothing"),
        Command("python list_tensors_gz.py IN.pt.gz", checks.lists),
    ]
    at_once = [seconds_at_most(0.030), MEMORY]
    digest = Command("ckpt digest IN.pt.gz --root TENSOR", checks.hashes_one)
    extract = Command("ckpt extract IN.pt.gz TENSOR -o OUT.npy", checks.extracts)
    title = "{} a gzip file of 4 GiB that ckpt wrote"
    return [
        Row("inspect-gz", "Listing the tensors of a model in gzip", MODEL_GZ, python_gz, [MEMORY]),
        Row("inspect-gz-ours", title.format("Listing the tensors of"), HUGE_OURS, python_gz[:2], at_once, BY_INDEX),
        Row("digest-gz-ours", title.format("A SHA-256 of one tensor of"), HUGE_OURS, [digest], at_once, BY_INDEX),
        Row("extract-gz-ours", title.format("One tensor out of"), HUGE_OURS, [extract], at_once, BY_INDEX),
    ]


def judging():
    """Would it be safe to load?"""
    scan = [
        Command("ckpt scan IN.pt", checks.says(": safe")),
        Command("python -m picklescan -p IN.pt", checks.clears, needs="picklescan"),
    ]
    return [
        Row("scan", "Is it safe to load?", LARGE, scan, [MEMORY]),
        Row("scan-many", "Are very many tensors safe to load?", MANY, scan, [MEMORY_MANY]),
    ]


def comparing():
    """Jobs that read every byte and write none."""
    stats = [
        Command("ckpt stats --json IN.pt", checks.describes),
        CAT,
        Command("python stats.py IN.pt", checks.describes),
    ]
    copy = File("large", "copy")
    diff = [
        Command("ckpt diff IN.pt AND.pt", checks.succeeds, other=copy),
        Command("cat IN.pt AND.pt > /dev/null", checks.succeeds, other=copy, remark="reads them"),
        Command("python diff.py IN.pt AND.pt", checks.says("equal"), other=copy),
    ]
    def marks(script):
        return [times_at_most(1.5, "cat"), times_faster(5, f"python {script}"), MEMORY]

    like_cat = "`cat` reads into a buffer and drops it: the least that a program must do that sees every byte."
    return [
        Row("stats", "Range, mean, norm and histogram of each tensor", LARGE, stats, marks("stats.py"), like_cat),
        Row("diff", "What do two files differ in?", LARGE, diff, marks("diff.py"), like_cat),
    ]


def rows():
    return [*looking(), *looking_into_gzip(), *judging(), *comparing()]
