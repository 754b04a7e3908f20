"""The reference of the commands says what the program says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_reference_is_what_the_program_prints() -> None:
    made = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "reference.py")],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    kept = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert kept == made.stdout, "use .venv/bin/python .ci/reference.py > docs/reference/commands.md"
