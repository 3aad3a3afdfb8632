"""Reading and writing back without an edit, between the formats, and between pickle protocols."""

import cases
import saving
from saving import LEGACY, WAYS, ZIP, Failed

# What legacy files have no words for: refused, with the tensor's name.
NOT_IN_LEGACY = {"dtypes", "retyped", "bare storage", "storages", "nested"}
# What may hold names that policy calls dangerous, in some protocol: functools.partial, torch.nn.functional.relu.
NEEDS_ALLOWING = {"classes", "transformer layer"}
# PyTorch's own legacy loader makes these of storages it has not read yet, and so of whatever memory holds.
GARBLED_FROM_LEGACY = {"nested"}
# Protocol 0 writes a float as text, which cannot say which NaN it is.
NOT_IN_PROTOCOL_0 = {"nans"}
UNSUPPORTED = 3


def unedited(checks):
    """Every object × every way of saving it: convert without options changes nothing."""
    for name, make in cases.ALL.items():
        obj = make()
        for way in WAYS:
            source = checks.path(way.suffix)
            label = f"{name}, {way.name}"
            if not way.save(obj, source):
                continue
            refused = way.legacy and name in NOT_IN_LEGACY
            if refused:
                checks.written(label, source, code=UNSUPPORTED)
            else:
                checks.alike(label, source, checks.written(label, source, *allowed(checks, label, name, source)))
            source.unlink()


def allowed(checks, label, name, source):
    return checks.allowed(label, source) if name in NEEDS_ALLOWING else []


def between_formats(checks):
    """zip to legacy, and legacy to zip: the object is the one that the source holds."""
    for name, make in cases.ALL.items():
        obj = make()
        options = ["--allow-unsafe"] if name in NEEDS_ALLOWING else []
        for way, other in ((ZIP, "torch-legacy"), (LEGACY, "torch")):
            source = checks.path()
            if not way.save(obj, source):
                continue
            label = f"{name}, {way.name} to {other}"
            if other == "torch-legacy" and name in NOT_IN_LEGACY:
                done = checks.ckpt("convert", source, checks.path(), "--format", other)
                checks.suite.check(f"{label}: refused", done.code == UNSUPPORTED, done)
                continue
            out = checks.written(label, source, "--format", other, *options)
            if name in GARBLED_FROM_LEGACY or isinstance(saving.load(source, weights_only=False), Failed):
                # torch writes such legacy files and cannot load them; as a zip they load
                ZIP.save(obj, source)
            checks.alike(label, source, out)


def protocols(checks):
    """Protocols 4 and 5, which weights_only refuses, become 2, which it takes; and 2 becomes any."""
    for name, make in cases.ALL.items():
        obj = make()
        options = ["--allow-unsafe"] if name in NEEDS_ALLOWING else []
        plain = checks.path()
        saved = ZIP.save(obj, plain)
        for way in WAYS:
            if way.protocol < 4 or (way.legacy and name in NOT_IN_LEGACY):
                continue
            source = checks.path()
            if not way.save(obj, source):
                continue
            label = f"{name}, {way.name} to protocol 2"
            out = checks.written(label, source, "--protocol", "2", *options)
            checks.alike(label, source, out, modes=[{"weights_only": False}])
            if saved and out:
                mode = {"weights_only": True}
                expected, got = saving.load(plain, **mode), saving.load(out, **mode)
                checks.suite.check(
                    f"{label}: weights_only takes it as it does protocol 2",
                    isinstance(expected, Failed) or not isinstance(got, Failed),
                    lambda: f"saved with protocol 2: {expected!r:.120}\nconverted: {got!r:.400}",
                )
        for protocol in ("0", "1", "3", "4", "5") if saved else ():
            if protocol == "0" and name in NOT_IN_PROTOCOL_0:
                continue
            label = f"{name}, zip to protocol {protocol}"
            out = checks.written(label, plain, "--protocol", protocol, *options)
            checks.alike(label, plain, out, modes=[{"weights_only": False}])
