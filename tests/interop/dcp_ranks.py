"""One rank of a job that saves distributed checkpoints as PyTorch does, and loads one that ckpt has written.

    dcp_ranks.py RANK WORLD FOLDER

FOLDER/rendezvous-WORLD is made for the ranks to meet in. Whatever each layout comes to, the values of a tensor are the
same for every number of ranks.
"""

import os
import sys
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor


def network():
    """Sizes that no number of ranks divides, a layer smaller than they are many, and buffers."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Linear(7, 1), nn.Linear(1, 3, bias=False))


def trained(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(2):
        model(torch.ones(4, 5)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return optimizer


def state(world):
    generator = torch.Generator().manual_seed(1)

    def numbers(*shape):
        return torch.randn(*shape, generator=generator)

    line = init_device_mesh("cpu", (world,))

    def laid(tensor, *placements, mesh=line):
        return distribute_tensor(tensor, mesh, placements)

    rows = laid(numbers(8, 6), Shard(0))
    turned = DTensor.from_local(rows.to_local().T.contiguous().T, line, [Shard(0)], shape=rows.shape, stride=(1, 8))
    tensors = {
        "rows": laid(numbers(10, 3), Shard(0)),
        "columns": laid(numbers(4, 7), Shard(1)),
        "middle": laid(numbers(2, 5, 3), Shard(1)),
        "fewer than ranks": laid(numbers(1, 3), Shard(0)),
        "empty": laid(numbers(0, 3), Shard(0)),
        "replicated": laid(numbers(3, 3), Replicate()),
        "plain": numbers(5, 2),
        "scalar": torch.tensor(2.5),
        "half": laid(numbers(9, 2).bfloat16(), Shard(0)),
        "bytes": laid(torch.arange(13, dtype=torch.int8), Shard(0)),
        "numbers": laid(torch.arange(6, dtype=torch.int32), Shard(0)),
    }
    if world == 4:
        grid = init_device_mesh("cpu", (2, 2))
        tensors["grid"] = laid(numbers(7, 5), Shard(0), Shard(1), mesh=grid)
        tensors["half grid"] = laid(numbers(7, 5), Replicate(), Shard(1), mesh=grid)
        tensors["twice"] = laid(numbers(9, 5), Shard(0), Shard(0), mesh=grid)
    values = {"step": 7, "name": "run", "lists": [[numbers(2)], {"in": laid(numbers(6), Shard(0))}, (1, 2.5)], "none": None}
    return tensors, {"turned": turned, "others": values}


def main():
    rank, world, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous-{world}", rank=rank, world_size=world)

    def writer(name, **options):
        return dcp.FileSystemWriter(folder / f"{name}-{world}", sync_files=False, **options)

    tensors, others = state(world)
    dcp.save(tensors | others, storage_writer=writer("layouts"))
    dcp.save(tensors | others, storage_writer=writer("threads", thread_count=2))
    dcp.save(tensors | others, storage_writer=writer("files", single_file_per_rank=False))
    dcp.save(tensors, storage_writer=HuggingFaceStorageWriter(folder / f"shards-{world}", save_distributed=True))

    model = network()
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = trained(model)
    model_state, optimizer_state = get_state_dict(model, optimizer)
    fsdp = {"model": model_state, "optim": optimizer_state, "epoch": 3}
    dcp.save(fsdp, storage_writer=writer("fsdp"))
    dcp.async_save(fsdp, storage_writer=writer("async")).result()

    # What ckpt wrote of one file is loaded into the shards of these ranks, and saved again from there.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    model_state, optimizer_state = get_state_dict(model, optimizer)
    loaded = {"model": model_state, "optim": optimizer_state}
    dcp.load(loaded, checkpoint_id=folder / "written")
    set_state_dict(model, optimizer, model_state_dict=loaded["model"], optim_state_dict=loaded["optim"])
    model_state, optimizer_state = get_state_dict(model, optimizer)
    dcp.save({"model": model_state, "optim": optimizer_state}, storage_writer=writer("resharded"))


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # everything is saved; PyTorch 2.11 now and then ends in std::terminate as it takes its threads apart
