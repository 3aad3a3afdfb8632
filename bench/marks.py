"""What a row has to reach: functions of the row's results that give (what is asked, what was measured, whether kept).

Kept is None where a peer that it needs was not there. The first result of a row is the command that is judged.
"""

from figures import mib, seconds, size


def _peer(results, name):
    """None also where ckpt itself was not measured, so that there is nothing to compare."""
    return next((r for r in results if r["command"].startswith(name) and "median" in r and "median" in results[0]), None)


def seconds_at_most(limit):
    def judge(results):
        median = results[0]["median"]
        return f"at most {seconds(limit)}", seconds(median), median <= limit

    return judge


def times_at_most(limit, name):
    def judge(results):
        asked, peer = f"at most {limit} × `{name}`", _peer(results, name)
        if not peer:
            return asked, "not measured", None
        ratio = results[0]["median"] / peer["median"]
        return asked, f"{ratio:.2f} ×", ratio <= limit

    return judge


def times_faster(factor, name):
    """By the time from start to end."""
    return _times_less(factor, name, "median", "faster")


def times_less_processor_time(factor, name):
    return _times_less(factor, name, "cpu", "less processor time")


def _times_less(factor, name, what, words):
    def judge(results):
        asked, peer = f"{factor} × {words} than `{name}`", _peer(results, name + " ")
        if not peer:
            return asked, "not measured", None
        ratio = peer[what] / results[0][what]
        return asked, f"{ratio:.2f} ×", ratio >= factor

    return judge


def memory_at_most(limit):
    def judge(results):
        peak = max((r["peak"] for r in results if r["ours"] and "peak" in r), default=None)
        if peak is None:
            return f"at most {limit} MiB of memory", "not measured", None
        return f"at most {limit} MiB of memory", mib(peak), peak <= limit << 20

    return judge


def memory_flat(limit):
    """Between the smallest and the largest file, this many MiB."""

    def judge(results):
        peaks = [r["peak"] for r in results if r["ours"]]
        grown = max(peaks) - min(peaks)
        return f"memory that grows by at most {limit} MiB", mib(grown), grown <= limit << 20

    return judge


def no_larger_than(name):
    def judge(results):
        asked, peer = f"no larger than by `{name}`", _peer(results, name)
        if not peer:
            return asked, "not measured", None
        ours, theirs = results[0]["size"], peer["size"]
        return asked, f"{size(ours)} against {size(theirs)}", ours <= theirs

    return judge
