"""What torch.load(weights_only=True), or another reader, makes of many hostile files, in processes that may crash or hang."""

import hashlib
import json
import os
import resource
import signal

import torch

SECONDS = 20
NAMES = 2000
BYTES = 1 << 24
GIB = 1 << 30


class TooMuch(Exception):
    pass


def has_plain_text(key):
    """Whether str() says the same of it everywhere; of a class, a function or a tensor it does not."""
    if isinstance(key, tuple):
        return all(map(has_plain_text, key))
    return isinstance(key, (str, int, float, bool, bytes, type(None)))


def children(obj):
    """As ckpt names them (docs/cli.md)."""
    if isinstance(obj, dict):
        if not all(map(has_plain_text, obj)):
            raise TooMuch("a key whose str() is Python's own")
        yield from ((str(key), value) for key, value in obj.items())
        yield from ((str(key), value) for key, value in vars(obj).items()) if hasattr(obj, "__dict__") else ()
    elif isinstance(obj, (list, tuple)):
        yield from ((str(i), value) for i, value in enumerate(obj))
    elif isinstance(obj, (set, frozenset)) and obj:
        raise TooMuch("a set, whose order is Python's own")


def named_tensors(root):
    found, counts, on_path = [], {}, set()
    todo = [("", root, False)]
    while todo:
        path, obj, leave = todo.pop()
        if leave:
            on_path.discard(id(obj))
        elif isinstance(obj, torch.Tensor):
            counts[path] = counts.get(path, 0) + 1
            found.append((path if counts[path] == 1 else f"{path}#{counts[path]}", obj))
            if len(found) > NAMES:
                raise TooMuch("names")
        elif id(obj) not in on_path:
            on_path.add(id(obj))
            top = obj is root and not on_path - {id(obj)}
            todo.append((path, obj, True))
            todo += reversed([(part if top else f"{path}.{part}", value, False) for part, value in children(obj)])
    return found


def described(name, tensor):
    out = {
        "name": name,
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "layout": str(tensor.layout).removeprefix("torch."),
        "shape": list(tensor.shape),
    }
    if tensor.layout is torch.strided:
        out |= {"stride": list(tensor.stride()), "offset": tensor.storage_offset()}
        if not tensor.is_quantized and tensor.device.type != "meta" and tensor.numel() * tensor.element_size() <= BYTES:
            plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
            data = bytes(plain.reshape(-1).view(torch.uint8).numpy()) if plain.numel() else b""
            out["sha256"] = hashlib.sha256(data).hexdigest()
    return out


def reason(error):
    """On one line, without the advice that PyTorch puts around it."""
    text = str(error).rpartition("WeightsUnpickler error: ")[2].partition("Check the documentation")[0]
    return " ".join(f"{type(error).__name__}: {text}".split())[:300]


def load(path):
    try:
        obj = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        return {"refused": reason(error)}
    return listed(obj)


def listed(obj):
    """The tensors of what was loaded."""
    try:
        return {"tensors": [described(name, tensor) for name, tensor in named_tensors(obj)]}
    except TooMuch as what:
        return {"skipped": str(what)}
    except Exception as error:
        return {"refused": f"used: {reason(error)}"}


def work(paths, first, write, reader):
    """In the child: one line a file."""
    with open("/proc/self/statm") as statm:
        held = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + 2 * GIB, held + 2 * GIB))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with os.fdopen(write, "w") as out:
        for path in paths[first:]:
            signal.alarm(SECONDS)
            print(json.dumps(reader(path)), file=out, flush=True)


def load_all(paths, reader=load):
    """What `reader` makes of each path: {"tensors"}, {"refused"}, {"skipped"} or {"died": how}."""
    results = []
    while len(results) < len(paths):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(read)
                work(paths, len(results), write, reader)
                status = 0
            finally:
                os._exit(status)
        os.close(write)
        with os.fdopen(read) as lines:
            results += [json.loads(line) for line in lines if line.endswith("\n")]
        _, status = os.waitpid(child, 0)
        if len(results) < len(paths):
            results.append(
                {"died": f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {status >> 8}"}
            )
    return results
