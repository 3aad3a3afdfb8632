"""What a row has to reach: functions of the row's results that give (what is asked, what was measured, whether kept).

Kept is None where a peer that it needs was not there. The first result of a row is the command that is judged.
"""

from figures import mib, seconds, size


def _peer(results, name):
    return next((r for r in results if r["command"].startswith(name) and "median" in r), None)


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


def memory_at_most(limit):
    def judge(results):
        peak = max(r["peak"] for r in results if r["ours"])
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
