"""What rows of several themes share: files, checks, commands."""

import checks
from files import KINDS, File
from marks import memory_at_most, times_at_most
from row import Command

MODEL, SMALL, MEDIUM, LARGE, HUGE = map(File, ("model", "small", "medium", "large", "huge"))
BF16, PRUNED, MANY = map(File, ("bf16", "pruned", "many"))
MODEL_GZ, SMALL_GZ, MEDIUM_GZ, LARGE_GZ = (File(file.kind, "python") for file in (MODEL, SMALL, MEDIUM, LARGE))
LARGE_OURS, HUGE_OURS = (File(file.kind, "ckpt") for file in (LARGE, HUGE))

same = checks.holds()
on_cpu = checks.holds(device="cpu")
stripped = checks.holds(prefix="")
stripped_on_cpu = checks.holds(prefix="", device="cpu")
CP = Command("cp IN.pt OUT.pt", same, remark="changes nothing")
CP_FOLDER = Command("cp -r IN/ OUT/", on_cpu, remark="changes nothing")
CAT = Command("cat IN.pt > /dev/null", checks.succeeds, remark="reads it")

LIKE_CP = times_at_most(1.1, "cp")
MEMORY = memory_at_most(64)
MEMORY_MANY = memory_at_most(64, tensors=KINDS["many"].size // 64)
