"""Distributed checkpoints: what torch.distributed.checkpoint saves is read, and it loads what ckpt writes."""

import contextlib
import copyreg
import io
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from equal import differences
from torch.distributed._shard.sharded_tensor import metadata as old
from torch.distributed.checkpoint import _version
from torch.distributed.checkpoint import metadata as new
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter

RANKS = (2, 4)


def plain(value):
    """Without what a distributed checkpoint does not say: how tensors lie, and that they are parameters."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone(memory_format=torch.contiguous_format)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def joined(folder):
    """What PyTorch makes of it."""
    out = folder.parent / (folder.name + ".joined.pt")
    try:
        dcp_to_torch_save(folder, out)
    except dcp.CheckpointException as error:  # which is no Exception
        raise RuntimeError(f"PyTorch cannot load {folder.name}") from error
    return torch.load(out, weights_only=False)  # saved here


def save(value, folder, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is one process
        dcp.save(value, storage_writer=dcp.FileSystemWriter(folder, sync_files=False, **options), no_dist=True)
    return folder


def by_key(value):
    if isinstance(value, list):
        return [by_key(item) for item in value]
    return {key: by_key(value[key]) for key in sorted(value)} if isinstance(value, dict) else value


def same(checks, name, got, expected, ordered=True):
    expected, got = plain(expected), plain(got)
    found = differences(expected, got) if ordered else differences(by_key(expected), by_key(got))
    checks.suite.check(f"{name}: equal", not found, lambda: "\n".join(found))


def read_as(checks, name, folder, expected=None):
    """ckpt finds it sound, and makes one file of it that holds what PyTorch makes of it."""
    checks.run(f"{name}: verify", "verify", folder)
    out = checks.path()
    if checks.run(name, "convert", folder, out, "--format", "torch").code == 0:
        same(checks, name, torch.load(out, weights_only=False), joined(folder) if expected is None else expected)


class Filled:
    """Its state is set by a call of its choosing, whose result is dropped."""

    def __init__(self, **state):
        self.__dict__.update(state)

    def __reduce__(self):
        return Filled, (), dict(self.__dict__), None, None, fill


def fill(made, state):
    made.__dict__.update(state)


def one_process():
    torch.manual_seed(2)
    weight = torch.arange(24.0).reshape(4, 6)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    return {
        "model": model.state_dict(),
        "optim": optimizer.state_dict(),
        "scheduler": torch.optim.lr_scheduler.MultiStepLR(optimizer, [30, 80]).state_dict(),
        "filled": Filled(width=3, weight=torch.ones(2)),
        "turned": weight.T,
        "columns": weight[:, 1:3],
        "row": weight[1],
        "expanded": torch.ones(1).expand(5),
        "tied": [weight, weight],
        "tuple": (torch.ones(2), 5, {"a": 1}),
        "lists": [torch.zeros(3), [1, 2], {"z": 2.5}, [[torch.ones(1)], [3]]],
        "values": {"i": 3, "none": None, "set": {1, 2}, "text": "\u00e4", "big": 1 << 80, "list": [], "b": b"\x00\xff"},
        "scalar": torch.tensor(True),
        "half": torch.randn(3).bfloat16(),
        "unsigned": torch.tensor([1, 2], dtype=torch.uint16),
        "empty": torch.zeros(0, 3),
        "conjugate": torch.randn(2, 2, dtype=torch.complex64).conj(),
        "eight": torch.ones(3).to(torch.float8_e4m3fn),
        7: torch.zeros(1),
    }


def distributed(checks):
    """Several ranks save; what ckpt wrote is loaded by them, sharded."""
    if not dist.is_available() or not dist.is_gloo_available():
        return checks.suite.skip("distributed checkpoints of several ranks", "this PyTorch has no gloo")
    import dcp_ranks

    model = dcp_ranks.network()
    optimizer = dcp_ranks.trained(model)
    from torch.distributed.checkpoint.state_dict import get_state_dict

    model_state, optimizer_state = get_state_dict(model, optimizer)
    source = {"model": model_state, "optim": optimizer_state}
    torch.save(source, checks.folder / "source.pt")
    checks.run("one file as a folder", "convert", checks.folder / "source.pt", checks.folder / "written", "--format", "dcp")

    script = Path(dcp_ranks.__file__)
    jobs = []
    for world in RANKS:
        for rank in range(world):
            command = [sys.executable, script, str(rank), str(world), checks.folder]
            jobs.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    for job in jobs:
        try:
            out, _ = job.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            for each in jobs:
                each.kill()
            out = job.communicate()[0] + "\ntimed out"
        checks.suite.check("a rank ends", job.returncode == 0, out)
    if any(job.returncode for job in jobs):
        return None
    for world in RANKS:
        for name in ("layouts", "threads", "files", "fsdp", "async"):
            read_as(checks, f"{name}-{world}", checks.folder / f"{name}-{world}")
        same(checks, f"resharded-{world}", joined(checks.folder / f"resharded-{world}"), source, ordered=False)
        shards(checks, checks.folder / f"shards-{world}", joined(checks.folder / f"layouts-{world}"))
    return None


def shards(checks, folder, tensors):
    """The flavour in safetensors: flat, tensors alone. `tensors`: among others, those in it."""
    reader = HuggingFaceStorageReader(folder)
    names = reader.read_metadata().state_dict_metadata
    expected = {name: torch.empty_like(tensors[name]) for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.load(expected, storage_reader=HuggingFaceStorageReader(folder), no_dist=True)
    same(checks, f"{folder.name}: PyTorch's own reader", expected, {name: tensors[name] for name in names})
    checks.run(f"{folder.name}: verify", "verify", folder)
    out = checks.path()
    if checks.run(folder.name, "convert", folder, out, "--format", "torch").code == 0:
        got = torch.load(out)
        checks.suite.equal(f"{folder.name}: names", sorted(got), sorted(expected))
        same(checks, folder.name, {name: got[name] for name in expected if name in got}, expected)


def shards_of_one(checks):
    tensors = {"a": torch.randn(3, 4), "b": torch.arange(5), "half": torch.randn(3).bfloat16()}
    for distributed_too in (True, False):
        folder = checks.folder / f"one-{distributed_too}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            writer = HuggingFaceStorageWriter(folder, save_distributed=distributed_too)
            dcp.save(tensors, storage_writer=writer, no_dist=True)
        shards(checks, folder, tensors)


def shards_that_are_missing(checks):
    """The names of the others say how many there are; a part by itself says that it is one."""
    tensors = {"a": torch.randn(3, 4), "b": torch.arange(5), "c": torch.ones(3)}
    folder = checks.folder / "numbered"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer = HuggingFaceStorageWriter(folder, fqn_to_index_mapping={"a": 1, "b": 2, "c": 2}, save_distributed=True)
        dcp.save(tensors, storage_writer=writer, no_dist=True)
    shards(checks, folder, tensors)
    first, second = sorted(folder.glob("*.safetensors"))
    done = checks.run("a part of them", "convert", first, checks.path())
    checks.suite.check("a part of them: said", "one rank's part of a distributed checkpoint" in done.err, done)
    second.unlink()
    done = checks.run("a number is missing: verify", "verify", folder, code=1)
    checks.suite.check("a number is missing: said", "no rank's file of number 2 is there" in done.out.decode(), done)
    checks.run("a number is missing: convert", "convert", folder, checks.path(), code=3)


def edited_shards(checks):
    """What is said of tensors that are no longer so goes: PyTorch's reader takes what is made."""
    tensors = {"model.a": torch.randn(3, 4), "model.b": torch.arange(5)}
    folder = checks.folder / "plain"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer = HuggingFaceStorageWriter(folder, fqn_to_index_mapping={"model.a": 1, "model.b": 2})
        dcp.save(tensors, storage_writer=writer, no_dist=True)
    (joined_to := checks.folder / "joined").mkdir()
    done = checks.run("plain shards, merge", "merge", folder, joined_to / "model.safetensors")
    checks.suite.check("plain shards, merge: nothing differs", "says otherwise" not in done.err, done)
    checks.run("plain shards, strip-prefix", "convert", folder, checks.folder / "stripped", "--strip-prefix=model.", "--format", "safetensors-index")
    checks.run("plain shards, shard", "shard", folder, checks.folder / "sharded", "--max-size", "30")
    for name, prefix in (("joined", ""), ("stripped", "model."), ("sharded", "")):
        expected = {key.removeprefix(prefix): torch.empty_like(value) for key, value in tensors.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dcp.load(expected, storage_reader=HuggingFaceStorageReader(checks.folder / name), no_dist=True)
        same(checks, f"plain shards, {name}", expected, {key.removeprefix(prefix): value for key, value in tensors.items()})


def alone(checks):
    """A process that saves by itself."""
    folder = save(one_process(), checks.folder / "alone")
    read_as(checks, "one process", folder)
    read_as(checks, "a file for each item", save(one_process(), checks.folder / "files", single_file_per_rank=False))
    out = checks.path()
    checks.run("from .metadata", "convert", folder / ".metadata", out, "--format", "torch")
    same(checks, "from .metadata", torch.load(out, weights_only=False), joined(folder))


def before_2_4(checks):
    """Dicts without tensors were values of their own."""
    _version._derived_version = "2_3"
    try:
        folder = save({"model": {"w": torch.ones(2)}, "options": {"lr": 0.1}}, checks.folder / "old")
    finally:
        _version._derived_version = None
    read_as(checks, "traversed as before 2.4", folder)


@contextlib.contextmanager
def enums_by_name():
    """Python 3.11.0 to 3.11.3 pickle an enum's member as getattr(class, name)."""
    kinds = (new._MEM_FORMAT_ENCODING, old.MEM_FORMAT_ENCODING)
    for kind in kinds:
        copyreg.pickle(kind, lambda member: (getattr, (type(member), member.name)))
    try:
        yield
    finally:
        for kind in kinds:
            del copyreg.dispatch_table[kind]


def spellings(checks):
    """The same Metadata in every protocol, by older classes, and as other Pythons spell it."""
    folder = save(one_process(), checks.folder / "spelt")
    path = folder / ".metadata"
    metadata = pickle.loads(path.read_bytes())  # saved here
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        path.write_bytes(pickle.dumps(metadata, protocol))
        read_as(checks, f"protocol {protocol}", folder)
    with enums_by_name():
        path.write_bytes(pickle.dumps(metadata))
    shown = checks.run("enums by name", "inspect", "--json", folder)
    verdicts = {g["name"]: g["verdict"] for g in shown.json["globals"]}
    checks.suite.equal("enums by name: getattr", verdicts.get("builtins.getattr"), "known")
    read_as(checks, "enums by name", folder)
    for described in metadata.state_dict_metadata.values():
        if isinstance(described, new.TensorStorageMetadata):
            described.properties = old.TensorProperties(dtype=described.properties.dtype)
    metadata.storage_meta = metadata.version = None
    path.write_bytes(pickle.dumps(metadata))
    read_as(checks, "torch before 2.3", folder)
    metadata.planner_data = None
    path.write_bytes(pickle.dumps(metadata))
    read_as(checks, "without paths", folder)


def many_chunks(checks):
    """More than a pickler's batch of 1,000; the file is opened once."""
    weight = torch.randn(2500, 3)
    folder = save({"w": weight}, checks.folder / "many")
    metadata = pickle.loads((folder / ".metadata").read_bytes())  # saved here
    described, places = metadata.state_dict_metadata["w"], {}
    described.chunks = []
    data = io.BytesIO()
    for row in reversed(range(len(weight))):
        offsets, begin = torch.Size((row, 0)), data.tell()
        torch.save(weight[row : row + 1].clone(), data)
        described.chunks.append(new.ChunkStorageMetadata(offsets, torch.Size((1, 3))))
        info = next(iter(metadata.storage_data.values()))
        places[new.MetadataIndex("w", offsets, len(places))] = type(info)("__0_0.distcp", begin, data.tell() - begin)
    metadata.storage_data = places
    (folder / "__0_0.distcp").write_bytes(data.getvalue())
    (folder / ".metadata").write_bytes(pickle.dumps(metadata))
    read_as(checks, "2,500 chunks", folder, {"w": weight})


def written(checks):
    """One file as a folder: what PyTorch loads of it is what it would have saved itself."""
    source = checks.folder / "source.pt"
    torch.save(one_process(), source)
    expected = joined(save(one_process(), checks.folder / "python"))
    protocols = {f"protocol {number}": ("--protocol", str(number)) for number in (0, 1, 4)}
    for name, options in {"quick": (), "full": ("--verify=full",), **protocols}.items():
        folder = checks.folder / f"written {name}"
        checks.run(name, "convert", source, folder, "--format", "dcp", *options)
        same(checks, name, joined(folder), expected)
        checks.run(f"{name}: verify", "verify", folder)
        checks.run(f"{name}: no difference", "diff", folder, checks.folder / "python")
    filled = joined(checks.folder / "python")
    for value in filled["model"].values():
        value.zero_()
    filled["values"]["i"] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.load(filled, checkpoint_id=checks.folder / "written quick", no_dist=True)
    same(checks, "loaded in place", filled, expected)


def again(checks):
    """A folder of one process, written again: the same names, values and order."""
    folder = save(one_process(), checks.folder / "first")
    checks.run("again", "convert", folder, checks.folder / "second")
    same(checks, "again", joined(checks.folder / "second"), joined(folder))


GROUPS = [alone, before_2_4, spellings, many_chunks, written, again, shards_of_one, shards_that_are_missing, edited_shards, distributed]
