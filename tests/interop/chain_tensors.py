"""--contiguous, --compact, --dedupe and --dtype as PyTorch would do them, to every storage, stride and offset."""

import torch
from casts import scalar_cast
from chain_names import found, is_optimizer
from chain_objects import FLOATING, UNTYPED
from torch import nn

CARRIERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.complex128}


def tensors_in(obj, found=None, seen=None):
    """Every dense tensor of the object once: also those that a sparse one is made of."""
    found, seen = ([], set()) if found is None else (found, seen)
    if id(obj) in seen:
        return found
    seen.add(id(obj))
    if isinstance(obj, torch.Tensor):
        found += [obj] if obj.layout is torch.strided else [obj._indices(), obj._values()]
    elif isinstance(obj, dict):
        for value in obj.values():
            tensors_in(value, found, seen)
    elif isinstance(obj, (list, tuple)):
        for value in obj:
            tensors_in(value, found, seen)
    return found


def bare_storages(obj):
    if isinstance(obj, torch.TypedStorage):
        return {obj._untyped_storage._cdata}
    children = obj.values() if isinstance(obj, dict) else obj if isinstance(obj, (list, tuple)) else ()
    return set().union(*map(bare_storages, children))


def replaced(obj, edit, memo):
    """The object with every dense tensor as `edit` gives it; what was the same tensor stays the same tensor."""
    if id(obj) in memo:
        return memo[id(obj)][1]
    made = obj
    if isinstance(obj, nn.Parameter):
        made = nn.Parameter(edit(obj.data), obj.requires_grad)
    elif isinstance(obj, torch.Tensor) and obj.layout is torch.sparse_coo:
        made = torch.sparse_coo_tensor(
            edit(obj._indices()), edit(obj._values()), obj.shape, is_coalesced=obj.is_coalesced()
        )
    elif isinstance(obj, torch.Tensor):
        plain = obj.detach()
        made = edit(plain)
        # PyTorch cannot load float8 that requires grad.
        made = obj if made is plain else made.requires_grad_(obj.requires_grad and made.dtype not in UNTYPED)
    elif isinstance(obj, dict):
        for key in list(obj):
            obj[key] = replaced(obj[key], edit, memo)
    elif isinstance(obj, list):
        obj[:] = [replaced(value, edit, memo) for value in obj]
    elif isinstance(obj, tuple):
        made = tuple(replaced(value, edit, memo) for value in obj)
    memo[id(obj)] = obj, made
    return made


def looking_at(tensor, storage, offset, stride, dtype=None):
    """The tensor with other bytes, lazy signs and all."""
    made = torch.empty(0, dtype=dtype or tensor.dtype).set_(storage, offset, tensor.shape, stride)
    made = made.conj() if tensor.is_conj() else made
    return torch._neg_view(made) if tensor.is_neg() else made


def elements(tensor, shape=None, stride=None):
    """What lies there, one element after the other, as bits."""
    plain = torch.empty(0, dtype=CARRIERS[tensor.element_size()])
    plain.set_(
        tensor.untyped_storage(),
        tensor.storage_offset(),
        tensor.shape if shape is None else shape,
        tensor.stride() if stride is None else stride,
    )
    return plain.clone(memory_format=torch.contiguous_format)


def geometry(tensor):
    return tensor.untyped_storage()._cdata, tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset()


def contiguous(state):
    made = {}

    def edit(tensor):
        if tensor.is_contiguous():
            return tensor
        key = geometry(tensor)
        if key not in made:
            made[key] = state.storage(elements(tensor).untyped_storage(), tensor)
        return looking_at(tensor, made[key], 0, torch.empty(tensor.shape, device="meta").stride())

    state.obj = replaced(state.obj, edit, {})


def to_dtype(state, dtype, keeps):
    """`keeps`: ids of tensors that stay."""
    made = {}

    def edit_but(tensor):
        if tensor.dtype not in FLOATING or tensor.dtype is dtype:
            return tensor
        storage = tensor.untyped_storage()
        key = storage._cdata, tensor.dtype
        if key not in made:
            whole = torch.empty(0, dtype=tensor.dtype)
            whole.set_(storage, 0, (storage.nbytes() // tensor.element_size(),), (1,))
            made[key] = state.storage(scalar_cast(whole, dtype).untyped_storage(), tensor)
        return looking_at(tensor, made[key], tensor.storage_offset(), tensor.stride(), dtype)

    memo = {id(t): (t, t) for t in keeps}
    state.obj = replaced(state.obj, edit_but, memo)


def dedupe(state):
    first, of = {}, {}
    optimizers = [each for each in found(state.obj) if is_optimizer(each)]
    stays = {tensor.untyped_storage()._cdata for each in optimizers for tensor in tensors_in(each)}
    for tensor in tensors_in(state.obj):
        storage = tensor.untyped_storage()
        if not storage.nbytes() or storage._cdata in stays:
            continue
        kind = None if tensor.dtype in UNTYPED else tensor.dtype
        content = bytes(torch.empty(0, dtype=torch.uint8).set_(storage).numpy())
        of[storage._cdata] = first.setdefault((kind, state.tag(tensor), content), storage)

    def edit(tensor):
        storage = of.get(tensor.untyped_storage()._cdata)
        if storage is None or storage._cdata == tensor.untyped_storage()._cdata:
            return tensor
        return looking_at(tensor, storage, tensor.storage_offset(), tensor.stride())

    state.obj = replaced(state.obj, edit, {})


def steps(tensor):
    """Dimensions that are stepped along, the longest step first."""
    dims = [i for i in range(tensor.dim()) if tensor.shape[i] > 1 and tensor.stride(i)]
    return sorted(dims, key=lambda i: -tensor.stride(i))


def closed_stride(tensor):
    """The strides of a view with gaps once those are closed up; None where it has none, or shows an element twice."""
    stride, count, reach = list(tensor.stride()), 1, 0
    for dim in reversed(steps(tensor)):
        if tensor.stride(dim) <= reach:
            return None
        reach += (tensor.shape[dim] - 1) * tensor.stride(dim)
        stride[dim] = count
        count *= tensor.shape[dim]
    return None if count == reach + 1 else stride


def extent(tensor):
    """The bytes of its storage that it begins and ends with."""
    last = tensor.storage_offset() + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    return tensor.storage_offset() * tensor.element_size(), (last + 1) * tensor.element_size()


def runs_of(views):
    """Views that overlap or touch, in groups."""
    runs, end = [], -1
    for view in sorted((t for t in views if t.numel()), key=lambda t: extent(t)[0]):
        begin, its_end = extent(view)
        if begin > end:
            runs.append([])
        runs[-1].append(view)
        end = max(end, its_end)
    return runs


def closes_up(run):
    return closed_stride(run[0]) is not None and all(geometry(view) == geometry(run[0]) for view in run)


def compact(state):
    moves = {}  # geometry -> storage, offset, stride
    held = bare_storages(state.obj)
    views = {}
    for tensor in tensors_in(state.obj):
        views.setdefault(tensor.untyped_storage()._cdata, []).append(tensor)
    for storage, its in views.items():
        if storage in held:
            continue
        runs = runs_of(its)
        seen = sum(max(extent(v)[1] for v in run) - extent(run[0])[0] for run in runs)
        if seen == its[0].untyped_storage().nbytes() and not any(map(closes_up, runs)):
            continue
        for run in runs:
            moves |= (close_up if closes_up(run) else cut_out)(state, run)
        empty = torch.UntypedStorage(0)
        for view in its:
            if not view.numel():
                moves[geometry(view)] = state.storage(empty, view), 0, view.stride()

    def edit(tensor):
        move = moves.get(geometry(tensor))
        return looking_at(tensor, *move) if move else tensor

    state.obj = replaced(state.obj, edit, {})


def close_up(state, run):
    view, dims = run[0], steps(run[0])
    packed = elements(view, [view.shape[i] for i in dims], [view.stride(i) for i in dims])
    return {geometry(view): (state.storage(packed.untyped_storage(), view), 0, closed_stride(view))}


def cut_out(state, run):
    item = max(view.element_size() for view in run)
    begin = extent(run[0])[0] // item * item
    data = torch.empty(0, dtype=torch.uint8).set_(run[0].untyped_storage())
    part = state.storage(data[begin : max(extent(v)[1] for v in run)].clone().untyped_storage(), run[0])
    return {geometry(v): (part, v.storage_offset() - begin // v.element_size(), v.stride()) for v in run}
