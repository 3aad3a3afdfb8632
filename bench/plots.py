"""The plots of the page: what others take beside ckpt, and memory by the size of the file. A mark is one command."""

import math

from figures import mib, seconds
from svg import Drawing

MIB = 1 << 20
LIMIT = 64 * MIB
KINDS = {"python": "Python", "copy": "cp, cat", "tool": "igzip, pigz, gzip, sha256sum, openssl"}


def ckpt_beside(row, result):
    """What ckpt took in this row for the same file."""
    return next(other for other in row["commands"] if other["ours"] and other["file"] == result["file"])


def kind(result):
    program = result["command"].split()[0]
    return {"ckpt": "ckpt", "python": "python", "cp": "copy", "cat": "copy"}.get(program, "tool")


def of_memory(row):
    return row["name"].startswith("memory-")


def measured(row):
    return [result for result in row["commands"] if "median" in result]


def compares(row):
    """ckpt with somebody else."""
    return not of_memory(row) and len(measured(row)) > 1 and "median" in row["commands"][0]


class Scale:
    """Logarithmic."""

    def __init__(self, low, high, start, end):
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value):
        part = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + part * (self.end - self.start)

    def powers(self, base):
        first, last = math.log(self.low, base), math.log(self.high, base)
        return [base**i for i in range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)]


def overview(report):
    """A line a row: how many times ckpt's time each of the others takes."""
    rows = [row for row in report["rows"] if compares(row)]
    ratios = [r["median"] / ckpt_beside(row, r)["median"] for row in rows for r in measured(row)]
    top, step, left, right = 84, 22, 400, 960
    bottom = top + step * len(rows)
    drawing = Drawing(1000, bottom + 36, "What others take for the same job, in times of what ckpt takes")
    across = Scale(min([0.1, *ratios]), max([10, *ratios]) * 1.2, left, right)

    drawing.text(16, 26, drawing.title, "head")
    x = 16
    for name, words in {"ckpt": "ckpt", **KINDS}.items():
        drawing.mark(x + 6, 48, name, words)
        drawing.text(x + 18, 52, words)
        x += 40 + 7 * len(words)
    for power in across.powers(10):
        drawing.rule(across(power), top - 8, across(power), bottom)
        drawing.text(across(power), top - 14, f"{power:g} ×", "faint", "middle")
    drawing.text(across(1) - 8, bottom + 20, "← faster than ckpt", "faint", "end")
    drawing.text(across(1) + 8, bottom + 20, "slower than ckpt →", "faint")
    for i, row in enumerate(rows):
        y = top + step * (i + 0.5)
        drawing.text(left - 16, y + 4, row["title"].replace("`", ""), anchor="end")
        for result in measured(row):
            ratio = result["median"] / ckpt_beside(row, result)["median"]
            says = f"{result['command']}: {seconds(result['median'])}, {ratio:.2f} × ckpt"
            drawing.mark(across(ratio), y, kind(result), says)
    return drawing.text_of()


def curves(report):
    """[(label, kind, [(bytes of the file, result)…])…] of the rows about memory."""
    sizes = {file["name"]: 2 ** round(math.log2(file["bytes"])) for file in report["files"]}  # as it is without gzip
    found = []
    for row in filter(of_memory, report["rows"]):
        for program in dict.fromkeys(kind(result) for result in measured(row)):
            points = [(sizes[r["file"]], r) for r in measured(row) if kind(r) == program]
            label = row["title"].partition(": ")[2].replace("`", "")
            if program != "ckpt":
                label = points[0][1]["command"].replace(points[0][1]["file"], "IN.pt")
            found.append((label, program, sorted(points, key=lambda point: point[0])))
    return found


def whole(count):
    return f"{count >> 30} GiB" if count >= 1 << 30 else f"{count >> 20} MiB"


def apart(wanted, least):
    """The places of labels: each where it is wanted or below, `least` from the last."""
    places = []
    for y in wanted:
        places.append(max(y, places[-1] + least) if places else y)
    return places


def memory(report):
    """A line a command: its peak over the size of the file."""
    lines = curves(report)
    top, left, right, bottom = 60, 70, 560, 460
    drawing = Drawing(1000, 520, "Memory by the size of the file")
    drawing.text(16, 26, drawing.title, "head")
    if not lines:
        return drawing.text_of()
    sizes = [size for _, _, points in lines for size, _ in points]
    peaks = [result["peak"] for _, _, points in lines for _, result in points]
    across = Scale(min(sizes) * 0.8, max([*sizes, min(sizes) * 2]) * 1.2, left, right)
    up = Scale(min([2 * MIB, *peaks]), max([*peaks, LIMIT]) * 1.3, bottom, top)
    for power in up.powers(4):
        drawing.rule(left, up(power), right, up(power))
        drawing.text(left - 8, up(power) + 4, whole(power), "faint", "end")
    drawing.rule(left, up(LIMIT), right, up(LIMIT), "limit")
    drawing.text(left + 6, up(LIMIT) - 6, "64 MiB: the mark", "faint")
    for size in sorted(set(sizes)):
        drawing.text(across(size), bottom + 20, whole(size), "faint", "middle")
    drawing.text((left + right) / 2, bottom + 42, "size of the file", "faint", "middle")
    lines.sort(key=lambda line: -line[2][-1][1]["peak"])
    ends = [up(points[-1][1]["peak"]) for _, _, points in lines]
    least = min(17, (bottom - top) / len(lines))
    places = apart([y - max(0, len(lines) * least / 2) if i else y for i, y in enumerate(ends)], least)
    over = max(0, places[-1] - bottom)
    for (label, program, points), end, place in zip(lines, ends, places, strict=True):
        drawing.path([(across(size), up(result["peak"])) for size, result in points], f"line {program}")
        last = across(points[-1][0])
        drawing.path([(last + 6, end), (right + 14, place - over), (right + 20, place - over)], "leader")
        drawing.text(right + 24, place - over + 4, f"{mib(points[-1][1]['peak'])}  {label}", "faint")
        for size, result in points:
            says = f"{result['command']}: {mib(result['peak'])}"
            drawing.mark(across(size), up(result["peak"]), program, says, shape="python")
    return drawing.text_of()
