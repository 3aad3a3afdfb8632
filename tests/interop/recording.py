"""An oracle for what a pickle does: loads it with classes that only write down what happens to them.

No name of the pickle is ever imported. Two pickles that say the same give the same log (each call and each change, in
order, with what its arguments held at that moment) and the same graph, identity included.
"""

import _compat_pickle
import io
import pickle
import struct
from functools import partial


class Effect:
    """A method that tells the recorder; on a class it acts on the class itself."""

    def __init__(self, name):
        self.name = name

    def __get__(self, obj, cls):
        target = cls if obj is None else obj
        return partial(cls.recorder.effect, self.name, target)


class Named(type):
    """The class that stands for a global. Calling it is an event, not a construction."""

    def __call__(cls, *args, **kwargs):
        return cls.recorder.make(cls, "call", cls, args, kwargs)

    def __repr__(cls):
        return cls.label


class Made:
    """What a call, a __new__ or a persistent id gives."""

    def __new__(cls, *args, **kwargs):
        return cls.recorder.make(cls, "new", cls, args, kwargs)

    def __call__(self, *args, **kwargs):
        return self.recorder.make(type(self), "call result", self, args, kwargs)

    def __setitem__(self, key, value):
        self.recorder.effect("item", self, key, value)

    __setstate__, append, add = Effect("state"), Effect("append"), Effect("add")


def newobj(cls, *args):
    return cls.__new__(cls, *args)


def newobj_ex(cls, args, kwargs):
    return cls.__new__(cls, *args, **kwargs)


def encode(text, codec):
    if codec not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError("another codec")
    return text.encode("latin1")


# What protocols before 4 (3, 5) write in place of an opcode. These are real, so that both spellings give the same.
LOWERED = {("copyreg", "__newobj__"): newobj, ("copyreg", "__newobj_ex__"): newobj_ex, ("_codecs", "encode"): encode,
           ("builtins", "set"): set, ("builtins", "frozenset"): frozenset, ("builtins", "bytearray"): bytearray}


class Recorder(pickle.Unpickler):
    def __init__(self, data, **options):
        super().__init__(io.BytesIO(data), **options)
        self.protocol = data[1] if data[:1] == b"\x80" else 0
        self.log, self.named, self.serials = [], {}, {}

    def find_class(self, module, name):
        if self.protocol < 3:
            module, name = (_compat_pickle.NAME_MAPPING.get((module, name)) or
                            (_compat_pickle.IMPORT_MAPPING.get(module, module), name))
        if (module, name) in LOWERED:
            return LOWERED[module, name]
        if (module, name) not in self.named:
            members = {"recorder": self, "label": f"{module}:{name}"}
            self.named[module, name] = Named("Recorded", (Made,), members)
        return self.named[module, name]

    def persistent_load(self, pid):
        cls = self.find_class("", "persistent")
        return self.make(cls, "persistent", cls, (pid,), {})

    def make(self, cls, how, callee, args, kwargs):
        made = object.__new__(cls)
        self.log.append((how, self.picture([callee, args, kwargs])))
        made.history = []
        self.serials[id(made)] = len(self.log), made
        return made

    def effect(self, name, target, *operands):
        self.log.append((name, self.picture([target, operands])))
        if isinstance(target, Made):
            target.history.append((name, operands))

    def picture(self, obj):
        """The graph below `obj` as flat text: structure, order, identity."""
        return Picture(self.serials).of(obj)


class Picture:
    def __init__(self, serials=None):
        self.serials = serials or {}
        self.seen = {}
        self.parts = []

    def of(self, obj):
        todo = [obj]  # a list, not recursion: graphs may be deep
        while todo:
            item = todo.pop()
            if isinstance(item, Punctuation):
                self.parts.append(item)
            else:
                todo += reversed(self.expand(item))
        return "".join(self.parts)

    def expand(self, obj):
        kind = type(obj)
        if obj is None or kind in (bool, int, str, range, complex) or isinstance(obj, Named):
            return [Punctuation(f"{kind.__name__}({obj!r})" if kind is not int else f"int({obj:x})")]
        if kind is float:
            return [Punctuation(f"float({struct.pack('>d', obj).hex()})")]
        if kind is bytes and len(obj) < 2 or kind is tuple and not obj:
            return [Punctuation(repr(obj))]
        number = self.seen.get(id(obj))
        if number is not None:
            return [Punctuation(f"#{number[0]}")]
        self.seen[id(obj)] = len(self.seen), obj
        name, children = self.contents(obj, kind)
        ends = [Punctuation(f"{name}<"), Punctuation(">")]
        return [ends[0]] + [c for child in children for c in (child, Punctuation(","))] + [ends[1]]

    def contents(self, obj, kind):
        if kind in (bytes, bytearray):
            return f"{kind.__name__} {obj.hex()}", []
        if kind in (list, tuple):
            return kind.__name__, list(obj)
        if kind is dict:
            return "dict", [x for pair in obj.items() for x in pair]
        if kind in (set, frozenset):
            return kind.__name__, sorted(obj, key=self.order)
        if isinstance(obj, Made):
            return f"made {self.serials[id(obj)][0]}", [x for name, operands in obj.history for x in (name, *operands)]
        if isinstance(obj, type) or callable(obj) and hasattr(obj, "__qualname__"):
            return f"{obj.__module__}.{obj.__qualname__}", []
        return self.reduced(obj)

    def reduced(self, obj):
        """An object of a real class, by what it would be pickled as."""
        value = obj.__reduce_ex__(4)
        if isinstance(value, str):
            return f"global {value}", []
        function, args, state, items, pairs = (*value, None, None, None)[:5]
        return f"object {type(obj).__qualname__}", [
            getattr(function, "__qualname__", repr(function)), list(args), state,
            list(items) if items is not None else None, [list(p) for p in pairs] if pairs is not None else None]

    def order(self, obj):
        """The same for members of equal sets, whatever their addresses."""
        if id(obj) in self.serials:
            return f"made {self.serials[id(obj)][0]:09}"
        if isinstance(obj, (tuple, frozenset)):
            return f"{type(obj)} {sorted(map(self.order, obj)) if isinstance(obj, frozenset) else [self.order(o) for o in obj]}"
        text = getattr(obj, "tag", obj)
        return f"{type(obj)} {text!r}"


class Punctuation(str):
    """Finished text among what is still to be pictured."""


class Refused:
    def __init__(self, error):
        self.error = error

    def __repr__(self):
        return f"refused: {type(self.error).__name__}: {str(self.error)[:200]}"


def record(data, **options):
    """(log, picture of the root); a Refused where Python cannot load it."""
    recorder = Recorder(data, **options)
    try:
        root = recorder.load()
        return recorder.log, recorder.picture(root)
    except Exception as error:  # whatever a broken pickle makes Python raise
        return Refused(error)


def load(data, **options):
    """A picture of what the pickle's real classes give. Only for pickles made here."""
    return Picture().of(pickle.loads(data, **options))


def difference(expected, got, only_events=False):
    """Where two results of record() part, for a person to read; None where they are equal. `only_events` leaves out what
    the events' operands held."""
    if isinstance(expected, Refused) or isinstance(got, Refused):
        return f"source: {expected!r:.300}\noutput: {got!r:.300}"
    if only_events:
        expected, got = ((sorted((name,) for name, _ in log), root) for log, root in (expected, got))
    for at, (a, b) in enumerate(zip(expected[0], got[0])):
        if a != b:
            return f"event {at}:\n  source: {part(a, b)}\n  output: {part(b, a)}"
    if len(expected[0]) != len(got[0]):
        longer = max(expected[0], got[0], key=len)
        return f"{len(expected[0])} events in the source, {len(got[0])} in the output; one alone has {longer[min(len(expected[0]), len(got[0]))]!r:.300}"
    if expected[1] != got[1]:
        return f"root:\n  source: {part(expected[1], got[1])}\n  output: {part(got[1], expected[1])}"
    return None


def part(text, other):
    """From a little before where two texts part."""
    text, other = str(text), str(other)
    at = next((i for i, (a, b) in enumerate(zip(text, other)) if a != b), min(len(text), len(other)))
    return f"(at {at}) …{text[max(0, at - 80):at + 160]}"
