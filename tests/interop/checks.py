"""How a file that ckpt wrote is compared with the one it was made from: by what PyTorch loads of each."""

import saving
from equal import differences
from saving import Failed

DANGEROUS = 4


class Checks:
    def __init__(self, suite, ckpt, folder):
        self.suite, self.ckpt, self.folder = suite, ckpt, folder
        self.count = 0

    def path(self, suffix=".pt"):
        self.count += 1
        return self.folder / f"{self.count}{suffix}"

    def run(self, name, *args, code=0):
        done = self.ckpt(*args)
        self.suite.check(f"{name}: exit {code}", done.code == code, done)
        return done

    def written(self, name, source, *options, suffix=None, code=0, command="convert"):
        """The file that the command makes of `source`; None where it does not end as expected."""
        out = self.path(suffix or ("".join(source.suffixes)))
        done = self.run(name, command, source, out, *options, code=code)
        if code:
            self.suite.check(f"{name}: no output", not out.exists(), done)
            return None
        return out if done.code == 0 else None

    def allowed(self, name, source):
        """--allow-unsafe, where inspect shows a dangerous name; checks that the file is refused without it."""
        shown = self.ckpt("inspect", "--json", source)
        if shown.code or not any(g["verdict"] == "dangerous" for g in shown.json["globals"]):
            return []
        self.written(f"{name}, no --allow-unsafe", source, code=DANGEROUS)
        return ["--allow-unsafe"]

    def alike(self, name, source, out, modes=None, **options):
        """Python loads `out` in each mode where it loads `source`, and finds it equal.

        What weights_only refuses of the source it may take of the output: ckpt writes no frames, say.
        """
        if out is None:
            return
        for mode in modes or self.modes(source, out):
            self.same_object(
                f"{name} ({words(mode)})",
                saving.load(source, **options, **mode),
                saving.load(out, **options, **mode),
                or_more=mode.get("weights_only", False),
            )

    def modes(self, source, out):
        modes = [{"weights_only": True}, {"weights_only": False}]
        if is_zip(source) and is_zip(out):
            modes.append({"weights_only": True, "mmap": True})
        return modes

    def same_object(self, name, expected, got, or_more=False):
        if or_more and isinstance(expected, Failed):
            return  # the output may be readable now; what it holds is seen without weights_only
        if isinstance(expected, Failed) or isinstance(got, Failed):
            self.suite.fail(f"{name}: both load", f"source: {expected!r:.120}\noutput: {got!r:.400}")
        else:
            found = differences(expected, got)
            self.suite.check(f"{name}: equal", not found, lambda: "\n".join(found))


def words(mode):
    return ", ".join(k if v is True else f"{k}={v}" for k, v in mode.items())


def is_zip(path):
    with open(path, "rb") as file:
        return file.read(2) == b"PK"
