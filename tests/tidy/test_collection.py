"""The tests bear the same names in every process: each worker of a run collects for itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.long
def test_two_processes_collect_the_same_names() -> None:
    first, second = (_collected(seed) for seed in ("1", "2"))
    assert len(first) > 1000
    assert first == second


def _collected(seed: str) -> list[str]:
    """Names of all tests, as a process with this seed of its hashes collects them."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", str(TESTS)],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in done.stdout.splitlines() if "::" in line]
