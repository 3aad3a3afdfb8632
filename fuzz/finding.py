"""What breaks a fuzz target, and what is said of it."""

import base64
import re
from dataclasses import dataclass
from pathlib import Path

TOLD = 4096  # bytes of a finding that are shown
FAULT = re.compile(r"broken promise: .*|runtime error: .*|ERROR: \w+: .*")


def fault_in(text):
    """What a program says that it ends of; nothing where it says none."""
    said = FAULT.search(text)
    return said[0][:500] if said else ""


@dataclass
class Finding:
    kept: Path
    why: str
    program: Path
    target: str
    smallest: Path

    def short(self):
        content = self.smallest.read_bytes()
        shown = f"; base64: {base64.b64encode(content).decode()}" if len(content) <= TOLD else ""
        return f"{self.why}; {len(content)} bytes{shown}"

    def __str__(self):
        return f"{self.kept}\n    {self.why}\n    repeat: {self.program} {self.target} {self.smallest}"
