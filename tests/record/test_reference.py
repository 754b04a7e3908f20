"""The page on the record says what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_on_the_record_is_generated_from_its_models() -> None:
    made = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "record_reference.py")],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    kept = (ROOT / "docs" / "reference" / "record.md").read_text(encoding="utf-8")
    how = "use .venv/bin/python .ci/record_reference.py > docs/reference/record.md"
    assert kept == made.stdout, how
