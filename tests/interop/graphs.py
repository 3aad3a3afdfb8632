"""Random object graphs of everything that the standard pickler can say, from a seed. Also the classes in them."""

import collections
import datetime
import decimal
import enum
import fractions
import math
import struct


class Plain:
    def __init__(self, tag):
        self.tag = tag


class Slotted:
    __slots__ = ("tag", "other")

    def __init__(self, tag, other):
        self.tag, self.other = tag, other


class SlotsAndDict(Slotted):
    pass


class Stateful:
    def __init__(self, tag, state):
        self.tag, self.state = tag, state

    def __getstate__(self):
        return (self.tag, self.state)

    def __setstate__(self, state):
        self.tag, self.state = state


class Reduced:
    def __init__(self, tag, *args):
        self.tag, self.args = tag, args

    def __reduce__(self):
        return Reduced, (self.tag, *self.args)


class Listed(list):
    tag = "listed"
    __hash__ = object.__hash__


class Mapped(dict):
    tag = "mapped"
    __hash__ = object.__hash__


class Whole:
    """__reduce_ex__ with state, list items and dict items."""

    def __init__(self, tag):
        self.tag, self.items, self.pairs, self.extra = tag, [], [], None

    def append(self, item):
        self.items.append(item)

    def __setitem__(self, key, value):
        self.pairs.append((key, value))

    def __setstate__(self, state):
        self.extra = state

    def __reduce_ex__(self, protocol):
        return Whole, (self.tag,), self.extra, iter(self.items), iter(self.pairs)


class Setter:
    """__reduce__ with a function of its own for the state: the sixth of the tuple."""

    def __init__(self, tag):
        self.tag, self.state = tag, None

    def __reduce__(self):
        return Setter, (self.tag,), self.state, None, None, set_state


def set_state(obj, state):
    obj.state = state


class NewArgs:
    def __new__(cls, tag, *args):
        self = object.__new__(cls)
        self.tag, self.made_with = tag, args
        return self

    def __getnewargs__(self):
        return (self.tag, *self.made_with)


class NewKeywords:
    def __new__(cls, *, tag, size):
        self = object.__new__(cls)
        self.tag, self.size = tag, size
        return self

    def __getnewargs_ex__(self):
        return (), {"tag": self.tag, "size": self.size}


class Hashed:
    """Its hash needs its state: it must have that before it goes into a set or becomes a key."""

    def __init__(self, tag):
        self.tag = tag

    def __hash__(self):
        return hash(self.tag)

    def __eq__(self, other):
        return type(other) is Hashed and self.tag == other.tag


class IntLike(int):
    pass


class StrLike(str):
    pass


class Color(enum.Enum):
    red, green = 1, "g"


class Flags(enum.IntFlag):
    a, b = 1, 2


class Outer:
    class Inner(Plain):
        pass

    def method(self):
        pass


Point = collections.namedtuple("Point", "x y")

INTEGERS = [0, 1, -1, 2, 127, 128, 255, 256, -128, -129, 65535, 65536, 2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**32, 2**63 - 1, 2**63, -2**63,
            -2**63 - 1, 2**64, 10**100, -10**100, 10**1000, 1 - 10**1000, 2**2032, -2**2039, 2**2039]
REALS = [0.0, -0.0, 1.0, -1.5, 0.1, 1e16, 1e15, 123456789012345680.0, 1e-4, 1e-5, 1e22, 1e300, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
         math.inf, -math.inf, math.nan, 100000.0, 3.141592653589793, 1 / 3]
PAYLOAD = struct.unpack(">d", bytes.fromhex("7ff80000deadbeef"))[0]
STRINGS = ["", "a", "weight", "line\nbreak", "nul\0", "quote'\"", "back\\slash", "\\u0041", "\\\\u0041\\", "\r\x1a\t", "\xfc\xff\x80", "\u20ac", "\ud800",
           "\udfff\ud83d", "\U0001f600", "\U0010ffff", "x" * 255, "x" * 256, "\xfc" * 128, "module.fc1.weight"]
BYTES = [b"", b"\0", b"ab", b"\xff\x80\n'\\", bytes(range(256)), b"x" * 255, b"y" * 256]


# What CPython's pickler says with a call whose result is dropped; ckpt keeps the call, at another place.
DROPPING = ["setter", "recursive_reduce"]


class Graph:
    """One graph; values made before come back at other places, and containers get members that hold them."""

    def __init__(self, random, protocol_floor=0, size=30, dropping=True):
        self.random, self.floor, self.left = random, protocol_floor, size
        self.makers = MAKERS + ["holder"] * (dropping or protocol_floor >= 4) + DROPPING * dropping
        self.subclasses = dropping or protocol_floor >= 2
        self.made, self.count = [], 0

    def tag(self):
        self.count += 1
        return f"t{self.count}"

    def atom(self):
        r = self.random
        kind = r.randrange(8)
        if kind == 0:
            return r.choice(INTEGERS) + r.choice((0, 0, 0, 1, -1))
        if kind == 1:
            return r.choice(REALS + [PAYLOAD] * (self.floor > 0))
        if kind == 2:
            return r.choice(BYTES)
        if kind == 3:
            return r.choice((True, False, None))
        if kind == 4:
            return r.choice((Color.red, Flags.a, Flags.a | Flags.b, complex(1, -0.0), range(3), range(1, 10, 2), Ellipsis, Plain, len, int,
                             datetime.datetime(2020, 1, 2, 3, 4, 5, 6), datetime.timedelta(3, 4), decimal.Decimal("1.50"),
                             fractions.Fraction(1, 3), datetime.date(1999, 12, 31), NotImplemented, type(None)))
        if kind == 5:
            return r.choice((bytearray(b""), bytearray(b"ab"), bytearray(range(256))))
        return r.choice(STRINGS)

    def key(self):
        r = self.random
        kind = r.randrange(7)
        if kind == 0:
            return Hashed(self.tag())
        if kind == 1:
            return (self.tag(), r.choice(INTEGERS))
        if kind == 2:
            return r.choice(INTEGERS)
        if kind == 3:
            return self.keep(Plain(self.tag()))
        if kind == 4:
            return frozenset((self.tag(), 1))
        return r.choice(STRINGS)

    def keep(self, obj):
        self.made.append(obj)
        return obj

    def some(self, depth, most=4):
        return [self.value(depth + 1) for _ in range(self.random.randrange(most))]

    def value(self, depth=0):
        r = self.random
        self.left -= 1
        if self.made and r.random() < 0.2:
            return r.choice(self.made)
        if depth > 6 or self.left < 0 or r.random() < 0.3:
            return self.atom()
        return getattr(self, r.choice(self.makers))(depth)

    def list_(self, depth):
        made = self.keep(Listed() if self.subclasses and self.random.random() < 0.1 else [])
        made.extend(self.some(depth))
        return made

    def tuple_(self, depth):
        return self.keep(tuple(self.some(depth, 6)))

    def dict_(self, depth):
        made = self.keep(self.random.choice((dict, dict, collections.OrderedDict) + (Mapped,) * self.subclasses)())
        for value in self.some(depth):
            made[self.key()] = value
        return made

    def other_mapping(self, depth):
        made = self.keep(self.random.choice((collections.Counter(), collections.defaultdict(list))))
        for number, _ in enumerate(range(self.random.randrange(3))):
            made[self.key()] = number if isinstance(made, collections.Counter) else [number]
        return made

    def set_(self, depth):
        return self.keep(self.random.choice((set, frozenset))(self.key() for _ in range(self.random.randrange(4))))

    def holder(self, depth):
        """A set that holds an object whose state holds the set."""
        member = self.keep(Plain(self.tag()))
        member.group = self.random.choice((set, frozenset))((member, 1))
        return self.random.choice((member, member.group))

    def deque_(self, depth):
        made = self.keep(collections.deque(maxlen=self.random.choice((None, 3))))
        made.extend(self.some(depth))
        return made

    def plain(self, depth):
        made = self.keep(self.random.choice((Plain, Outer.Inner) if self.floor >= 4 else (Plain,))(self.tag()))
        for number, value in enumerate(self.some(depth)):
            setattr(made, f"field{number}", value)
        return made

    def slotted(self, depth):
        made = self.keep(self.random.choice((SlotsAndDict, Slotted) if self.floor >= 2 else (Plain,))(self.tag(), *([None] if self.floor >= 2 else [])))
        made.other = self.value(depth + 1)
        return made

    def stateful(self, depth):
        made = self.keep(Stateful(self.tag(), None))
        made.state = self.some(depth)
        return made

    def reduced(self, depth):
        return self.keep(Reduced(self.tag(), *self.some(depth)))

    def whole(self, depth):
        made = self.keep(Whole(self.tag()))
        for item in self.some(depth):
            made.append(item)
        for item in self.some(depth):
            made[self.key()] = item
        made.extra = self.value(depth + 1)
        return made

    def setter(self, depth):
        made = self.keep(Setter(self.tag()))
        made.state = self.value(depth + 1)
        return made

    def new_args(self, depth):
        made = self.keep(NewArgs(self.tag(), *self.some(depth)) if self.floor >= 2 else Reduced(self.tag()))
        made.field = self.value(depth + 1)
        return made

    def new_keywords(self, depth):
        made = self.keep(NewKeywords(tag=self.tag(), size=self.atom()) if self.floor >= 2 else Reduced(self.tag()))
        made.field = self.value(depth + 1)
        return made

    def scalar_class(self, depth):
        return self.keep(self.random.choice((IntLike(7), StrLike("s"), Point(1, self.value(depth + 1)), slice(1, 2))))

    def recursive_tuple(self, depth):
        inner = []
        made = self.keep((inner, *self.some(depth, 3)))
        inner.append(made)
        return made

    def recursive_reduce(self, depth):
        inner = []
        made = self.keep(Reduced(self.tag(), inner))
        inner.append(made)
        return made


MAKERS = ["list_", "list_", "tuple_", "tuple_", "dict_", "dict_", "other_mapping", "set_", "deque_", "plain", "plain", "slotted", "stateful",
          "reduced", "whole", "new_args", "new_keywords", "scalar_class", "recursive_tuple"]


def many(random, count, floor, size=30, dropping=True):
    """`count` graphs, each on its own, and some objects shared between them."""
    first = Graph(random, floor, size, dropping)
    graphs = []
    for _ in range(count):
        graph = Graph(random, floor, size, dropping)
        graph.made = [obj for obj in first.made[-3:]]
        graphs.append(graph.value())
        first = graph
    return graphs
