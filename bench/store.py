"""The files that rows need, made when a row's turn comes and removed when no later one needs them: a RAM disk is small."""

import shutil

import forms
import test_sets
from files import File

GIB = 1 << 30
ROOM = 7 * GIB  # for sources, where this much is not taken by those of one row alone


def size(path):
    """Bytes; of a folder, those of its files."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size


def remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def order(rows):
    """Those with the largest files last, one form after the other, so that few of them are there at a time."""

    def huge(row):
        return sorted(file.form for file in row.files() if isinstance(file, File) and file.kind == "huge")

    return sorted(rows, key=huge)


class Store:
    def __init__(self, folder, ckpt, cache, quick):
        self.folder, self.ckpt, self.cache, self.quick = folder, ckpt, cache, quick
        self.there = {}  # file: its bytes
        self.seen = {}  # also those that are gone

    def need(self, wanted):
        new = {file for file in wanted if file not in self.there}
        if not new:
            return
        sets = {file for file in new if isinstance(file, test_sets.TestSet)}
        coming = sum(file.about(self.quick) for file in new - sets)
        if coming + sum(self.there.values()) > ROOM:
            self.keep_only(wanted | self.bare(wanted))
        forms.make(new - sets, self.folder, self.ckpt, self.cache, self.quick)
        test_sets.make(sets, self.folder, self.quick)
        for file in new:
            self.there[file] = self.seen[file] = size(self.folder / file.name)
        if sum(self.there.values()) > ROOM:
            self.keep_only(wanted)

    def bare(self, wanted):
        """What some of `wanted`, which are not there yet, are made of."""
        return {File(file.kind) for file in wanted if file not in self.there and forms.from_bare(file)}

    def keep_only(self, wanted):
        for file in [file for file in self.there if file not in wanted]:
            remove(self.folder / file.name)
            if isinstance(file, test_sets.TestSet):
                shutil.rmtree(self.folder / test_sets.folder(self.folder / file.name))
            del self.there[file]

    def described(self):
        names = sorted(self.seen, key=lambda file: file.name)
        return [{"name": file.name, "what": file.what, "bytes": self.seen[file]} for file in names]
