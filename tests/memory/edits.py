"""What `convert` does to a checkpoint of PyTorch's with views, an optimizer's state and a prefix."""

EDITS = [
    *(["--dtype", dtype] for dtype in ("float64", "float16", "float8_e4m3fn")),
    ["--contiguous"],
    ["--compact"],
    ["--dedupe"],
    ["--strip-optimizer"],
    ["--weights-only"],
    ["--keep", "model.*", "--drop", "*.tied"],
    ["--to", "cuda:1", "--strip-prefix", "--add-prefix=net.", "--rename", "layer=block"],
    ["--strip-optimizer", "--to", "cpu", "--strip-prefix", "--rename", "layer=block", "--contiguous", "--compact", "--dedupe"]
    + ["--dtype", "bfloat16", "--dtype-except", "*.turned", "--gzip"],
]


def try_all(measure, path):
    for words in EDITS:
        label = f"edits, {' '.join(words)}"
        most = measure.run(label, "convert", path, path.with_name("out.pt"), "--dry-run", *words)
        print(f"{label}: {most >> 20} MiB")
        measure.most = max(measure.most, most)
