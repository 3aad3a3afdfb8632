"""What `ckpt scan` says of what Python's picklers write: values that checkpoints hold, in every protocol and container. Nothing
here is of anybody's own, so that nothing but layers and optimizers saved whole, and tensors of classes of their own, is called anything
but safe."""

import argparse
import collections
import datetime
import decimal
import fractions
import inspect
import io
import json
import pathlib
import pickle
import random
import types
import uuid

import numpy
import torch
import torch.distributed.checkpoint.metadata as distributed
from equal import tensor_parts
from group import dtensor, process_group


def tensors():
    weight = torch.randn(3, 4)
    marked = torch.nn.Parameter(weight.clone())
    marked.tag = "x"
    complex_numbers = torch.randn(3, dtype=torch.cfloat)
    return {
        "tensor": weight, "parameter": torch.nn.Parameter(weight), "marked": marked, "buffer": torch.nn.Buffer(weight.clone()),
        "view": weight.t()[1:], "bool": weight > 0, "float8": weight.to(torch.float8_e5m2), "uint16": weight.to(torch.uint16),
        "sparse": torch.eye(3).to_sparse(), "csr": torch.eye(3).to_sparse_csr(), "csc": torch.eye(3).to_sparse_csc(),
        "bsr": torch.eye(4).to_sparse_bsr((2, 2)), "meta": torch.empty(3, device="meta"),
        "quantised": torch.quantize_per_tensor(weight, 0.1, 0, torch.qint8),
        "by channel": torch.quantize_per_channel(weight, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 0, 0]), 0, torch.quint8),
        "conjugate": complex_numbers.conj(), "negative": complex_numbers.conj().imag,
        "nested": torch.nested.nested_tensor([torch.randn(2), torch.randn(3)]),
        "storage": weight.untyped_storage(), "typed storage": weight.storage(), "size": weight.size(), "dtype": torch.bfloat16,
        "device": torch.device("cuda:1"), "layout": torch.sparse_coo, "memory format": torch.channels_last,
        "packed": torch.nn.utils.rnn.pack_sequence([torch.randn(3, 2), torch.randn(2, 2)]),
    }  # fmt: skip


def trainers():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(5, 3)).sum().backward()
    optimizer.step()
    tensor = distributed.TensorStorageMetadata(
        distributed.TensorProperties(dtype=torch.float32), torch.Size([3]), [distributed.ChunkStorageMetadata(torch.Size([0]), torch.Size([3]))])
    return {
        "state dict": model.state_dict(), "optimizer": optimizer.state_dict(), "averaged": torch.optim.swa_utils.AveragedModel(model).state_dict(),
        "scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 3).state_dict(), "scaler": torch.amp.GradScaler("cpu").state_dict(),
        "generator": torch.Generator().get_state(), "metadata": distributed.Metadata({"w": tensor}),
    }  # fmt: skip


def wholes():
    """Of these it is not known what their methods do with the file's attributes."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    return {
        "whole model": model, "whole optimizer": torch.optim.Adam(model.parameters()), "whole scaler": torch.amp.GradScaler("cpu"),
        "jagged": torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(3, 3)], layout=torch.jagged),
        "distributed": dtensor(torch.randn(3, 4)),
    }  # fmt: skip


def arrays():
    record = numpy.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
    values = {
        "array": numpy.arange(3.0), "of Fortran": numpy.asfortranarray(numpy.ones((2, 3))), "big": numpy.arange(3, dtype=">f4"),
        "empty": numpy.zeros((0, 3)), "objects": numpy.array([1, "a", None], dtype=object), "texts": numpy.array(["a", "bb"]),
        "bytes": numpy.array([b"a"]), "dates": numpy.array(["2020-01-01"], dtype="M8[D]"), "records": record, "record": record[0],
        "recarray": record.view(numpy.recarray), "subarrays": numpy.zeros(2, dtype=[("a", "i4", (2,))]), "scalar": numpy.float64(3),
        "integer": numpy.int32(1), "true": numpy.bool_(True), "text": numpy.str_("x"), "bytes scalar": numpy.bytes_(b"x"),
        "void": numpy.void(b"abc"), "date": numpy.datetime64("2020-01-01"), "masked array": numpy.ma.array([1, 2], mask=[0, 1]),
        "masked": numpy.ma.masked, "matrix": numpy.matrix([[1]]), "characters": numpy.char.array(["a"]), "type": numpy.float32,
        "dtype": numpy.dtype("f4"), "dtype of objects": numpy.dtype([("a", "O")]), "aligned": numpy.dtype([("a", "i1"), ("b", "f8")], align=True),
        "random state": numpy.random.RandomState(1), "state": numpy.random.RandomState(1).get_state(), "generator": numpy.random.default_rng(1),
        "generator's state": numpy.random.default_rng(1).bit_generator.state, "seeds": numpy.random.SeedSequence(1),
    }  # fmt: skip
    for kind in (numpy.random.MT19937, numpy.random.PCG64, numpy.random.Philox, numpy.random.SFC64):
        values[kind.__name__] = numpy.random.Generator(kind(1))
    if hasattr(numpy.dtypes, "StringDType"):
        values["strings"] = numpy.array(["a"], dtype=numpy.dtypes.StringDType(na_object=None))
    return {f"numpy {name}": value for name, value in values.items()}


def others():
    zone = datetime.timezone(datetime.timedelta(hours=1), "X")
    return {
        "namespace": argparse.Namespace(a=1, b=[2]), "simple namespace": types.SimpleNamespace(a=1), "ordered": collections.OrderedDict(a=1),
        "default": collections.defaultdict(list, {1: [2]}), "without a factory": collections.defaultdict(None, {1: 2}),
        "counter": collections.Counter("aab"), "deque": collections.deque([1, 2], 3), "unbounded": collections.deque([1]),
        "date": datetime.date(2020, 1, 2), "moment": datetime.datetime(2020, 1, 2, 3), "in a zone": datetime.datetime(2020, 1, 2, tzinfo=zone),
        "utc": datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc), "time": datetime.time(1, 2), "while": datetime.timedelta(1, 2, 3),
        "decimal": decimal.Decimal("1.5"), "fraction": fractions.Fraction(1, 3), "path": pathlib.Path("/a/b"),
        "pure path": pathlib.PurePosixPath("a"), "of Windows": pathlib.PureWindowsPath("c:/a"), "uuid": uuid.UUID(int=7), "by time": uuid.uuid1(),
        "set": {1, 2}, "no set": set(), "frozen": frozenset([1]), "bytes": b"\xff\0", "no bytes": b"", "bytearray": bytearray(b"abc"),
        "complex": 1 + 2j, "range": range(3), "slice": slice(1, None, 2), "of texts": slice("a", "b"), "ellipsis": ..., "large": 10**40,
        "nan": float("nan"), "object": object(), "types": (int, float, str, list, dict, bool),
    }  # fmt: skip


def pickled(value, first=0):
    """By a word for how: the bytes of each way to save it that there is, from protocol `first` on."""
    whole = {"x": value, "y": [value]}
    for protocol in range(first, 6):
        yield f"{protocol}.pkl", lambda out, protocol=protocol: pickle.dump(whole, out, protocol)
        for zip_file in (True, False) if protocol else ():
            how = {"pickle_protocol": protocol, "_use_new_zipfile_serialization": zip_file}
            yield f"{protocol}.{'zip' if zip_file else 'legacy'}.pt", lambda out, how=how: torch.save(whole, out, **how)


@process_group()
def of_what_picklers_write(checks):
    expected = {}
    for verdict, groups in (("safe", (tensors, trainers, arrays, others)), ("unknown", (wholes,))):
        for group in groups:
            for name, value in group().items():
                # torch's classes of C++ abort Python where protocols 0 and 1 ask them.
                for way, save in pickled(value, 2 if name == "distributed" else 0):
                    out = io.BytesIO()
                    try:
                        save(out)
                    except (TypeError, ValueError, pickle.PicklingError):
                        continue  # of that protocol, or container, it is none
                    path = checks.folder / f"{group.__name__} {name} {way}"
                    path.write_bytes(out.getvalue())
                    expected[str(path)] = verdict
    checks.suite.check("hundreds of files", len(expected) > 1000, len(expected))
    done = checks.ckpt("scan", "--json", str(checks.folder))
    said = {}
    for line in done.out.splitlines():
        result = json.loads(line)
        said[result["file"]] = result
    for path, verdict in expected.items():
        result = said.get(path, {})
        checks.suite.check(f"scan {path.rsplit('/', 1)[1]}", result.get("verdict") == verdict, result)


def set_by_tensors():
    """The attributes for which a class of tensors has code of its own that runs when they are set."""
    for name in dir(torch.nn.Parameter):
        found = inspect.getattr_static(torch.nn.Parameter, name)
        if isinstance(found, property) and found.fset:
            yield name
        elif inspect.isgetsetdescriptor(found):
            try:
                found.__set__(torch.nn.Parameter(torch.zeros(2)), 0)
                yield name
            except AttributeError:  # it is only read
                pass
            except (RuntimeError, TypeError):
                yield name


class WithState:
    def __init__(self, state):
        self.state = state

    def __reduce__(self):
        return torch._utils._rebuild_parameter_with_state, (torch.zeros(2), True, collections.OrderedDict(), self.state)


def of_attributes_that_tensors_set(checks):
    names = list(set_by_tensors())
    checks.suite.check("torch sets some attributes itself", {"data", "grad", "requires_grad"} <= set(names), names)
    for name in (*names, "tag"):
        path = checks.folder / f"attribute {name}.pkl"
        path.write_bytes(pickle.dumps(WithState({name: 1}), 2))
        result = json.loads(checks.ckpt("scan", "--json", str(path)).out)
        checks.suite.check(f"scan {path.name}", result["verdict"] == ("safe" if name == "tag" else "unknown"), result)


def sparse_of(numbers, dense):
    kind = numbers.choice(["coo", "hybrid", "batch", "csr", "csc", "bsr", "bsc"])
    if kind == "hybrid":
        return torch.stack([dense, dense], 2).to_sparse(2)
    if kind == "batch":
        return torch.stack([dense, dense]).to_sparse_csr()
    return getattr(dense, f"to_sparse_{kind}")(*([(2, 2)] if kind.startswith("bs") else []))


def broken(numbers, sparse):
    """With an index, a size or a part's length changed, or none."""
    parts, size = [part.clone() for part in tensor_parts(sparse).values()], list(sparse.shape)
    if sparse.layout is not torch.sparse_coo and numbers.random() < 0.2:
        parts[:2] = [part.int() for part in parts[:2]]
    how, at = numbers.choice(["index", "index", "index", "size", "length", "nothing"]), numbers.randrange(len(parts))
    if how == "index" and (indices := numbers.choice(parts[:-1]).view(-1)).numel():
        indices[numbers.randrange(indices.numel())] += numbers.choice([-2, -1, 1, 2, 5, 10**6])
    elif how == "size":
        size[numbers.randrange(len(size))] = numbers.randrange(9)
    elif how == "length" and len(parts[at]) > 1:
        parts[at] = parts[at][:-1]
    if sparse.layout is torch.sparse_coo:
        return torch.sparse_coo_tensor(*parts, size, check_invariants=False)
    return torch.sparse_compressed_tensor(*parts, size, layout=sparse.layout, check_invariants=False)


def of_sparse_indices(checks):
    """As torch says of them where it is asked to look, but for the order of those of a row, on which no memory hangs."""
    numbers, refused = random.Random(1), {}
    for count in range(500):
        rows, columns = numbers.choice([(2, 2), (4, 6), (6, 4), (8, 8)])
        dense = torch.tensor([[float(numbers.random() < 0.4) for _ in range(columns)] for _ in range(rows)])
        try:
            made = broken(numbers, sparse_of(numbers, dense))
        except RuntimeError:  # torch looks at some sizes when it makes one
            continue
        path = checks.folder / f"sparse {count}.pt"
        torch.save({"w": made}, path)
        try:
            with torch.sparse.check_sparse_tensor_invariants():
                torch.load(path)
            refused[str(path)] = ""
        except RuntimeError as error:
            refused[str(path)] = str(error)
        if "are sorted and distinct" in refused[str(path)]:  # and what else is wrong with it torch does not say
            path.unlink()
            del refused[str(path)]
    count = sum(map(bool, refused.values()))
    checks.suite.check("torch refuses some, and loads some", 100 < count < len(refused) - 100, (count, len(refused)))
    for line in checks.ckpt("scan", "--json", str(checks.folder)).out.splitlines():
        result = json.loads(line)
        said = refused.pop(result["file"], None)
        checks.suite.check(f"scan {result['file'].rsplit('/', 1)[1]}", result["verdict"] == ("unreadable" if said else "safe"), (said, result))
    checks.suite.check("each is judged", not refused, sorted(refused)[:3])


GROUPS = (of_what_picklers_write, of_attributes_that_tensors_set, of_sparse_indices)
