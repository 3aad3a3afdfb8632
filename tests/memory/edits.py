"""Every operation on a checkpoint of PyTorch's with views, an optimizer's state and a prefix."""

# What one `convert` does.
EDITS = [
    *(["--dtype", dtype] for dtype in ("float64", "float8_e4m3fn")),
    ["--contiguous"],
    ["--compact"],
    ["--dedupe"],
    ["--weights-only"],
    ["--keep", "model.*", "--drop", "*.tied"],
    ["--to", "cuda:1", "--strip-prefix", "--add-prefix=net.", "--rename", "layer=block"],
    ["--strip-optimizer", "--to", "cpu", "--strip-prefix", "--rename", "layer=block", "--contiguous", "--compact", "--dedupe"]
    + ["--dtype", "bfloat16", "--dtype-except", "*.turned", "--gzip"],
]


def commands(path, other):
    """With the exit status of each. `other`: as the one, under other names."""
    out = path.with_name("out.pt")
    for words in EDITS:
        yield 0, ["convert", path, out, "--dry-run", *words]
    yield 0, ["average", path, path, out, "--dry-run"]
    yield 0, ["merge", path, other, out, "--dry-run"]
    yield 0, ["shard", path, path.with_name("shards"), "--weights-only", "--max-size", "500MB", "--dry-run"]
    yield 0, ["extract", path, "model.module.layer.turned", "-o", path.with_name("out.npy"), "--dry-run"]
    yield from answers(path, other)


def answers(path, other):
    yield 0, ["stats", path]
    yield 0, ["inspect", path, "--stats"]
    yield 0, ["diff", path, path]
    yield 1, ["diff", path, other]
    yield 0, ["check", path, "--like", path]
    yield 0, ["verify", path, "--finite"]


def try_all(measure, path, other):
    for status, words in commands(path, other):
        label = " ".join(word.name if hasattr(word, "name") else word for word in words)
        most = measure.run(label, *words, status=status)
        print(f"{label}: {most >> 20} MiB")
        measure.most = max(measure.most, most)
