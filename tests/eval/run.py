#!/usr/bin/env python3
"""libckpt_eval against real PyTorch: what it loads, what it computes, and what it says.

Needs the packages of tests/requirements.txt, and a build with libtorch. Every file that is unpickled here was saved
here, or holds nothing but tensors.
"""

import sys
from pathlib import Path

sys.path[1:1] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent / "data")]
import harness  # noqa: E402


def main():
    p = harness.parser(__doc__.split("\n")[0])
    p.add_argument("groups", nargs="*", help="groups to run (all)")
    options = harness.parse(p)
    suite = harness.Suite()
    tool = Path(options.ckpt).with_name("ckpt_eval_tool")
    if not tool.exists():
        suite.skip("eval", "built without libtorch (CKPT_LIBTORCH), so there is no libckpt_eval")
        return suite.finish()
    try:
        import torch
    except ImportError as error:
        suite.skip("eval", f"no PyTorch here ({error}); pip install -r tests/requirements.txt")
        return suite.finish()
    torch.set_num_threads(1)
    import bridge
    import program
    import models
    import ranks
    import refusals
    import results
    import said_layers
    import scripts
    import usage

    print(f"PyTorch {torch.__version__}, Python {sys.version.split()[0]}")
    parts = (bridge, models, refusals, program, results, said_layers, scripts, usage, ranks)
    groups = [group for part in parts for group in part.GROUPS]
    suite.run(groups, options.groups, lambda folder: [Eval(suite, Ckpt(options.ckpt), harness.Ckpt(tool), folder)])
    return suite.finish()


class Ckpt(harness.Ckpt):
    """Here `eval` begins where ckpt itself would go on to: in a program that has libtorch loaded already."""

    def __init__(self, path):
        super().__init__(path)
        self._eval = harness.Ckpt(Path(path).with_name("ckpt-eval"))

    def __call__(self, *args, **how):
        is_plain = args[:1] == ("eval",) and set(how) <= {"stdin", "cwd", "timeout"}
        return self._eval(*args[1:], **how) if is_plain else super().__call__(*args, **how)


class Eval:
    """What a group is given."""

    def __init__(self, suite, ckpt, tool, folder):
        self.suite, self.ckpt, self.tool, self.folder = suite, ckpt, tool, folder
        self.count = 0

    def path(self, suffix=".pt"):
        self.count += 1
        return self.folder / f"{self.count}{suffix}"

    def logits(self, file, inputs, *settings):
        """The model's outputs, and how the tool ended; None where it failed."""
        import numpy
        import torch

        given, out = self.path(".in"), self.path(".out")
        given.write_bytes(inputs.float().contiguous().numpy().tobytes())
        done = self.tool("logits", file, given, out, *settings)
        if done.code:
            return None, done
        values = torch.from_numpy(numpy.fromfile(out, numpy.float32))
        return values.reshape(inputs.shape[0], -1), done

    def same_logits(self, name, file, inputs, expected, *settings):
        """Within 1e-4 of what Python computed. Returns how the tool ended."""
        got, done = self.logits(file, inputs, *settings)
        if not self.suite.check(f"{name}: exit 0", done.code == 0, done):
            return done
        expected = expected.reshape(inputs.shape[0], -1)
        good = got.shape == expected.shape and bool((got - expected).abs().max() < 1e-4)
        self.suite.check(f"{name}: outputs", good, lambda: f"{done}\n     got: {got}\nexpected: {expected}")
        return done


if __name__ == "__main__":
    sys.exit(main())
