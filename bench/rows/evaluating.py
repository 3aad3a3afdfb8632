"""Accuracy on a test set, in gzip as the model is: ckpt eval beside the loop as people write it and a tuned one."""

import checks
from marks import memory_at_most, times_faster, times_less_processor_time
from row import Command, Row
from test_sets import TestSet


def _commands(arch, data):
    lines = [f"python eval_{arch}{tuned}.py IN.pt.gz {data}" for tuned in ("", "_tuned")]
    return [Command(line, checks.counts) for line in ("ckpt eval IN.pt.gz --data DATA", *lines)]


def rows():
    fnn, captcha = TestSet("fnn"), TestSet("captcha")
    less = times_less_processor_time
    frugal = [less(1.5, "python eval_captcha.py"), less(1.2, "python eval_captcha_tuned.py"), memory_at_most(381)]
    note = "Judged by processor time, of which the convolutions take nearly all: the time on the clock says how many " \
           "cores were free."
    return [
        Row("eval-fnn", f"How good is a FNN? {fnn.what}", fnn, _commands("fnn", "DATA"),
            [times_faster(15, "python eval_fnn.py"), times_faster(1.2, "python eval_fnn_tuned.py")],
            "Judged by the time on the clock, from start to end."),
        Row("eval-captcha", f"How good is a ResNet? {captcha.what}", captcha,
            _commands("captcha", "DATA/testing_set.0.pt"), frugal, note),
    ]
