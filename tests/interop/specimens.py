"""Classes that ckpt has never heard of, for objects to be of."""

import collections
import dataclasses
import enum

import torch


class Colour(enum.Enum):
    RED = 1
    BLUE = "b"


class Flag(enum.IntFlag):
    A = 1
    B = 2


@dataclasses.dataclass
class Config:
    width: int
    names: list
    inner: object = None


class Slotted:
    __slots__ = ("x", "y")

    def __init__(self, x=None, y=None):
        self.x, self.y = x, y


class Reduced:
    """Made by a call with arguments, then changed by a state."""

    def __init__(self, items):
        self.items = items

    def __reduce__(self):
        return Reduced, (self.items,), {k: v for k, v in self.__dict__.items() if k != "items"}


class KeywordOnly:
    """Protocol 4's NEWOBJ_EX; earlier, functools.partial."""

    def __new__(cls, *, size):
        self = super().__new__(cls)
        self.size = size
        return self

    def __getnewargs_ex__(self):
        return (), {"size": self.size}


class Plain:
    def __init__(self, *items):
        self.items = items


class Snapshot:
    """Copies what it is given, so that it keeps what that was at the time of the call."""

    def __init__(self, value):
        self.seen = list(value)


class Registered:
    """In copyreg's registry of extensions (hand.py)."""


class Outer:
    class Inner:
        pass


notes = []


def note(word):
    """A call with an effect elsewhere: it must still be made, once, though its result is thrown away."""
    notes.append(word)
    return word


class FancyList(list):
    pass


class FancyDict(dict):
    pass


class FancyInt(int):
    pass


class Sub(torch.Tensor):
    pass


Pair = collections.namedtuple("Pair", "left right")
