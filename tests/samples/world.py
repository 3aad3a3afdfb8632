"""Training on several ranks and devices: the same weights as on one."""

import socket
import subprocess
import sys

import torch
from digits import greatest_difference, prepared, saved_model
from harness import environment
from nets import FNN


def trained(suite, name, sample, raw, init, out, launcher=(), device="cpu", env=None):
    words = ["train", "--data", raw, "--device", device, "--epochs", "2", "--init", init, "--out", out, "--curves",
             str(out) + ".svg"]
    done = subprocess.run([*launcher, sample.bin / "mnist", *words], capture_output=True, text=True, timeout=200,
                          env=environment(**(env or {})))
    suite.check(f"{name}: status", done.returncode == 0, done.stdout + done.stderr)
    return done.stdout


def same_weights(suite, name, out, expected):
    difference = greatest_difference(torch.load(out, weights_only=True), expected)
    suite.check(f"{name}: weights", difference < 1e-5, f"differ by {difference}")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def several_ranks_give_the_weights_of_one(suite, sample, folder):
    raw = prepared(sample, folder)
    torch.manual_seed(6)
    init = saved_model(folder / "init.pt", FNN())
    said = trained(suite, "one", sample, raw, init, folder / "one.pt")
    expected = torch.load(folder / "one.pt", weights_only=True)

    # 317 digits in batches of 64: the last has 61, which three ranks cannot share alike.
    for ranks in (2, 3):
        name = f"torchrun, {ranks} ranks"
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks),
                    "--no-python"]
        out = folder / f"torchrun{ranks}.pt"
        again = trained(suite, name, sample, raw, init, out, torchrun)
        suite.equal(f"{name}: rank 0 says what one said", again.replace(str(out), ""), said.replace(str(folder / "one.pt"), ""))
        same_weights(suite, name, out, expected)

    name = "two threads"
    trained(suite, name, sample, raw, init, folder / "threads.pt", device="cpu:2")
    same_weights(suite, name, folder / "threads.pt", expected)

    # By hand: rank 0 holds the store itself.
    port, ranks = free_port(), []
    for rank in (0, 1):
        env = environment(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        ranks.append(subprocess.Popen([sample.bin / "mnist", "train", "--data", raw, "--device", "cpu", "--epochs", "2",
                                       "--init", init, "--out", folder / "env.pt", "--curves", folder / "env.svg"],
                                      env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    outputs = [rank.communicate(timeout=200)[0] for rank in ranks]
    suite.check("env://: status", all(rank.returncode == 0 for rank in ranks), "".join(outputs))
    suite.equal("env://: the other rank is silent", outputs[1], "")
    same_weights(suite, "env://", folder / "env.pt", expected)


def a_variable_that_is_missing_is_named(suite, sample, folder):
    done = subprocess.run([sample.bin / "mnist", "train", "--device", "cpu"], capture_output=True, text=True, timeout=60,
                          env=environment(WORLD_SIZE="2", RANK="1"))
    suite.check("MASTER_ADDR", done.returncode == 2 and "MASTER_ADDR" in done.stderr, done.stderr)


def a_thread_that_fails_ends_all(suite, sample, folder):
    done = sample("mnist", "train", "--data", folder, "--device", "cpu:2", timeout=60)
    suite.check("status and words", done.code == 1 and "No such file" in done.err, done)


GROUPS = [several_ranks_give_the_weights_of_one, a_variable_that_is_missing_is_named, a_thread_that_fails_ends_all]
