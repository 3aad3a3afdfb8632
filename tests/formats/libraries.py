"""Each format's own library: how it saves tensors, and what it loads. A row of the table a class."""

import io
import json
import pickle
import struct
import tarfile

import numpy
import torch


def plain(seed=1):
    """What every format can hold, in the dtypes that all of them have."""
    generator = torch.Generator().manual_seed(seed)
    return {
        "fc1.weight": torch.randn(5, 3, generator=generator),
        "fc1.bias": torch.randn(5, generator=generator),
        "f16": torch.randn(4, 8, generator=generator).half(),
        "ids": torch.randint(-9, 9, (2, 2, 2), generator=generator),
        "small": torch.randint(-100, 100, (7,), generator=generator, dtype=torch.int8),
        "f64": torch.randn(3, generator=generator, dtype=torch.float64),
    }


def rich(seed=1):
    """What the formats of PyTorch's world hold beside it."""
    return plain(seed) | {
        "b16": torch.arange(6).reshape(2, 3).bfloat16(),
        "mask": torch.tensor([True, False, True]),
        "bytes": torch.arange(9, dtype=torch.uint8),
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 3),
    }


class Library:
    """A format's, whose `save` makes a file or a folder and whose `load` gives tensors by name."""

    written = True
    kept = False  # only from its own kind
    tensors = staticmethod(rich)
    convert_options = ()  # for a torch zip of a state dict

    def spoil(self, path):
        """Damages it in a way that verify must find: by default, it is cut short."""
        data = path.read_bytes()
        path.write_bytes(data[: len(data) * 2 // 3])


class Torch(Library):
    name, suffix, library = "torch", ".pt", "torch.save"

    def save(self, tensors, path):
        torch.save(tensors, path)

    def load(self, path):
        return torch.load(path, weights_only=True)


class TorchLegacy(Torch):
    name, library = "torch-legacy", "torch.save (of 1.5 and before)"

    def save(self, tensors, path):
        torch.save(tensors, path, _use_new_zipfile_serialization=False)


class TorchTar(Library):
    """What PyTorch 0.1 wrote: torch.load still reads it, and is the judge; nothing writes it any more."""

    name, suffix, library, written = "torch-tar", ".pt", "torch.load (of files as 0.1 wrote them)", False

    CLASSES = {
        torch.float32: ("FloatTensor", "FloatStorage"),
        torch.float64: ("DoubleTensor", "DoubleStorage"),
        torch.float16: ("HalfTensor", "HalfStorage"),
        torch.int64: ("LongTensor", "LongStorage"),
        torch.int8: ("CharTensor", "CharStorage"),
        torch.uint8: ("ByteTensor", "ByteStorage"),
    }

    @staticmethod
    def tensors(seed=1):
        return plain(seed) | {"bytes": torch.arange(9, dtype=torch.uint8)}

    def save(self, tensors, path):
        keys = {name: i for i, name in enumerate(tensors)}
        storages, records = io.BytesIO(), io.BytesIO()
        pickle.dump(len(tensors), storages, protocol=2)
        pickle.dump(len(tensors), records, protocol=2)
        for name, tensor in tensors.items():
            tensor_class, storage_class = (getattr(torch, c) for c in self.CLASSES[tensor.dtype])
            pickle.dump((1000 + keys[name], "cpu", storage_class), storages, protocol=2)
            storages.write(struct.pack("<q", tensor.numel()))
            storages.write(tensor.contiguous().numpy())
            pickle.dump((keys[name], 1000 + keys[name], tensor_class), records, protocol=2)
            dimensions = tensor.dim()
            records.write(struct.pack("<ii", dimensions, 0))
            records.write(struct.pack(f"<{2 * dimensions + 1}q", *tensor.shape, *tensor.stride(), 0))
        pickle.dump([], storages, protocol=2)

        class Pickler(pickle.Pickler):
            def persistent_id(self, value):
                return next((keys[n] for n, t in tensors.items() if t is value), None)

        graph = io.BytesIO()
        Pickler(graph, protocol=2).dump(dict(tensors))
        info = {"protocol_version": 1000, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
        with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
            parts = {
                "sys_info": pickle.dumps(info, protocol=2),
                "pickle": graph.getvalue(),
                "tensors": records.getvalue(),
                "storages": storages.getvalue(),
            }
            for member, data in parts.items():
                entry = tarfile.TarInfo(member)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))

    def load(self, path):
        return torch.load(path, weights_only=False)  # written here

    def spoil(self, path):
        """Within the storages: what stands at the end is padding."""
        path.write_bytes(path.read_bytes()[:2000])


class Names(torch.nn.Module):
    """A module whose parameters have the names of a state dict."""

    def __init__(self, tensors):
        super().__init__()
        for name, tensor in tensors.items():
            at, (*folders, last) = self, name.split(".")
            for folder in folders:
                if not hasattr(at, folder):
                    at.add_module(folder, torch.nn.Module())
                at = getattr(at, folder)
            at.register_buffer(last, tensor)

    def forward(self, x):
        return x


class TorchScript(Library):
    name, suffix, library, written, kept = "torchscript", ".pt", "torch.jit.save", False, True
    @staticmethod
    def tensors(seed=1):
        tensors = rich(seed)
        return {n: t for n, t in tensors.items() if "." not in n} | {n: t for n, t in tensors.items() if "." in n}

    def save(self, tensors, path):
        torch.jit.save(torch.jit.script(Names(tensors)), path)

    def load(self, path):
        return torch.jit.load(path).state_dict()


class Pickle(Library):
    name, suffix, library, written = "pickle", ".pkl", "pickle.dump", False

    def save(self, tensors, path):
        path.write_bytes(pickle.dumps(tensors, protocol=4))

    def load(self, path):
        return pickle.loads(path.read_bytes())  # written here


class Safetensors(Library):
    name, suffix, library = "safetensors", ".safetensors", "safetensors.torch"

    def save(self, tensors, path):
        import safetensors.torch

        safetensors.torch.save_file(tensors, path)

    def load(self, path):
        import safetensors.torch

        return safetensors.torch.load_file(path)


class SafetensorsIndex(Library):
    name, suffix, library = "safetensors-index", "", "safetensors.torch, a file a shard"
    stem, end = "model", ".safetensors"
    index = "model.safetensors.index.json"

    def save_one(self, tensors, path):
        Safetensors().save(tensors, path)

    def load_one(self, path):
        return Safetensors().load(path)

    def save(self, tensors, path):
        path.mkdir()
        names = list(tensors)
        halves = [names[:4], names[4:]]
        weight_map = {}
        for number, half in enumerate(halves, 1):
            shard = f"{self.stem}-{number:05}-of-{len(halves):05}{self.end}"
            self.save_one({n: tensors[n] for n in half}, path / shard)
            weight_map |= dict.fromkeys(half, shard)
        total = sum(t.numel() * t.element_size() for t in tensors.values())
        (path / self.index).write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": weight_map}))

    def load(self, path):
        weight_map = json.loads((path / self.index).read_text())["weight_map"]
        shards = {shard: self.load_one(path / shard) for shard in set(weight_map.values())}
        return {name: shards[shard][name] for name, shard in weight_map.items()}

    def spoil(self, path):
        next(path.glob(f"*{self.end}")).unlink()


class TorchIndex(SafetensorsIndex):
    name, library = "torch-index", "torch.save, a file a shard"
    stem, end = "pytorch_model", ".bin"
    index = "pytorch_model.bin.index.json"

    def save_one(self, tensors, path):
        torch.save(tensors, path)

    def load_one(self, path):
        return torch.load(path, weights_only=True)


class Dcp(Library):
    name, suffix, library = "dcp", "", "torch.distributed.checkpoint"

    def save(self, tensors, path):
        import torch.distributed.checkpoint as dcp

        dcp.save(dict(tensors), checkpoint_id=path, no_dist=True)

    def load(self, path):
        from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

        out = path.parent / (path.name + ".joined")
        dcp_to_torch_save(path, out)
        return torch.load(out, weights_only=True)

    def spoil(self, path):
        next(path.glob("*.distcp")).unlink()


class Npz(Library):
    name, suffix, library = "npz", ".npz", "numpy.savez"

    @staticmethod
    def tensors(seed=1):
        return {n: t for n, t in rich(seed).items() if t.dtype != torch.bfloat16}

    def save(self, tensors, path):
        with path.open("wb") as file:
            numpy.savez(file, **{n: t.numpy() for n, t in tensors.items()})

    def load(self, path):
        with numpy.load(path, allow_pickle=False) as arrays:
            return {n: torch.from_numpy(arrays[n]) for n in arrays.files}


class Npy(Library):
    """One tensor, which has no name."""

    name, suffix, library = "npy", ".npy", "numpy.save"

    @staticmethod
    def tensors(seed=1):
        return {"": plain(seed)["fc1.weight"]}

    def save(self, tensors, path):
        numpy.save(path, tensors[""].numpy())

    def load(self, path):
        return {"": torch.from_numpy(numpy.load(path, allow_pickle=False))}


class Gguf(Library):
    name, suffix, library, written = "gguf", ".gguf", "gguf", False
    tensors = staticmethod(plain)

    def save(self, tensors, path):
        import gguf

        writer = gguf.GGUFWriter(path, "test")
        for name, tensor in tensors.items():
            writer.add_tensor(name, tensor.numpy())
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def load(self, path):
        import gguf

        return {t.name: torch.from_numpy(numpy.array(t.data)) for t in gguf.GGUFReader(path).tensors}


ALL = [
    Torch(),
    TorchLegacy(),
    TorchTar(),
    TorchScript(),
    Pickle(),
    Safetensors(),
    SafetensorsIndex(),
    TorchIndex(),
    Dcp(),
    Npz(),
    Npy(),
    Gguf(),
]
