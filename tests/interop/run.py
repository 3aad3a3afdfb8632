#!/usr/bin/env python3
"""ckpt against real PyTorch: what it writes is loaded, and compared with what it was made from, to the last bit.

Needs the packages of tests/requirements.txt. Every file that is unpickled here was saved here.
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
    try:
        import torch
    except ImportError as error:
        suite.skip("interop", f"no PyTorch here ({error}); pip install -r tests/requirements.txt")
        return suite.finish()
    torch.set_num_threads(1)
    import arrays
    import casts
    import chains
    import averages
    import checks
    import content
    import dcp
    import devices
    import diffs
    import documented
    import finite
    import gguf_files
    import hand
    import joining
    import library_mutants
    import loading
    import members
    import modules
    import mutants
    import offsets
    import pickles
    import plain
    import prefixes
    import recipes
    import recover
    import roundtrip
    import safetensors_files
    import scripts
    import selection
    import stats
    import trainers
    import verdicts

    groups = [
        roundtrip.unedited,
        roundtrip.between_formats,
        roundtrip.protocols,
        devices.to_cpu,
        devices.tags,
        devices.words_stay,
        prefixes.strip,
        prefixes.trainer,
        prefixes.modules,
        prefixes.identity,
        selection.roots,
        selection.globs,
        selection.weights_only,
        selection.attributes,
        selection.shared,
        content.gzip_files,
        content.digests,
        finite.numbers,
        finite.lists,
        content.byte_order,
        hand.streams,
        hand.python2_strings,
        hand.discarded_calls,
        *arrays.GROUPS,
        *offsets.GROUPS,
        *casts.GROUPS,
        *members.GROUPS,
        *documented.GROUPS,
        *chains.GROUPS,
        *averages.GROUPS,
        *safetensors_files.GROUPS,
        *dcp.GROUPS,
        *diffs.GROUPS,
        *gguf_files.GROUPS,
        *joining.GROUPS,
        *loading.GROUPS,
        *modules.GROUPS,
        *pickles.GROUPS,
        *recover.GROUPS,
        *scripts.GROUPS,
        *plain.GROUPS,
        *trainers.GROUPS,
        *verdicts.GROUPS,
        *recipes.GROUPS,
        *stats.GROUPS,
        *library_mutants.GROUPS,
        *mutants.GROUPS,
    ]
    print(f"PyTorch {torch.__version__}, Python {sys.version.split()[0]}")
    suite.run(groups, options.groups, lambda folder: [checks.Checks(suite, harness.Ckpt(options.ckpt), folder)])
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
