"""The scripts of samples, and the commands of its pages, as a reader runs them."""

import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

from harness import ROOT, environment

DIGITS = "samples/digits/fnn_digits_dp.pt.gz"


def run(sample, command, folder):
    """`command` in a folder in which `samples` lies, with ckpt on PATH."""
    if not (folder / "samples").exists():
        (folder / "samples").symlink_to(ROOT / "samples")
    variables = {name: str(sample.bin / name) for name in ("mnist", "captcha")}
    path = f"{sample.bin.parent}:{os.environ['PATH']}"
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environment(**variables, PATH=path), timeout=300,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def commands(page, beginning):
    """The lines of the page's code that begin so, without what is said of them."""
    lines = (line.strip() for line in (ROOT / page).read_text().splitlines() if line.startswith("    "))
    return [re.sub(r"  +#.*| # or, .*", "", line) for line in lines if line.startswith(beginning)]


def the_demonstration_shows_what_readme_says(suite, sample, folder):
    done = run(sample, f"samples/demo.sh {DIGITS}", folder)
    suite.equal("status", done.returncode, 0, done.stdout)
    shown = [line.split() for line in done.stdout.splitlines()]
    _, lines = (ROOT / "README.md").read_text().split("    $ ./dev demo", 1)
    lines = [line for line in lines.split("\n\n")[0].splitlines()[1:] if line.strip() != "…"]
    suite.equal("lines of README", len(lines), 5)
    for line in lines:
        suite.check(line.strip(), line.split() in shown, done.stdout)


def the_gate_opens_for_what_is_good(suite, sample, folder):
    (command,) = commands("samples/ci/README.md", "samples/ci/gate.sh")
    done = run(sample, command, folder)
    suite.equal("status", done.returncode, 0, done.stdout)
    suite.equal("asked", re.findall(r"^\$ ckpt (\w+)", done.stdout, re.M), ["verify", "check", "eval"])
    suite.equal("failures in eval.xml", ET.parse(folder / "eval.xml").getroot().get("failures"), "0")
    suite.check("eval.md", "98.24" in (folder / "eval.md").read_text(), done.stdout)
    suite.equal("eval.json", json.loads((folder / "eval.json").read_text())["verdict"]["passed"], True)
    suite.check("eval.html", "</html>" in (folder / "eval.html").read_text(), done.stdout)


def the_gate_stays_shut_for_what_is_not(suite, sample, folder):
    (command,) = commands("samples/ci/README.md", "samples/ci/gate.sh")
    done = run(sample, command.replace("98%", "99%"), folder)
    suite.equal("below the bar", done.returncode, 1, done.stdout)
    suite.equal("and says so", json.loads((folder / "eval.json").read_text())["verdict"]["passed"], False)
    whole = (ROOT / DIGITS).read_bytes()
    (folder / "cut.pt.gz").write_bytes(whole[: len(whole) // 2])
    done = run(sample, command.replace(DIGITS, "cut.pt.gz", 1), folder)
    suite.check("the gravest answer is given", done.returncode == 3, done.stdout)
    left = sorted(file.name for file in folder.glob("eval.*"))
    suite.equal("what the last gate left is gone", left, ["eval.xml"])
    suite.equal("failures in eval.xml", ET.parse(folder / "eval.xml").getroot().get("failures"), "1")
    (folder / "--version").write_bytes(b"broken")
    done = run(sample, command.replace(DIGITS, "--version", 2), folder)
    suite.check("no name is an option", done.returncode == 3, done.stdout)
    done = run(sample, "samples/ci/gate.sh", folder)
    suite.check("usage", done.returncode == 2 and "usage: gate.sh" in done.stdout, done.stdout)


def the_page_of_mnist_runs(suite, sample, folder):
    for command in commands("samples/mnist/README.md", "$mnist"):
        if "~/Downloads" not in command:  # digits.py has such a folder
            done = run(sample, command, folder)
            suite.equal(command, done.returncode, 0, done.stdout)
    suite.equal("it leaves what it says", [(folder / name).exists() for name in ("fnn.pt", "curves.svg")], [True, True])


def the_page_of_captcha_runs(suite, sample, folder):
    shutil.copy(ROOT / "samples/captcha/captcha_resnet.pt.gz", folder / "model.pt")
    for command in commands("samples/captcha/README.md", "$captcha"):
        if command != "$captcha train":  # takes hours: captcha.py trains for a few epochs
            done = run(sample, command.replace("10000", "1000"), folder)
            suite.equal(command, done.returncode, 0, done.stdout)


GROUPS = [
    the_demonstration_shows_what_readme_says,
    the_gate_opens_for_what_is_good,
    the_gate_stays_shut_for_what_is_not,
    the_page_of_mnist_runs,
    the_page_of_captcha_runs,
]
