"""One file made of another, where no byte of a tensor changes, and where every one does."""

import checks
from files import File
from marks import times_at_most, times_faster
from row import Command, Row
from rows.common import (
    CP,
    CP_FOLDER,
    LARGE,
    LIKE_CP,
    MANY,
    MEMORY,
    MEMORY_MANY,
    on_cpu,
    stripped,
    stripped_on_cpu,
)

FILE_OF_SAFETENSORS, SHARDED, DCP = (File("large", form) for form in ("safetensors", "sharded", "dcp"))
BEST = "Where Python can be told to map the file instead of reading it, it was."


def _marks(script):
    return [LIKE_CP, times_faster(5, f"python {script}"), MEMORY]


def editing():
    to_cpu = [
        Command("ckpt convert IN.pt OUT.pt --to cpu", on_cpu),
        CP,
        Command("python to_cpu.py IN.pt OUT.pt", on_cpu),
        Command("python to_cpu_mmap.py IN.pt OUT.pt", on_cpu),
    ]
    strip = [
        Command("ckpt strip-prefix IN.pt OUT.pt", stripped),
        CP,
        Command("python strip_prefix.py IN.pt OUT.pt", stripped_on_cpu),
    ]
    full = [Command("ckpt convert IN.pt OUT.pt --to cpu --verify=full", on_cpu), CP]
    return [
        Row("to-cpu", "From the GPU to the CPU", LARGE, to_cpu, _marks("to_cpu_mmap.py"), BEST),
        Row("strip-prefix", "Without DataParallel's `module.`", LARGE, strip, _marks("strip_prefix.py"), BEST),
        Row("strip-prefix-many", "Without `module.`, very many tensors", MANY, strip,
            [times_faster(15, "python strip_prefix.py"), MEMORY_MANY]),
        Row("read-back", "From the GPU to the CPU, every byte read again", LARGE, full, [MEMORY]),
    ]


def between_formats():
    to_safetensors = [
        Command("ckpt convert IN.pt OUT.safetensors", on_cpu),
        CP,
        Command("python to_safetensors.py IN.pt OUT.safetensors", on_cpu),
    ]
    from_safetensors = [
        Command("ckpt convert IN.safetensors OUT.pt", on_cpu),
        Command("cp IN.safetensors OUT.safetensors", on_cpu, remark="changes nothing"),
        Command("python from_safetensors.py IN.safetensors OUT.pt", on_cpu),
    ]
    to_npz = [
        Command("ckpt convert IN.pt OUT.npz", on_cpu),
        CP,
        Command("python to_npz.py IN.pt OUT.npz", on_cpu),
    ]
    return [
        Row("to-safetensors", "PyTorch's format to safetensors", LARGE, to_safetensors, _marks("to_safetensors.py"), BEST),
        Row("from-safetensors", "safetensors to PyTorch's format", FILE_OF_SAFETENSORS, from_safetensors,
            _marks("from_safetensors.py"), BEST),
        Row("to-npz", "PyTorch's format to numpy's", LARGE, to_npz, [MEMORY], BEST),
    ]


def splitting_and_joining():
    shard = [
        Command("ckpt shard IN.pt OUT/ --max-size 256MB --format safetensors-index", on_cpu),
        CP,
        Command("python shard.py IN.pt OUT/", on_cpu, needs="huggingface_hub"),
    ]
    merge = [
        Command("ckpt merge IN/ OUT.safetensors", on_cpu),
        CP_FOLDER,
        Command("python merge.py IN/ OUT.safetensors", on_cpu),
    ]
    join = [
        Command("ckpt merge IN/ OUT.pt", on_cpu),
        CP_FOLDER,
        Command("python join_dcp.py IN/ OUT.pt", on_cpu),
    ]
    return [
        Row("shard", "Into files of 256 MB, with an index", LARGE, shard, _marks("shard.py"), BEST),
        Row("merge", "One file of a sharded model", SHARDED, merge, _marks("merge.py"), BEST),
        Row("join-dcp", "One file of a distributed checkpoint", DCP, join,
            [times_at_most(1.2, "cp"), times_faster(5, "python join_dcp.py"), MEMORY]),
    ]


def casting():
    def row(dtype):
        check = checks.holds(dtype=dtype)
        commands = [
            Command(f"ckpt convert IN.pt OUT.pt --dtype {dtype}", check),
            CP,
            Command(f"python cast.py IN.pt OUT.pt {dtype}", checks.holds(dtype=dtype, device="cpu")),
        ]
        return Row(f"cast-{dtype}", f"float32 to {dtype}", LARGE, commands, [times_at_most(1.3, "cp"), MEMORY], BEST)

    return [row("bfloat16"), row("float16")]


def rows():
    return [*editing(), *between_formats(), *splitting_and_joining(), *casting()]
