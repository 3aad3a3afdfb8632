"""How the files of files.py are written in each form, by the libraries that people write them with.

    python forms.py RANK KIND FOLDER quick|full     one of the ranks that save a distributed checkpoint, into FOLDER
"""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import files

HERE = Path(__file__).resolve().parent
RANKS = 2
GIVEN_BACK = {"MALLOC_MMAP_THRESHOLD_": "1048576"}  # what a tensor took goes to the system when it is gone
SHARDS = 4


def save(state, file):
    from unittest import mock

    import torch

    with mock.patch("torch.serialization.location_tag", lambda storage: "cuda:0"):
        torch.save(state, file)


def save_compressed(state, path, cache):
    """GzipFile takes a minute a GiB, so the result is kept, under a name that changes with what makes it."""
    import torch

    sources = b"".join((HERE / name).read_bytes() for name in ("files.py", "forms.py"))
    made_by = hashlib.sha256(sources + torch.__version__.encode()).hexdigest()[:12]
    kept = cache and cache / f"{made_by}-{path.name}"
    if kept and kept.exists():
        shutil.copyfile(kept, path)
        return
    with gzip.open(path, "wb") as file:
        save(state, file)
    if kept:
        cache.mkdir(parents=True, exist_ok=True)
        for old in cache.glob(f"*-{path.name}"):
            old.unlink()
        shutil.copyfile(path, kept.with_suffix(".new"))
        kept.with_suffix(".new").rename(kept)


def save_sharded(state, folder):
    """As transformers lays it out."""
    from safetensors.torch import save_file

    folder.mkdir()
    total = sum(tensor.nbytes for tensor in state.values())
    parts, size = [{}], 0
    for name, tensor in state.items():
        if size > total * len(parts) / SHARDS:
            parts.append({})
        parts[-1][name] = tensor
        size += tensor.nbytes
    where = {}
    for i, part in enumerate(parts, 1):
        name = f"model-{i:05}-of-{len(parts):05}.safetensors"
        save_file(part, folder / name, metadata={"format": "pt"})
        where |= dict.fromkeys(part, name)
    index = {"metadata": {"total_size": total}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def save_distributed(kind, folder, quick):
    """In processes of their own, as ranks are."""
    folder = folder.resolve()  # gloo asks for it
    size = "quick" if quick else "full"
    words = [[sys.executable, __file__, str(rank), kind, folder, size] for rank in range(RANKS)]
    meeting = Path(f"{folder}.meet")
    meeting.unlink(missing_ok=True)
    ranks = [subprocess.Popen(command) for command in words]
    if any([rank.wait() for rank in ranks]):
        raise RuntimeError(f"{folder}: the ranks did not save it")
    meeting.unlink(missing_ok=True)


def save_rank(rank, kind, folder, quick):
    """FOLDER and what the ranks meet in are in one folder; each holds its half of each tensor, as FSDP leaves them."""
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}.meet", rank=rank, world_size=RANKS)
    mesh = init_device_mesh("cpu", (RANKS,))
    state = {}
    for name, tensor in files.tensors(kind, quick):
        parts = tensor.chunk(RANKS)
        mine = parts[rank].clone() if rank < len(parts) else tensor[:0].clone()
        state[name] = DTensor.from_local(mine, mesh, [Shard(0)], shape=tensor.shape, stride=tensor.stride())
    dcp.save(state, storage_writer=dcp.FileSystemWriter(folder, sync_files=False))
    dist.destroy_process_group()


def write(file, state, options):
    path = options.folder / file.name
    if file.form == "":
        save(state, path)
    elif file.form == "python":
        save_compressed(state, path, options.cache)
    elif file.form == "safetensors":
        from safetensors.torch import save_file

        save_file(dict(state), path, metadata={"format": "pt"})
    elif file.form == "sharded":
        save_sharded(state, path)
    elif file.form == "dcp":
        state.clear()  # it comes last: the ranks need the memory
        save_distributed(file.kind, path, options.quick)


def from_bare(file):
    """Is it made of the same kind's KIND.pt, without torch?"""
    return getattr(file, "form", "") in ("ckpt", "copy")


def make(wanted, folder, ckpt, cache, quick):
    """Makes `wanted` in `folder`. torch runs in a process of its own, whose memory is gone when the measuring begins."""
    by_torch = {file for file in wanted if not from_bare(file)}
    bare = {files.File(file.kind) for file in wanted - by_torch}
    by_torch |= {file for file in bare if not (folder / file.name).exists()}
    if by_torch:
        options = ["--quick"] if quick else ["--cache", cache] if cache else []
        names = sorted(file.name for file in by_torch)
        command = [sys.executable, HERE / "files.py", "--folder", folder, *options, *names]
        subprocess.run(command, check=True, env={**os.environ, **GIVEN_BACK})
    for file in sorted(wanted - by_torch, key=lambda file: file.name):
        source, target = folder / files.File(file.kind).name, folder / file.name
        if file.form == "ckpt":
            subprocess.run([ckpt, "convert", "--quiet", source, target], check=True)
        else:
            shutil.copyfile(source, target)
    for file in by_torch - wanted:
        (folder / file.name).unlink()


if __name__ == "__main__":
    save_rank(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4] == "quick")
