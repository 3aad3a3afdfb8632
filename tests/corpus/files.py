"""What is asked of one file of the corpus: read it, digest it, convert it in every direction, read it back."""

import hashlib
import shutil
import tarfile

import truth

try:
    import torch
except ImportError:
    torch = None

UNREADABLE, UNSAFE = 3, 4
RECOVERED = ("zip", "legacy", "gzip:zip", "gzip:legacy", "safetensors")  # kinds of files


class Outcome:
    """What came of a file, for the page."""

    def __init__(self, row):
        self.row = row
        self.read = self.equal = False
        self.refused = []  # (what was asked, the reason)
        self.verdicts = {}

    @property
    def group(self):
        return self.row.kind


def reason(result, row):
    """The program's own words for a refusal, without the folder's name."""
    lines = result.err.strip().split("\n")
    line = next((line for line in lines if line.startswith("ckpt: ")), lines[0])
    return line.removeprefix("ckpt: ").replace(str(row.path), "").removeprefix(": ").replace(str(row.path.parent), "")


def tensors(report, device=None):
    """The tensors of a report; with `device`, as they must be after `--to device`."""
    return [
        dict(t, device=t["device"] if device is None or t["device"] in (None, "meta") else device)
        for t in report["tensors"]
    ]


def by_name(listed):
    """Of a format that puts them in an order of its own, which counts the storages."""
    return sorted((dict(t, storage=None) for t in listed), key=lambda t: t["name"])


def plain(report):
    """What must not change: all that inspect says but for the file's own name, size and container."""
    kept = {
        k: v for k, v in report.items() if k not in ("file", "bytes", "format", "compression", "metadata", "warnings")
    }
    return {**kept, "globals": sorted((g["name"], g["verdict"]) for g in report["globals"])}


def is_refused_whole(done):
    """With what can be taken of it: its state dict, or where that is empty a tensor."""
    told = ("OUT --weights-only", "NAME -o OUT", "there is no tensor in it")
    return done.code == UNREADABLE and any(way in done.err for way in told)


class FileTest:
    def __init__(self, suite, ckpt, row, folder):
        self.suite, self.ckpt, self.row, self.folder = suite, ckpt, row, folder
        self.outcome = Outcome(row)
        self.good = True

    def check(self, what, good, detail=""):
        self.good &= self.suite.check(f"{self.row.name}: {what}", good, detail)
        return good

    def run(self):
        self.folder.mkdir()
        try:
            if self.row.format:
                self.readable()
            else:
                self.named()
        finally:
            shutil.rmtree(self.folder)
        return self.outcome

    def named(self):
        done = self.ckpt("inspect", self.row.path)
        self.check("refused", done.code == UNREADABLE and done.err.startswith("ckpt: "), done)
        if self.row.names_as:
            self.check(f"the message names {self.row.names_as}", self.row.names_as in done.err.lower(), done)
        out = self.folder / "out"
        done = self.ckpt("convert", self.row.path, out)
        self.check("convert refuses, too", done.code == UNREADABLE and not list(self.folder.iterdir()), done)
        self.outcome.refused.append(("read", reason(done, self.row)))

    def readable(self):
        done = self.ckpt("inspect", "--json", self.row.path)
        if not self.check("inspect", done.code == 0, done):
            self.outcome.refused.append(("read", reason(done, self.row)))
            return
        report = done.json
        self.outcome.read = True
        self.outcome.verdicts = {g["name"]: g["verdict"] for g in report["globals"]}
        wrong = list(truth.differences(self.row, report))
        self.check("inspect says what PyTorch sees", not wrong, "\n".join(wrong[:10]))
        done = self.ckpt("digest", "--json", self.row.path)
        if not self.check("digest", done.code == 0, done):
            return
        digest = done.json
        wrong = list(truth.digest_differences(self.row, digest))
        self.check("digests are PyTorch's", not wrong, "\n".join(wrong[:10]))
        if self.row.kind == "gzip:tar-other":
            self.unpacked(report, digest)
        done = self.ckpt("verify", self.row.path)
        self.check("verify", done.code == 0, done)
        allow = self.policy()
        if allow is not None:
            if self.row.like.written:
                to_cpu = ["--to", "cpu", "--verify=full", *allow]
                self.convert("convert --to cpu", to_cpu, self.row.format, "cpu", report, digest)
                self.convert("convert", allow, self.row.format, None, report, digest)
            for other in self.row.like.to if self.row.tensors or not self.row.like.weights else ():
                self.convert(f"convert to {other}", ["--format", other, *allow], other, None, report, digest)
            if self.row.kind in RECOVERED:
                self.recover(allow, digest)
            self.weights_only(allow)
            self.edited(allow, digest)
            self.one_tensor(allow, digest["tensors"])
        self.outcome.equal = self.good

    def recover(self, allow, digest):
        """Nothing of a sound file is lost."""
        out = self.folder / "recovered.pt"
        done = self.ckpt("recover", self.row.path, out, *allow)
        if self.check("recover", done.code == 0, done):
            again = self.ckpt("digest", "--json", out)
            self.check("recovered tensors are the same", again.code == 0 and again.json == digest, again)
        out.unlink(missing_ok=True)

    def unpacked(self, report, digest):
        """An archive is read as the checkpoint in it is, by ckpt and by PyTorch where there is one."""
        weights = self.folder / "weights.th"
        with tarfile.open(self.row.path) as archive:
            member = next(m for m in archive.getmembers() if m.name.endswith("weights.th"))
            weights.write_bytes(archive.extractfile(member).read())
        alone = self.ckpt("inspect", "--json", weights)
        self.check("as it is by itself", alone.code == 0 and alone.json["tensors"] == report["tensors"], alone)
        sums = self.ckpt("digest", "--json", weights)
        self.check("the digests that it has by itself", sums.code == 0 and sums.json == digest, sums)
        if torch:
            state = torch.load(weights, weights_only=True)
            sums = {name: hashlib.sha256(t.contiguous().numpy().tobytes()).hexdigest() for name, t in state.items()}
            self.check("the tensors that PyTorch loads", sums == digest["tensors"], sums)
        weights.unlink()

    def policy(self):
        """The option it takes to write this file; None where nothing writes it."""
        out = self.folder / "policy.pt"
        dangerous = [name for name, verdict in self.outcome.verdicts.items() if verdict == "dangerous"]
        done = self.ckpt("convert", self.row.path, out)
        if not dangerous:
            self.check("policy lets it pass", done.code != UNSAFE, done)
            return []
        self.check("policy refuses it", done.code == UNSAFE and not out.exists(), done)
        self.check("the refusal names what it refuses", any(name in done.err for name in dangerous), done)
        self.outcome.refused.append(("write", reason(done, self.row)))
        return ["--allow-unsafe"]

    def convert(self, what, options, format_, device, report, digest):
        suffix = next((f.suffix for f in truth.FORMATS.values() if f.name == format_), f".{format_}")
        out = self.folder / f"{what.replace(' ', '-')}{suffix}{'.gz' if self.row.gzip else ''}"
        done = self.ckpt("convert", self.row.path, out, *options)
        unsayable = self.row.not_in_legacy()
        if format_ == "torch-legacy" and unsayable:
            named = done.code == UNREADABLE and any(name in done.err for name in unsayable) and not out.exists()
            self.check(f"{what}: refused with the tensor's name", named, done)
            if self.row.format != format_:
                self.outcome.refused.append((format_, reason(done, self.row)))
            return
        if not self.check(what, done.code == 0, done):
            self.outcome.refused.append((what, reason(done, self.row)))
            return
        back = self.ckpt("inspect", "--json", out)
        if not self.check(f"{what}: reads back", back.code == 0, back):
            return
        again = back.json
        self.check(
            f"{what}: format",
            (again["format"], again["compression"]) == (format_, report["compression"]),
            f"{again['format']}, {again['compression']}",
        )
        sums = self.ckpt("digest", "--json", out)
        if format_ == self.row.format or {format_, self.row.format} <= truth.PICKLED:
            expected = dict(plain(report), tensors=tensors(report, device))
            got = plain(again)
            if not self.row.like.ordered:
                expected["tensors"], got["tensors"] = by_name(expected["tensors"]), by_name(got["tensors"])
            wrong = [f"{k}: {got.get(k)!r}\n  expected {v!r}"[:3000] for k, v in expected.items() if got.get(k) != v]
            self.check(f"{what}: the same but for what was asked", not wrong, "\n".join(wrong))
        elif self.row.format in truth.PICKLED_OTHERWISE and format_ in truth.PICKLED:
            self.check(f"{what}: the same tensors", again["tensors"] == report["tensors"], back)
        if self.row.like.weights and format_ != self.row.format:
            few = sums.code == 0 and sums.json["tensors"].items() <= digest["tensors"].items()
            self.check(f"{what}: no other digests", few, sums)
        else:
            self.check(f"{what}: the same digests", sums.code == 0 and sums.json == digest, sums)

    def weights_only(self, allow):
        """The state dict that digest --root auto finds, or a refusal where that finds none."""
        out = self.folder / "weights.pt"
        wanted = self.ckpt("digest", "--json", "--root", "auto", self.row.path)
        done = self.ckpt("convert", self.row.path, out, "--weights-only", "--no-gzip", *allow)
        if self.check("--weights-only: as digest --root auto ends", done.code == wanted.code, done) and not done.code:
            sums = self.ckpt("digest", "--json", out)
            self.check("--weights-only: the same digests", sums.code == 0 and sums.json == wanted.json, sums)
        if self.row.like.weights:
            names = {t["name"] for t in self.row.tensors}
            got = set(wanted.json["tensors"]) if wanted.code == 0 else set()
            told = names == got or (not names and self.row.kind.endswith("model.json"))  # which PyTorch no longer reads
            self.check("--root auto: what PyTorch lists, and no more", told, wanted)

    def edited(self, allow, digest):
        """How tensors lie is no part of what they are; what is cast holds together."""
        out = self.folder / "edited.pt"
        edits = ["--contiguous", "--compact", "--dedupe"]
        command = [self.row.path, out, "--no-gzip", "--verify=full", *allow, *edits]
        if self.row.like.weights:  # taken whole, but for its state dict
            done = self.ckpt("convert", *command)
            self.check("edits: refused", is_refused_whole(done), done)
            return
        if not (self.row.format in truth.PICKLED and self.row.like.written):
            command += ["--format", "torch"]
        done = self.ckpt("convert", *command)
        if not self.check("edits", done.code == 0, done):
            return
        sums = self.ckpt("digest", "--json", out)
        self.check("edits: the same digests", sums.code == 0 and sums.json == digest, sums)
        done = self.ckpt("convert", out, "--in-place", "--dtype", "bfloat16", *allow)
        if self.check("--dtype", done.code == 0, done):
            done = self.ckpt("verify", out)
            self.check("--dtype: verify", done.code == 0, done)
            out.unlink()

    def one_tensor(self, allow, sums):
        """--keep of one name keeps that tensor, and no other bytes than the file had."""
        names = [n for n in sums if n and "#" not in n and "\\" not in n]
        if not names:
            return
        name, out = names[len(names) // 2], self.folder / "one.pt"
        glob = "".join(f"[{c}]" if c in "*?[" else c for c in name)
        for part in (".indices", ".values", ".crow_indices", ".col_indices", ".ccol_indices", ".row_indices"):
            glob = glob.removesuffix(part)
        if self.row.like.weights:  # taken whole, but for its state dict
            done = self.ckpt("convert", self.row.path, out, "--keep", glob, *allow)
            self.check(f"--keep {name}: refused", is_refused_whole(done), done)
            done = self.ckpt("extract", self.row.path, name, "-o", out, *allow)
            if self.check(f"extract {name}", done.code == 0, done):
                got = self.ckpt("digest", "--json", out)
                kept = set(got.json["tensors"].values()) if got.code == 0 else set()
                self.check(f"extract {name}: nothing else", sums[name] in kept and kept <= set(sums.values()), got)
            return
        done = self.ckpt("convert", self.row.path, out, "--keep", glob, *allow)
        if self.check(f"--keep {name}", done.code == 0, done):
            got = self.ckpt("digest", "--json", out)
            kept = got.json["tensors"] if got.code == 0 else {}
            self.check(
                f"--keep {name}: it is there, and nothing new", name in kept and kept.items() <= sums.items(), got
            )


class HostileTest:
    """A file that someone made to harm its reader: it is read or refused, in bounded time and memory."""

    def __init__(self, suite, ckpt, row, folder):
        self.suite, self.ckpt, self.row, self.folder = suite, ckpt, row, folder

    def run(self):
        self.folder.mkdir()
        try:
            return self.judge()
        finally:
            shutil.rmtree(self.folder)

    def judge(self):
        row, out = self.row, self.folder / "out.pt"
        seen = self.ckpt("inspect", "--json", row.path, timeout=20)
        self.suite.check(f"{row.name}: inspect ends well", seen.code in (0, 2, 3) and not seen.timed_out, seen)
        done = self.ckpt("convert", row.path, out, timeout=20)
        self.suite.check(f"{row.name}: convert ends well", done.code in (0, 2, 3, 4) and not done.timed_out, done)
        saved = self.folder.parent / f"{self.folder.name}.recovered"
        kept = self.ckpt("recover", row.path, saved, timeout=20)
        self.suite.check(f"{row.name}: recover ends well", kept.code in (0, 1, 3, 4) and not kept.timed_out, kept)
        self.suite.check(f"{row.name}: recover writes nothing of it", not saved.exists(), kept)
        left = [p.name for p in self.folder.iterdir()]
        self.suite.check(
            f"{row.name}: output all or nothing", left == (["out.pt"] if done.code == 0 else []), f"{left}\n{done}"
        )
        known = seen.json["globals"] if seen.code == 0 else []
        dangerous = sorted(g["name"] for g in known if g["verdict"] == "dangerous")
        unsafe = row.row["verdict"] == "unsafe"
        third_party = all(name.split(".")[0] in ("sklearn",) for name in row.row["disallowed_globals"])
        if unsafe and not third_party:
            self.suite.check(f"{row.name}: not written", done.code != 0, done)
            if seen.code == 0:
                self.suite.check(f"{row.name}: shown as dangerous", dangerous and done.code == 4, seen)
        return (
            {0: "converted", 2: "usage", 3: "unreadable", 4: "unsafe"}.get(done.code, "failed"),
            reason(done, row),
            dangerous,
        )
