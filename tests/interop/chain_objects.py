"""Random checkpoints of PyTorch's, from a seed: tensors that share storages in every way, containers, optimizers' states."""

import collections
import string

import torch
from tensor_cases import DTYPES
from torch import nn

FLOATING = [d for d in DTYPES if d.is_floating_point and "float4" not in str(d)]
# Those that PyTorch keeps in untyped storages, which legacy files do not have.
UNTYPED = set(torch.storage._new_dtypes())
LEGACY = [d for d in DTYPES if d not in UNTYPED]

KEYS = ["", ".", "a.b", "größe", "重み", "😀", "with space", "*", "[x]", "?", "line\nbreak", "state", "0", "None", "_metadata", "x.y.z"]
OTHER_KEYS = [0, 1, -7, 2**40, 1.5, None, True, (1, "a")]
# None that a pickle says by a call, whose arguments have names of their own.
ATOMS = [0, -1, 2**40, 2**100, 1.5, -0.0, float("inf"), True, None, "", "text", "cuda:0", "ünï", torch.float16, torch.nn.Linear]
MODULES = ["fc", "conv.0", "block.1.norm", "head", "encoder.layer.3.attn"]
PARAMETERS = ["weight", "bias", "running_mean", "num_batches_tracked", "scale"]


class Maker:
    """One checkpoint. `random` decides everything."""

    def __init__(self, random, dtypes):
        self.random, self.dtypes = random, dtypes
        self.floating = [d for d in FLOATING if d in dtypes]
        self.pool = []  # what later tensors may look at as well
        self.left = random.randrange(2, 14)  # tensors to make

    # Tensors

    def bits(self, nbytes):
        return torch.frombuffer(bytearray(self.random.randbytes(max(nbytes, 1))), dtype=torch.uint8)[:nbytes].clone()

    def shape(self):
        r = self.random
        return [r.choice((0, 1, 1, 2, 3, 4, 7)) if r.random() < 0.3 else r.randrange(1, 6) for _ in range(r.randrange(4))]

    def fresh(self):
        r = self.random
        dtype = r.choice(self.floating) if r.random() < 0.7 else r.choice(self.dtypes)
        shape = self.shape()
        count = torch.Size(shape).numel()
        size = torch.empty(0, dtype=dtype).element_size()
        data = self.bits(count * size)
        if dtype is torch.bool:
            data &= 1
        return data.view(dtype).reshape(shape)

    def view(self, base):
        """Another look at the same storage."""
        r = self.random
        kind = r.choice(["slice", "transpose", "expand", "step", "same", "flat", "window", "retyped"])
        base = base.detach()
        if kind == "slice" and base.dim():
            begin = r.randrange(base.shape[0] + 1)
            return base[begin : r.randrange(begin, base.shape[0] + 1)]
        if kind == "transpose" and base.dim() > 1:
            return base.transpose(*r.sample(range(base.dim()), 2))
        if kind == "expand":
            return base.unsqueeze(0).expand(r.randrange(1, 4), *base.shape)
        if kind == "step" and base.dim():
            dim = r.randrange(base.dim())
            return base[(slice(None),) * dim + (slice(r.randrange(2), None, r.randrange(1, 4)),)]
        if kind == "flat" and base.is_contiguous():
            return base.reshape(-1)
        if kind == "window":
            room = base.untyped_storage().nbytes() // base.element_size()
            if room:
                begin = r.randrange(room)
                return base.as_strided((r.randrange(1, room - begin + 1),), (1,), begin)
        if kind == "retyped" and base.dtype in UNTYPED and base.is_contiguous():
            smaller = [d for d in UNTYPED & set(self.dtypes) if 0 < d.itemsize < base.element_size()]
            return base.flatten().view(r.choice(sorted(smaller, key=str))) if smaller else base
        return base

    def tensor(self):
        r = self.random
        self.left -= 1
        chance = r.random()
        if self.pool and chance < 0.15:
            return r.choice(self.pool)  # tied: the very same tensor
        if self.pool and chance < 0.45:
            made = self.view(r.choice(self.pool))
        elif self.pool and chance < 0.55:
            made = r.choice(self.pool).detach().clone()  # equal bytes elsewhere, for --dedupe
        else:
            made = self.fresh()
        return self.keep(self.dressed(made))

    def dressed(self, made):
        r = self.random
        complex_ = made.dtype in (torch.complex64, torch.complex128)
        if complex_ and r.random() < 0.3:
            made = made.conj()
        if (complex_ or made.dtype in (torch.float32, torch.float64)) and r.random() < 0.05:
            made = torch._neg_view(made)
        if made.is_floating_point() and r.random() < 0.2:
            return nn.Parameter(made, requires_grad=r.random() < 0.7)
        if made.is_floating_point() and made.dtype not in UNTYPED and r.random() < 0.1:
            return made.detach().requires_grad_()
        return made

    def keep(self, tensor):
        if not tensor.is_conj() and not tensor.is_neg():
            self.pool.append(tensor)
        return tensor

    def sparse(self):
        self.left -= 1
        values = self.bits(12).view(torch.float32)
        return torch.sparse_coo_tensor(torch.tensor([[0, 2, 3], [1, 0, 2]]), values, (4, 3))

    # Containers

    def key(self, taken):
        r = self.random
        while True:
            if r.random() < 0.6:
                key = "".join(r.choice(string.ascii_lowercase) for _ in range(r.randrange(1, 4)))
            else:
                key = r.choice(KEYS + OTHER_KEYS)
            if str(key) not in taken:
                taken.add(str(key))
                return key

    def value(self, depth=0):
        r = self.random
        chance = r.random()
        if self.left > 0 and (depth > 3 or chance < 0.4):
            return self.sparse() if r.random() < 0.04 else self.tensor()
        if depth > 3 or chance < 0.55:
            return r.choice(ATOMS)
        if chance < 0.7:
            return self.state_dict()
        if chance < 0.74:
            return self.optimizer()
        if chance < 0.78:
            return [self.optimizer() for _ in range(r.randrange(1, 3))] + ([] if r.random() < 0.7 else [r.choice(ATOMS)])
        if chance < 0.88:
            return r.choice((list, tuple))(self.value(depth + 1) for _ in range(r.randrange(4)))
        return self.mapping(depth + 1)

    def mapping(self, depth):
        r = self.random
        taken = set()
        items = [(self.key(taken), self.value(depth + 1)) for _ in range(r.randrange(5))]
        return r.choice((dict, dict, collections.OrderedDict))(items)

    def state_dict(self):
        """As a module's, from names of modules and parameters; sometimes wrapped, with odd keys, None, extra states."""
        r = self.random
        prefix = r.choice(("", "", "module.", "module.module.", "_orig_mod."))
        modules = r.sample(MODULES, r.randrange(1, len(MODULES)))
        state = collections.OrderedDict()
        for module in modules:
            for parameter in r.sample(PARAMETERS, r.randrange(1, 3)):
                state[f"{prefix}{module}.{parameter}"] = self.tensor()
        if r.random() < 0.3:
            state[f"{prefix}{modules[0]}._extra_state"] = r.choice(ATOMS + [{"calls": 3}])
        if r.random() < 0.3:
            state[r.choice([k for k in KEYS if k != "state"])] = self.tensor() if r.random() < 0.7 else None
        if r.random() < 0.7:
            state._metadata = self.metadata(prefix, modules)
            return state
        return state if r.random() < 0.5 else dict(state)

    def metadata(self, prefix, modules):
        names = [""]
        for module in modules:
            path = f"{prefix}{module}".split(".")
            names += [".".join(path[: i + 1]) for i in range(len(path))]
        return collections.OrderedDict((name, {"version": i}) for i, name in enumerate(dict.fromkeys(names)))

    def optimizer(self):
        r = self.random
        parameters = [nn.Parameter(torch.randn(r.randrange(1, 4), 2)) for _ in range(r.randrange(1, 3))]
        kind = r.randrange(3)
        if kind == 0:
            made = torch.optim.SGD(parameters, 0.1, momentum=0.9)
        elif kind == 1:
            made = torch.optim.Adam(parameters, amsgrad=r.random() < 0.5)
        else:
            made = torch.optim.AdamW(parameters, lr=torch.tensor(0.01))
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        made.step()
        return made.state_dict()

    def root(self):
        r = self.random
        if r.random() < 0.25:
            return self.state_dict()
        root = self.mapping(0)
        for name, make, chance in (
            ("model", self.state_dict, 0.8),
            ("optimizer", self.optimizer, 0.5),
            ("history", lambda: [self.value(2), self.value(2)], 0.4),
            ("epoch", lambda: 3, 0.6),
            ("storage", self.storage, 0.1),
        ):
            if r.random() < chance and name not in root:
                root[name] = make()
        return root

    def storage(self):
        """One that the object holds as such, beside a tensor that looks at it."""
        base = self.bits(4 * self.random.randrange(4, 9)).view(torch.float32)
        return [torch.TypedStorage(_internal=True, wrap_storage=base.untyped_storage(), dtype=torch.float32), base[1:3]]


def checkpoint(random, dtypes=DTYPES):
    torch.manual_seed(random.randrange(2**32))
    return Maker(random, dtypes).root()
