"""How figures are written."""


def seconds(value):
    if value < 0.0995:
        return f"{value * 1e3:.1f} ms"
    return f"{value:.2f} s" if value < 9.995 else f"{value:.1f} s"


def size(count):
    for unit, limit in (("B", 1e3), ("kB", 1e6), ("MB", 1e9)):
        if count < limit:
            return f"{count / limit * 1e3:.0f} B" if unit == "B" else f"{count / limit * 1e3:.2f} {unit}"
    return f"{count / 1e9:.3f} GB"


def mib(count):
    return f"{count / (1 << 20):.1f} MiB" if count < 100 << 20 else f"{count / (1 << 20):.0f} MiB"
