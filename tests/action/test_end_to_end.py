"""The gate on two real builds: it closes on a known loss, and not on none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.postgres.selection import find_postgres

pytestmark = [pytest.mark.postgres, pytest.mark.long]

GATE = Path(__file__).parents[2] / "action" / "gate.py"
SCALE = "workload.scale=1"


def gate(directory: Path, out: str, keys: str) -> tuple[int, dict[str, Any], str]:
    """Its exit status, gate.json and gate.md."""
    build = str(find_postgres("18")._build.bindir)
    done = subprocess.run(
        [
            sys.executable, GATE, "weigh", "--control", build, "--arm", build, "--set", keys,
            "--budget", "30s", "--equal-budget", "20s", "--out", out,
            "--program", f"{sys.executable} -m steelyard",
        ],
        cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    kept = directory / out
    assert (kept / "gate.json").is_file(), done.stderr
    return (
        done.returncode,
        json.loads((kept / "gate.json").read_text()),
        (kept / "gate.md").read_text(),
    )


def test_it_closes_on_a_known_loss_and_lets_equal_builds_through(tmp_path: Path) -> None:
    status, found, page = gate(tmp_path, "lossy", f"{SCALE}\narm.weight.double_work=20%")
    assert (status, found["outcome"]) == (1, "closed")
    assert "slower" in page
    assert found["runner"]["smallest_visible_percent"] > 0
    assert "read equal arms as" in page
    for file in ("junit.xml", "record/report.html", "equal-arms/verdict.json"):
        assert (tmp_path / "lossy" / file).is_file()
    status, found, _ = gate(tmp_path, "equal", f"{SCALE}\narm.name=again")
    assert status == 0
    assert found["outcome"] in ("passed", "open")
    assert not (tmp_path / "equal" / "equal-arms").exists(), "this runner is known by now"
