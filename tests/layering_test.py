#!/usr/bin/env python3
"""Who may include whom, read from the #include lines: tools -> formats -> lib, inside lib ops -> model -> io, and
eval -> formats -> lib; who may see libtorch, CUDA and the command line.

Also how long files are. Each rule is tried first on a line that breaks it, so that a rule which finds nothing means
something. `tests/layering_test.py [ROOT]`.
"""

import re
import statistics
import sys
from pathlib import Path

import harness

# Which layer of lib a public header belongs to.
PUBLIC = {
    "io": "byte_sink byte_source cores error export file_sink folder_sink gzip hidden limits signals utf8 version",
    "model": "checkpoint device dtype modules quantizer shape state_dict storage tensor value",
    "ops": "average check diff extract glob merge ops stats tensor_ops tensor_reader",
}
LAYER_OF = {f"ckpt/{name}.h": layer for layer, names in PUBLIC.items() for name in names.split()}
LIBCKPT = {"io", "model", "ops", "formats"}
PLAIN = {"eval api", "datasets", "metrics", "report"}  # of eval: what needs no libtorch
BELOW = {
    "io": {"io"},
    "model": {"io", "model"},
    "ops": {"io", "model", "ops"},
    "formats": LIBCKPT,
    "console": LIBCKPT | {"console"},
    "tools": LIBCKPT | {"console", "devices", "tools"},
    "devices": {"io", "devices"},
    "eval api": LIBCKPT | {"eval api"},
    "datasets": LIBCKPT | {"eval api", "datasets"},
    "metrics": LIBCKPT | {"eval api", "datasets", "metrics"},
    "report": LIBCKPT | PLAIN | {"console"},
    "threads": {"io", "threads"},
    "distributed": {"io", "eval api", "threads", "distributed"},
    "bridge": LIBCKPT | {"eval api", "bridge"},
    "models": LIBCKPT | {"eval api", "bridge", "models"},
    "kernels": {"kernels"},
    "runner": LIBCKPT | {"eval api", "datasets", "bridge", "models", "kernels", "threads", "runner"},
    "eval": LIBCKPT | PLAIN | {"devices", "distributed", "bridge", "models", "runner", "eval"},
    "program": LIBCKPT | PLAIN | {"console", "eval", "program"},
}
# Folders of formats/ that others may include, and what each of them may include.
SHARED_FORMATS = {"container": set(), "pickle": set(), "pickled_tensors": {"container", "pickle"}, "named_tensors": {"container"}}
HEAVY = {
    re.compile(r"^(torch|ATen|c10|caffe2)/"): {"eval api", "distributed", "bridge", "models", "runner", "eval"},
    re.compile(r"^(cuda|cublas|cudnn|nccl)"): {"kernels"},
    re.compile(r"^CLI/"): {"console"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
LONGEST = 400
MEDIAN = 150


class Tree:
    """The sources, as a map from path to text, and where an included name leads."""

    def __init__(self, files):
        self.files = files
        self.includes = [(path, name) for path, text in files.items() for name in INCLUDE.findall(text)]

    def layer(self, path):
        """A key of BELOW; empty for what is no part of the suite."""
        parts = path.split("/")
        if parts[0] == "lib":
            return LAYER_OF.get("/".join(parts[2:]), "?") if parts[1] == "include" else parts[1]
        if parts[0] == "eval":
            return "eval api" if parts[1] == "include" else parts[1] if len(parts) > 2 else "eval"
        if parts[:2] == ["tools", "console"]:
            return "console"
        return parts[0] if parts[0] in ("formats", "tools") else ""

    def find(self, path, name):
        """The file of this repository that `name`, included by `path`, means; None for others' headers."""
        for folder in (path.rsplit("/", 1)[0], "lib/include", "lib", "formats/include", "formats", "eval/include", "eval", "tools"):
            if f"{folder}/{name}" in self.files:
                return f"{folder}/{name}"
        return None

    def inner(self):
        """Every include of a file of ours, as (path, target)."""
        for path, name in self.includes:
            target = self.find(path, name)
            if target and self.layer(path):
                yield path, target


def public_headers_have_a_layer(tree):
    for path in tree.files:
        if tree.layer(path) == "?":
            yield f"{path}: say in tests/layering_test.py which layer it belongs to"


def nothing_includes_upward(tree):
    for path, target in tree.inner():
        if tree.layer(target) not in BELOW.get(tree.layer(path), set()):
            yield f"{path} ({tree.layer(path)}) includes {target} ({tree.layer(target)})"


def tools_and_eval_use_only_public_headers(tree):
    for path, target in tree.inner():
        if re.match("tools/|eval/", path) and not re.match(r"tools/|eval/|(lib|formats)/include/", target):
            yield f"{path} includes {target}, which is not public"


def public_headers_include_only_public_ones(tree):
    for path, target in tree.inner():
        if "/include/" in path and "/include/" not in target:
            yield f"{path} includes {target}, which is not installed"


def formats_do_not_include_each_other(tree):
    for path, target in tree.inner():
        here, there = (re.match(r"formats/(\w+)/", name) for name in (path, target))
        if here and there and here[1] != there[1] and "include" not in (here[1], there[1]):
            if there[1] not in SHARED_FORMATS.get(here[1], SHARED_FORMATS):
                yield f"{path} includes {target}, another format's"


def torch_cuda_and_the_command_line_stay_in_their_places(tree):
    for path, name in tree.includes:
        for heavy, places in HEAVY.items():
            if heavy.match(name) and tree.layer(path) not in places | {""}:
                yield f"{path} includes {name}"


def json_stays_out_of_headers(tree):
    for path, name in tree.includes:
        if name.startswith("nlohmann/") and not path.endswith(".cpp"):
            yield f"{path} includes {name}"


def files_are_short(tree):
    for path, text in tree.files.items():
        lines = text.splitlines()
        if len(lines) > LONGEST and not re.search(r"\btable\b", "\n".join(lines[:10]), re.IGNORECASE):
            yield f"{path} has {len(lines)} lines; at most {LONGEST}, but for a table that says so at its top"


def the_median_file_is_short(tree):
    median = statistics.median(len(text.splitlines()) for text in tree.files.values()) if tree.files else 0
    if median > MEDIAN:
        yield f"the median file has {median} lines; {MEDIAN} is the aim"


# Each rule, and files that break it.
RULES = {
    public_headers_have_a_layer: {"lib/include/ckpt/new.h": ""},
    nothing_includes_upward: {"lib/io/a.cpp": '#include "ckpt/tensor.h"\n', "lib/include/ckpt/tensor.h": ""},
    tools_and_eval_use_only_public_headers: {"tools/a.cpp": '#include "io/bytes.h"\n', "lib/io/bytes.h": ""},
    public_headers_include_only_public_ones: {"lib/include/ckpt/gzip.h": '#include "io/bytes.h"', "lib/io/bytes.h": ""},
    formats_do_not_include_each_other: {"formats/npz/a.cpp": '#include "torch_zip/b.h"', "formats/torch_zip/b.h": ""},
    torch_cuda_and_the_command_line_stay_in_their_places: {"formats/npz/a.cpp": "#include <ATen/ATen.h>\n"},
    json_stays_out_of_headers: {"tools/a.h": "# include <nlohmann/json.hpp>\n"},
    files_are_short: {"lib/io/a.cpp": "\n" * (LONGEST + 1)},
    the_median_file_is_short: {"lib/io/a.cpp": "\n" * (MEDIAN + 1)},
}


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    files = {str(path.relative_to(root)): path.read_text(encoding="utf-8")
             for folder in ("lib", "formats", "eval", "tools") for path in sorted((root / folder).rglob("*"))
             if path.suffix in (".h", ".cpp")}
    suite = harness.Suite()
    for rule, broken in RULES.items():
        findings = list(rule(Tree(files))) if files else [f"no sources in {root}"]
        if not list(rule(Tree(broken))):
            findings.append("the rule does not see what breaks it")
        suite.check(rule.__name__, not findings, "\n".join(findings))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
