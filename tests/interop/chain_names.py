"""--keep, --drop, --strip-optimizer, the prefixes and --rename as Python would do them to a loaded object."""

import copy
import fnmatch
import re

import torch


class Refused(Exception):
    """The command has to end with this status, and to write nothing."""

    def __init__(self, code):
        self.code = code


USAGE, UNSUPPORTED = 2, 3


def children(obj, path, top):
    """(key or position, path, value) of what has a name below."""
    items = obj.items() if isinstance(obj, dict) else enumerate(obj) if isinstance(obj, (list, tuple)) else ()
    return [(key, str(key) if top else f"{path}.{key}", value) for key, value in items]


def paths(obj, path="", top=True):
    """Of every entry and position."""
    for _, below, value in children(obj, path, top):
        yield below
        yield from paths(value, below, False)


def matcher(globs):
    return lambda path: any(fnmatch.fnmatchcase(path, glob) for glob in globs)


def keep(obj, matches, path="", top=True, inside=False):
    """Whether anything of it stays."""
    stays = inside
    for key, below, value in children(obj, path, top):
        kept = keep(value, matches, below, False, inside or matches(below))
        stays = stays or kept
        if not kept and isinstance(obj, dict):
            del obj[key]
    return stays


def drop(obj, matches, path="", top=True):
    for key, below, value in children(obj, path, top):
        if not matches(below):
            drop(value, matches, below, False)
        elif isinstance(obj, dict):
            del obj[key]
        else:
            raise Refused(USAGE)


def has_tensors(obj):
    if isinstance(obj, torch.Tensor):
        return True
    return any(has_tensors(value) for _, _, value in children(obj, "", True))


def is_optimizer(obj):
    return isinstance(obj, dict) and isinstance(obj.get("state"), dict) and isinstance(obj.get("param_groups"), (list, tuple))


USUAL = ("state_dict", "model_state_dict", "model", "net")


def usual_places(obj):
    """Where trainers keep a model."""
    return [obj[name] for name in USUAL if name in obj] if isinstance(obj, dict) else []


def may_hold_anything(key):
    return key.endswith(("_extra_state", "_packed_params", "_packed_params.dtype"))


def is_models_key(key):
    return isinstance(key, str) and ("." in key or key in ("weight", "bias"))


def is_state_dict(obj):
    def belongs(key, value):
        return isinstance(value, torch.Tensor) or value is None or may_hold_anything(key)

    return (
        isinstance(obj, dict)
        and all(isinstance(key, str) for key in obj)
        and any(isinstance(value, torch.Tensor) for value in obj.values())
        and all(belongs(*item) for item in obj.items())
    )


def found(obj, usual=()):
    """State dicts and optimizers' states, neither of which is looked into; and what holds a model's tensors beside other values."""
    if is_optimizer(obj) or is_state_dict(obj):
        yield obj
        return
    is_usual = any(obj is each for each in usual)
    if isinstance(obj, dict) and any(isinstance(v, torch.Tensor) and (is_usual or is_models_key(k)) for k, v in obj.items()):
        yield obj
    for _, _, value in children(obj, "", True):
        yield from found(value, usual)


def named_dicts(obj):
    """Each once."""
    return list({id(each): each for each in found(obj, usual_places(obj)) if not is_optimizer(each)}.values())


def models(obj):
    """Those that are models': a key is a layer's, or they lie where trainers keep a model. All, where none is."""
    usual = [obj, *usual_places(obj)]

    def is_models(state):
        return any(state is each for each in usual) or any(is_models_key(key) for key in state)

    all_of_them = named_dicts(obj)
    return [state for state in all_of_them if is_models(state)] or all_of_them


def strip_optimizer(obj):
    states = {id(each) for each in found(obj) if is_optimizer(each)}

    def goes(value):
        alone = isinstance(value, (list, tuple)) and value and all(id(each) in states for each in value)
        return id(value) in states or alone

    def strip(obj):
        for key, _, value in children(obj, "", True):
            if isinstance(obj, dict) and goes(value):
                del obj[key]
            else:
                strip(value)

    if states and goes(obj):
        raise Refused(USAGE)
    if states:
        strip(obj)


def rekey(mapping, name_of):
    """In place and in order; later entries of a name replace the earlier one's value."""
    items = {}
    for key, value in mapping.items():
        items[name_of(key)] = value
    mapping.clear()
    mapping.update(items)


def is_renamed(key, value):
    fits = isinstance(value, torch.Tensor) or value is None
    return isinstance(key, str) and (fits or may_hold_anything(key) or is_models_key(key))


def rename_keys(state, name_of):
    """Whether any key has another name."""
    names = [name_of(key) if is_renamed(key, value) else key for key, value in state.items()]
    if len(set(names)) < len(names):
        raise Refused(USAGE)
    changed = names != list(state)
    rekey(state, dict(zip(state, names, strict=True)).get)
    return changed


def module_of(prefix):
    """The wrapper that a prefix names: "module" for "module."; none where no dot ends it."""
    return prefix.removesuffix(".") if prefix.endswith(".") else None


def strip_prefix(obj, prefix):
    """As torch.nn.modules.utils.consume_prefix_in_state_dict_if_present, but in order."""
    for state in named_dicts(obj):
        changed = rename_keys(state, lambda key: key.removeprefix(prefix))
        metadata = getattr(state, "_metadata", None)
        if not changed or metadata is None:
            continue
        wrapped = module_of(prefix)
        if wrapped and wrapped in metadata and "" in metadata:
            metadata[""] = metadata.pop(wrapped)
        elif wrapped and wrapped in metadata:
            rekey(metadata, lambda name: "" if name == wrapped else name)
        rekey(metadata, lambda name: name.removeprefix(prefix))


def add_prefix(obj, prefix):
    for state in models(obj):
        rename_keys(state, lambda key: prefix + key)
        metadata = getattr(state, "_metadata", None)
        if metadata is None:
            continue
        items = []
        for name, entry in metadata.items():
            items.append((prefix + name if name else "", entry))
            if not name and module_of(prefix):
                items.append((module_of(prefix), copy.copy(entry)))
        metadata.clear()
        metadata.update(items)


def rename(obj, rules):
    """`rules`: pairs of an expression and what replaces its matches."""
    compiled = [(re.compile(pattern.replace("$", r"\Z"), re.ASCII), new) for pattern, new in rules]

    def name_of(key):
        for pattern, new in compiled:
            key = pattern.sub(new, key)
        return key

    for state in named_dicts(obj):
        names = {key: name_of(key) for key, value in state.items() if is_renamed(key, value)}
        changed = rename_keys(state, name_of)
        if changed and getattr(state, "_metadata", None) is not None:
            rename_modules(state._metadata, names, name_of)


def module_name(module, names, name_of):
    """As the first of its tensors is named whose own part of the name has stayed."""
    for key in sorted((key for key in names if key.startswith(f"{module}.")), key=str.encode):
        within = key[len(module) + 1 :]
        if names[key] == within:
            return ""
        if names[key].endswith(f".{within}"):
            return names[key].removesuffix(f".{within}")
    name = name_of(f"{module}.")
    is_modules = name.endswith(".") and not name.startswith(".") and ".." not in name
    return name.removesuffix(".") if is_modules or not name else module


def rename_modules(metadata, names, name_of):
    """A module that takes another's name takes its place."""
    moved = {module: module_name(module, names, name_of) if module else "" for module in metadata}
    place = {module: module for module, name in moved.items() if name == module}
    for module, name in moved.items():
        if name == module:
            continue
        if name in place:
            metadata[place[name]] = metadata[module]
            del metadata[module]
        else:
            place[name] = module
    rekey(metadata, moved.get)
