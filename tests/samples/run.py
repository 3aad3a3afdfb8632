#!/usr/bin/env python3
"""The training samples beside PyTorch: the same recipes give the same weights, and their files load in Python.

Needs the packages of tests/requirements.txt, and a build with libtorch and CKPT_BUILD_SAMPLES.
"""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[1:1] = [str(TESTS), str(TESTS / "eval")]
import harness  # noqa: E402


def main():
    p = harness.parser(__doc__.split("\n")[0])
    p.add_argument("groups", nargs="*", help="groups to run (all)")
    options = harness.parse(p)
    suite = harness.Suite()
    bin = Path(options.ckpt).absolute().with_name("samples")
    if not (bin / "mnist").exists():
        suite.skip("samples", "built without libtorch (CKPT_LIBTORCH) or without CKPT_BUILD_SAMPLES")
        return suite.finish()
    try:
        import torch
    except ImportError as error:
        suite.skip("samples", f"no PyTorch here ({error}); pip install -r tests/requirements.txt")
        return suite.finish()
    torch.set_num_threads(2)
    import captcha
    import digits
    import shell
    import world

    groups = [*digits.GROUPS, *world.GROUPS, *captcha.GROUPS, *shell.GROUPS]
    suite.run(groups, options.groups, lambda folder: [suite, Sample(bin), folder])
    return suite.finish()


class Sample:
    """Runs a sample: sample("mnist", "train", …)."""

    def __init__(self, bin):
        self.bin = bin

    def __call__(self, name, *words, **more):
        return harness.Ckpt(self.bin / name)(*map(str, words), **{"timeout": 300, **more})


if __name__ == "__main__":
    sys.exit(main())
