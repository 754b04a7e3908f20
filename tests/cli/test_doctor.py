"""`steelyard doctor` says at once how long it looks, and on standard output what it saw."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from cli.conftest import Steelyard


def test_it_says_at_once_for_how_long_it_looks(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "steelyard", "doctor", str(tmp_path), "--seconds", "600"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        process.kill()  # it would go on looking for ten minutes
    assert said == "looking for 600 s at what else runs here\n"


def test_standard_output_is_the_findings_alone(steelyard: Steelyard) -> None:
    said = steelyard("doctor", ".", "--seconds", "0.1", "--no-write", "--json")
    assert said.returncode in (0, 1)
    assert {"name", "level", "seen", "advice"} <= json.loads(said.stdout)["findings"][0].keys()
    assert said.stderr == "looking for 0.1 s at what else runs here\n"
