"""What torch.save is given: weights, trainers' dicts, modules, and each kind of tensor."""

from collections import OrderedDict

from torchfile import Call, Global, Storage, Tensor, state_dict, weights


def layout(name):
    return Call("torch.serialization", "_get_layout", f"torch.{name}")


def typed(elements, kind, like, device="cpu"):
    """A storage of a class that torchfile has no numbers for; `like` has the same size."""
    storage = Storage(elements, like, device)
    storage.global_ = Global("torch", f"{kind}Storage")
    return storage


def rebuilt(name, *args):
    return Call("torch._utils", name, *args)


def hooks():
    return Call("collections", "OrderedDict")


def module(name, parameters, buffers=(), children=()):
    """A whole module, as torch.save(model) pickles it."""
    state = {"_parameters": parameters, "_buffers": OrderedDict(buffers), "_modules": dict(children)}
    state["_non_persistent_buffers_set"] = Call("__builtin__", "set", ["away"])
    return Call(*name.rsplit(".", 1), state={**state, "_state_dict_hooks": OrderedDict()}, new=True)


def torch_objects():
    """Name and object, as torch.save is given them."""
    yield "weights", state_dict(weights(), ["", "fc"])
    yield "parallel", state_dict(weights("module.", "cuda:0"), ["", "module", "module.fc"])
    yield "bare", Tensor([2, 2])
    yield "scalar", Tensor([])
    yield "empty", Tensor([0, 3], storage=Storage(0))
    yield "none", None
    yield "listed", [Tensor([2]), {5: Tensor([1]), (1, 2): Tensor([1]), None: Tensor([1]), 1.5: Tensor([1])}]
    shared = Storage(6)
    yield "views", {"a": Tensor([2, 3], storage=shared), "t": Tensor([3, 2], storage=shared, stride=[1, 3]),
                    "tail": Tensor([2], storage=shared, offset=4), "wide": Tensor([4, 2], storage=shared, stride=[0, 1])}
    tied = Tensor([2])
    yield "tied", state_dict({"a": tied, "b": tied, "p": Tensor([2], parameter=True)})
    yield "kinds", {kind: Tensor([1], kind) for kind in ("Double", "Long", "Int", "Short", "Char", "Byte", "Bool")}
    yield "trainer", {
        "epoch": 3, "best": 0.5, "state_dict": state_dict(weights("module.", "cuda:1"), ["", "module"]),
        "optimizer": {"state": {0: {"step": Tensor([]), "exp_avg": Tensor([2])}}, "param_groups": [{"lr": 0.1, "params": [0]}]},
        "args": Call("argparse", "Namespace", state={"device": "cuda:0", "seed": 2**70}, new=True),
    }
    yield "module", {"model": module("net.Net", {"w": Tensor([2], parameter=True), "none": None}, {"b": tied, "away": Tensor([1])}, {
        "fc": module("torch.nn.modules.linear.Linear", {"weight": tied}), "again": module("net.Net", {"weight": tied}), "gone": None,
    })}
    two, four = Tensor([2, 2], "Long"), Tensor([2])
    yield "sparse", rebuilt("_rebuild_sparse_tensor", layout("sparse_coo"), (two, four, (3, 3), True))
    yield "csr", rebuilt("_rebuild_sparse_csr_tensor", layout("sparse_csr"), (Tensor([3], "Long"), Tensor([2], "Long"), four, (2, 2)))
    yield "nested", rebuilt("_rebuild_nested_tensor", Tensor([4]), two, two, Tensor([2], "Long"))
    for count, kind, like in ((4, "QInt8", "Char"), (4, "QUInt8", "Byte"), (2, "QInt32", "Int"), (4, "QUInt4x2", "Byte")):
        scheme = (Global("torch", "per_tensor_affine"), 0.5, 3)
        yield kind, {"q": rebuilt("_rebuild_qtensor", typed(count, kind, like), 0, (count,), (1,), scheme, False, hooks())}
    channels = (Global("torch", "per_channel_affine"), Tensor([2], "Double"), Tensor([2], "Long"), 0)
    yield "channels", rebuilt("_rebuild_qtensor", typed(4, "QInt8", "Char"), 0, (2, 2), (2, 1), channels, False, hooks())
    for kind, like in (("Half", "Short"), ("BFloat16", "Short"), ("ComplexFloat", "Double")):
        yield kind, Tensor([2], storage=typed(2, kind, like))
    untyped = Storage(8, "Byte")
    untyped.global_ = Global("torch.storage", "UntypedStorage")
    yield "v3", rebuilt("_rebuild_tensor_v3", untyped, 0, (2,), (1,), False, hooks(), Global("torch", "float32"))
    yield "storage", untyped
    yield "conj", rebuilt("_rebuild_tensor_v2", typed(2, "ComplexFloat", "Double"), 0, (2,), (1,), False, hooks(), {"conj": True, "neg": True})
    yield "meta", {"m": rebuilt("_rebuild_meta_tensor_no_storage", Global("torch", "float32"), (2, 3), (3, 1), False)}
    yield "npu", rebuilt("_rebuild_device_tensor_from_cpu_tensor", Tensor([2]), Global("torch", "float32"), "npu:0", False)
    yield "subclass", rebuilt("_rebuild_wrapper_subclass", Global("m", "T"), Global("torch", "float32"), (2,), (1,), 0,
                              layout("strided"), Call("torch", "device", "cuda", 0), False)
    yield "from_type", Call("torch._tensor", "_rebuild_from_type_v2", Global("torch._utils", "_rebuild_tensor_v2"), Global("m", "T"),
                            (Storage(2), 0, (2,), (1,), False, hooks()), {"tag": 1})
    yield "old", {"w": Call("torch.cuda", "FloatTensor", state=(Storage(2, device="cuda:0"), 0, (2,), (1,)))}
    yield "extra", state_dict({"a": Tensor([1]), "a._extra_state": {"n": 1}, "none": None})
    yield "module", Call("mylab.nets", "Net", state={"_parameters": OrderedDict(w=Tensor([1], parameter=True)), "_modules": OrderedDict()}, new=True)
    yield "dangerous", {"w": Tensor([1]), "x": Call("posix", "system", "true")}
    yield "size", Call("torch", "Size", (2, 3))
