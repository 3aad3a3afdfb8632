"""What a row of the table is made of: see rows/.

A command is written as the page shows it. IN.pt, IN/ … is the row's file or folder, AND.pt a second file, TENSOR the name
of a tensor near IN's end, DATA the folder of IN's test set, OUT.pt, OUT/ … what is made, `> OUT.pt` takes the standard
output, `|` is a pipe, and `python X.py` is a script in peers/, started as anybody would start it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from files import File
from test_sets import TestSet


@dataclass
class Command:
    line: str
    check: Callable  # see checks.py
    file: File | TestSet = None  # where it is not the row's
    remark: str = ""  # what it does not do of the row's job
    other: File = None  # the file AND
    needs: str = ""  # a package of bench/requirements.txt

    @property
    def ours(self):
        return self.line.startswith("ckpt ")


@dataclass
class Row:
    name: str
    title: str
    file: File | TestSet
    commands: list
    marks: list = field(default_factory=list)  # see marks.py
    note: str = ""  # what a reader should know of it
    rounds: int = 0  # at most; 0: as many as are asked for

    def files(self):
        return {file for command in self.commands for file in (command.file or self.file, command.other) if file}
