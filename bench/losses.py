"""Where ckpt misses a mark or a peer beats it, in words."""

import reasons
from figures import mib, seconds, size
from plots import ckpt_beside

FASTER, SMALLER = 1.03, 1.001  # by less than this, a peer is not called so


def losses(report):
    for row in report["rows"]:
        yield from missed(row)
        for peer in row["commands"]:
            if not peer["ours"] and "missing" not in peer and "missing" not in ckpt_beside(row, peer):
                yield from beaten(row["title"], ckpt_beside(row, peer), peer)
    yield from memory_beaten(report)


def missed(row):
    """Its marks that are missed, by how much, and once for all of them what stands in the way."""
    lines = []
    for mark in row["marks"]:
        if mark["kept"] is False:
            line = f"{row['title']}: the mark is {mark['asked']}, and {mark['measured']} was measured"
            lines.append(line + (f": {beyond(mark['over'])}." if "over" in mark else "."))
    if lines and (why := reasons.WHY.get(row.get("name"))):
        lines[-1] += f" What stands in the way: {why}"
    return lines


def beyond(over):
    """1.07 is 7 % beyond the mark, 3 is three times it."""
    if over < 1.005:
        return "missed by less than 1 %"
    return f"missed by {(over - 1) * 100:.0f} %" if over < 2 else f"missed {over:.1f} times over"


def beaten(title, ckpt, peer):
    does = f" ({peer['remark']})" if peer["remark"] else ""
    times = f"{seconds(peer['median'])} against {seconds(ckpt['median'])}"
    if peer["median"] * FASTER < ckpt["median"]:
        yield f"{title}: `{peer['command']}`{does} is faster, {times}."
    elif peer.get("without_import", ckpt["median"]) * FASTER < ckpt["median"]:
        times = f"{seconds(peer['without_import'])} against {seconds(ckpt['median'])}"
        yield f"{title}: `{peer['command']}`{does} is faster where torch is imported already, {times}."
    if peer["command"].endswith("OUT.pt.gz") and peer["size"] * SMALLER < ckpt["size"]:
        sizes = f"{size(peer['size'])} against {size(ckpt['size'])}"
        yield f"{title}: `{peer['command']}` makes a smaller file, {sizes}, in {times}."


def memory_beaten(report):
    measured = [result for row in report["rows"] for result in row["commands"] if "missing" not in result]
    ours = [result["peak"] for result in measured if result["ours"]]
    peaks = {}
    for result in measured:
        if not result["ours"]:
            peaks.setdefault(result["command"].split()[0], []).append(result["peak"])
    less = {name: of for name, of in peaks.items() if max(of) < min(ours)}
    if less:
        names, most = ", ".join(f"`{name}`" for name in less), max(map(max, less.values()))
        span = f"{mib(min(ours))} to {mib(max(ours))}"
        yield f"Memory: {names} take less, at most {mib(most)}, where ckpt takes {span}."
