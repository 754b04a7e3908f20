"""The reference of the commands and the manual page say what the program says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from thinned import thinned

ROOT = Path(__file__).parents[2]
MANUAL = Path("packaging/steelyard.data/data/share/man/man1/steelyard.1")


@thinned(
    ("script", "page"),
    [("reference.py", Path("docs/reference/commands.md")), ("man_page.py", MANUAL)],
    1,
)
def test_what_is_kept_is_what_the_program_prints(script: str, page: Path) -> None:
    made = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / script)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    kept = (ROOT / page).read_text(encoding="utf-8")
    assert kept == made.stdout, f"use .venv/bin/python .ci/{script} > {page}"


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff on the path")
def test_the_manual_page_is_set_without_a_warning() -> None:
    told = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", str(ROOT / MANUAL)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stderr == ""
    assert "Weigh the arms of a study against each other" in " ".join(told.stdout.split())
