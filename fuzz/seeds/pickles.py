"""Pickles: every opcode, Python's own values, torch's objects, and files that are a pickle and no more."""

import pickle
import struct
from collections import OrderedDict

from torch_files import as_bytes
from torch_objects import hooks, rebuilt, torch_objects
from torchfile import Call, Global, Storage, pickled, save_legacy, save_zip, state_dict, weights


def every_opcode():
    """Each opcode in the shortest pickle that takes it, and the orders of changes and calls that are hard to keep."""
    literals = [b"N", b"I5\n", b"I01\n", b"I00\n", b"I007\n", b"L-99999999999999999999L\n", b"F1.5\n", b"Fnan\n", b"K\x01", b"M\x01\x00",
                b"J\xff\xff\xff\xff", b"G\x3f\xf8\0\0\0\0\0\0", b"S'x\\n'\n", b"Vx\\u20ac\n", b"U\x01x", b"T\x01\0\0\0x", b"X\x01\0\0\0x",
                b"\x8c\x01x", b"\x8d\x01" + bytes(7) + b"x", b"C\x01x", b"B\x01\0\0\0x", b"\x8e\x01" + bytes(7) + b"x",
                b"\x96\x01" + bytes(7) + b"x", b"\x88", b"\x89", b"\x8a\x01\x01", b"\x8a\x00", b"\x8b\x01\0\0\0\x01", b"cm\nO\n",
                b"\x8c\x01m\x8c\x01O\x93", b"\x82\x01", b"\x83\x01\x00", b"\x84\x01\0\0\0", b"Pid\n", b"K\x01Q"]
    containers = [b"]", b")", b"}", b"(l", b"(t", b"(d", b"\x8f", b"(\x91", b"(K\x01l", b"(K\x01K\x02d", b"K\x01\x85", b"K\x01K\x02\x86",
                  b"K\x01K\x02K\x03\x87", b"(K\x01\x91", b"]K\x01a", b"](K\x01K\x02e", b"}K\x01K\x02s", b"}(K\x01K\x02u", b"\x8f(K\x01\x90",
                  b"cm\nO\n)R", b"cm\nO\n)\x81", b"cm\nO\n)}\x92", b"(K\x01im\nO\n", b"(cm\nO\nK\x01o", b"cm\nO\n)RK\x01b"]
    orders = [b"]q\0h\0a", b"}q\0K\x01h\0s", b"]q\0h\0\x85q\x01a0h\x01", b"(]q\0(h\0tq\x01a1h\x01", b"cm\nO\n)\x81q\0}K\x01h\0sb",
              b"]q\0cm\nO\nh\0\x85Rh\0K\x01a0\x86", b"]q\0cm\nO\nh\0\x85q\x01Rh\0K\x01a0cm\nP\nh\x01R\x87",
              b"\x8fq\0(K\x01\x90cm\nO\nh\0\x85Rh\0(K\x02\x900\x86", b"]q\0cm\nO\nh\0\x85Rq\x01ah\x010", b"cm\nO\n)R0N", b"K\x01](K\x021",
              b"]2a", b"cm\nO\n)R2\x86", b"(]p0\np7\ng0\ng7\nt", b"]\x94(K\x01\x94h\x00h\x01e", b"(0N", b"cm\nO\nq\0)Rh\0}b\x86",
              b"\x8f\x94(\x8c\x01m\x94\x8c\x01O\x94\x93\x94)\x81\x94}\x94K\x01h\0sb\x90", b"\x95\x02" + bytes(7) + b"N0N",
              b"]r\0\x01\0\0j\0\x01\0\0a", b"ccollections\nOrderedDict\n)Rq\0K\x01]s}X\x09\0\0\0_metadata}sb"]
    for body in literals + containers + orders:
        yield body + b"."
        yield b"\x80\x02" + body + b"."
    yield from (b"\x80\x04" + b"(" + b"".join(literals) + b"t.", b"(" + b"".join(containers) + b"l.")


def ordinary_objects():
    """What the standard pickler makes of Python's own values."""
    shared = [1, "a"]
    cycle = []
    cycle.append(cycle)
    yield {"a": [1, 2.5, None, True], "b": (1, (2, ())), "n": 2**70, "m": -(2**31), "s": {1, 2}, "f": frozenset("x"), "y": b"\0\xff"}
    yield [shared, shared, {"again": shared}, "é\n", "\U0001f600", bytearray(b"ab"), -1, 255, 256, 65536]
    yield cycle
    yield OrderedDict([("x", 1), ("y", OrderedDict())])


def pickles():
    for i, code in enumerate(every_opcode()):
        yield f"opcode{i}", code
    for i, obj in enumerate(ordinary_objects()):
        for protocol in range(6):
            yield f"plain{i}.{protocol}", pickle.dumps(obj, protocol)
    for name, obj in torch_objects():
        for protocol in (0, 2, 4):
            yield f"{name}.{protocol}", pickled(obj, protocol)[0]


def plain_pickles():
    """Arrays in each way to spell them, files in bytes, several pickles in one file."""
    floats = struct.pack("<4f", 0, 1, 2, 3)
    for protocol in range(6):
        for code, order, fortran in (("f4", "<", False), ("i2", ">", True), ("u8", "<", False), ("b1", "|", False), ("U1", "<", False)):
            state = (3, order, None, None, None, -1, -1, 0)
            dtype = Call("numpy", "dtype", code, False, True, state=state)
            count = 16 // int(code[1:])
            shape = (count // 2, 2) if count > 1 else (1,)
            made = Call("numpy._core.multiarray", "_reconstruct", Global("numpy", "ndarray"), (0,), b"b")
            made.state = (1, shape, dtype, fortran, floats)
            buffer = Call("numpy.core.numeric", "_frombuffer", floats, dtype, shape, "F" if fortran else "C")
            for name, value in (("array", made), ("buffer", buffer)):
                yield f"{name}-{code}.{protocol}", pickled({"w": value, "epoch": 3}, protocol)[0]
        scalar = Call("numpy.core.multiarray", "scalar", Call("numpy", "dtype", "f4", False, True), floats[:4])
        yield f"scalar.{protocol}", pickled([scalar], protocol)[0]
        for name, save in (("legacy", save_legacy), ("zip", save_zip)):
            nested = Call("torch.storage", "_load_from_bytes", as_bytes(save, Storage(4)))
            tensor = rebuilt("_rebuild_tensor_v2", nested, 0, (2, 2), (2, 1), False, hooks())
            whole = Call("torch.storage", "_load_from_bytes", as_bytes(save, state_dict(weights())))
            yield f"{name}.{protocol}", pickled({"w": tensor, "again": tensor, "s": nested}, protocol)[0]
            yield f"{name}-whole.{protocol}", pickled([whole], protocol)[0]
        yield f"two.{protocol}", pickle.dumps([1], protocol) + pickle.dumps({"a": "b"}, protocol)
