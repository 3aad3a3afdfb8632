"""What a row has to reach: functions of the row's results that give what is asked, what was measured, and whether it is
kept. The first result of a row is the command that is judged.
"""

import os
from typing import NamedTuple

from figures import mib, seconds, size

BYTES_A_TENSOR = 600


class Judged(NamedTuple):
    asked: str
    measured: str
    kept: bool | None  # None where a peer that it needs was not there
    over: float | None = None  # what was measured, in units of what is asked: above 1 it is missed


def _not(asked):
    return Judged(asked, "not measured", None)


def _within(asked, measured, over):
    return Judged(asked, measured, over <= 1, over)


def _peer(results, name):
    """None also where ckpt itself was not measured, so that there is nothing to compare."""
    fitting = (r for r in results if f"{r['command']} ".startswith(f"{name} ") and "median" in r)
    return next(fitting, None) if "median" in results[0] else None


def seconds_at_most(limit):
    def judge(results):
        asked = f"at most {seconds(limit)}"
        if "median" not in results[0]:
            return _not(asked)
        median = results[0]["median"]
        return _within(asked, seconds(median), median / limit)

    return judge


def times_at_most(limit, name, called=""):
    """Of the time of the first command that begins with `name`; the page calls it `called`."""

    def judge(results):
        asked, peer = f"at most {limit} × `{called or name}`", _peer(results, name)
        if not peer:
            return _not(asked)
        ratio = results[0]["median"] / peer["median"]
        return _within(asked, f"{ratio:.2f} ×", ratio / limit)

    return judge


def as_fast_on_every_core(names, tolerance, cores=None):
    """As the fastest of `names`, which run on one core, would be on all of them; `tolerance` 0.1: within 10 %."""
    cores = cores or len(os.sched_getaffinity(0))

    def judge(results):
        these = ", ".join(f"`{name}`" for name in names)
        asked = f"as fast as the fastest of {these} on each of {cores} cores, within {tolerance * 100:.0f} %"
        peers = [peer for name in names if (peer := _peer(results, name))]
        if not peers:
            return _not(asked)
        ratio = results[0]["median"] * cores / min(peer["median"] for peer in peers)
        return _within(asked, f"{ratio:.2f} × that time", ratio / (1 + tolerance))

    return judge


def times_faster(factor, name):
    """By the time from start to end."""
    return _times_less(factor, name, "median", "faster")


def times_less_processor_time(factor, name):
    return _times_less(factor, name, "cpu", "less processor time")


def _times_less(factor, name, what, words):
    def judge(results):
        asked, peer = f"{factor} × {words} than `{name}`", _peer(results, name)
        if not peer:
            return _not(asked)
        ratio = peer[what] / results[0][what]
        return _within(asked, f"{ratio:.2f} ×", factor / ratio)

    return judge


def memory_at_most(limit, tensors=0):
    """MiB, and for each of many tensors what one may take."""

    def judge(results):
        asked = f"at most {limit} MiB of memory"
        most = limit << 20
        if tensors:
            asked += f" and {BYTES_A_TENSOR} bytes a tensor, {mib(most + tensors * BYTES_A_TENSOR)}"
            most += tensors * BYTES_A_TENSOR
        peak = max((r["peak"] for r in results if r["ours"] and "peak" in r), default=None)
        return _not(asked) if peak is None else _within(asked, mib(peak), peak / most)

    return judge


def memory_flat(limit):
    """Between the smallest and the largest file, this many MiB."""

    def judge(results):
        asked = f"memory that grows by at most {limit} MiB"
        peaks = [r["peak"] for r in results if r["ours"] and "peak" in r]
        if not peaks:
            return _not(asked)
        grown = max(peaks) - min(peaks)
        return _within(asked, mib(grown), grown / (limit << 20))

    return judge


def no_larger_than(name):
    def judge(results):
        asked, peer = f"no larger than by `{name}`", _peer(results, name)
        if not peer:
            return _not(asked)
        ours, theirs = results[0]["size"], peer["size"]
        return _within(asked, f"{size(ours)} against {size(theirs)}", ours / theirs)

    return judge
