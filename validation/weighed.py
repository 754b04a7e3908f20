"""Weighs by the command that a user would give, and reads what it left."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STEELYARD = Path(sys.executable).with_name("steelyard")
_OF_THE_MACHINE = ("kernel", "processor", "allowed_processors", "memory_bytes", "virtual")


def weighed(
    name: str, words: Sequence[str], record: Path
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The verdict, its only contrast, and the environment; SystemExit says what `name` died of."""
    command: list[str | Path] = [STEELYARD, "weigh", *words, "--json", "--record", record]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: {name} ended with {done.returncode}\n{done.stderr[-2000:]}")
    verdict = json.loads(done.stdout)
    [contrast] = verdict["contrasts"]
    return verdict, contrast, json.loads((record / "environment.json").read_text())


def machine_of(environment: Mapping[str, Any]) -> dict[str, Any]:
    """What a result keeps of the machine that it was measured on."""
    return {name: environment["machine"][name] for name in _OF_THE_MACHINE}
