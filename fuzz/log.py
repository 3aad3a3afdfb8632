"""What came of a run of a target, and the sums of all of them."""

import json
from dataclasses import dataclass, field


@dataclass
class Outcome:
    target: str
    executions: int = 0
    seconds: float = 0  # of the processor
    edges: int = 0
    reached: int = 0  # lines and branches of ckpt's own; counted where the run is logged
    new: int = 0  # of those, what this run has found
    countable: int = 0  # of those there are
    corpus: int = 0
    adopted: int | None = None  # files of other targets, by what is no run
    is_grown: bool = False  # it began with what earlier runs kept
    findings: list = field(default_factory=list)
    failure: str = ""

    def line(self):
        if self.adopted is not None:
            return f"{self.target:<13}{self.adopted:>9,} files of other targets adopted  {self.failure or f'{len(self.findings)} findings'}"
        rate = self.executions / self.seconds if self.seconds else 0
        text = f"{self.target:<13}{self.executions:>9,} executions {rate:>7,.0f}/s {self.edges:>7,} edges {self.corpus:>6,} files kept"
        text += f" {self.reached:>7,} lines and branches {self.new:>4,} new" if self.countable else ""
        return text + (f"  {self.failure}" if self.failure else f"  {len(self.findings)} findings")


class Log:
    """By target: executions, seconds of a processor, how many lines and branches of ckpt's own code were reached, and the last
    runs in which that was `flat`: in all of them, each `[seconds, found anew]`, no more than one in a thousand was new. What
    was lost when a corpus was made smaller, and is found again, is not new: no run has found more than it reached beyond all
    before. They are counted from nothing where more than one in a thousand of the code in the files that are reached is other,
    or the corpus is gone. (A program's edges are no measure: most of those that are found late are the standard library's, or
    copies of a line in what it is inlined into.)"""

    def __init__(self, path):
        self.path = path
        self.sums = json.loads(path.read_text()) if path and path.exists() else {}

    def add(self, outcome):
        sums = self.sums.setdefault(outcome.target, {"executions": 0, "seconds": 0})
        is_other = abs(sums.get("countable", 0) - outcome.countable) > outcome.countable / 1000
        if is_other or not outcome.is_grown:
            sums.update(countable=outcome.countable, reached=0, flat=[])
        new = min(outcome.new, max(0, outcome.reached - sums["reached"]))
        sums["executions"] += outcome.executions
        sums["seconds"] += round(outcome.seconds)
        sums["reached"] = max(sums["reached"], outcome.reached)
        sums["flat"].append([round(outcome.seconds), new])
        while sum(new for _, new in sums["flat"]) > sums["reached"] / 1000:
            del sums["flat"][0]
        self.path.write_text(json.dumps(self.sums, indent=1, sort_keys=True) + "\n")

    def has_had_enough(self, target):
        sums = self.sums.get(target, {})
        flat_seconds = sum(seconds for seconds, _ in sums.get("flat", []))
        return sums.get("executions", 0) >= 3_000_000 and flat_seconds >= 30 * 60
