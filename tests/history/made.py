"""Makes folders of small records, complete and plausible, without any server."""

from __future__ import annotations

import errno
import json
import math
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from report.conftest import make_record

STUDY = """\
name = "{study}"
title = "What do data checksums cost?"
question = "May I leave data checksums on?"

[control]
name = "{control}"
version = "18"

[workload]
name = "pgbench"
scale = {scale}
clients = {clients}

[budget]
measuring = {measuring}

[[arm]]
name = "{arm}"
checksums = false
{more}
"""
DAY = "2026-03-{day:02d}T120000Z"


def keep_record(
    folder: Path,
    *,
    effect: float = 0.024,
    spread: float = 0.002,
    epochs: int = 8,
    seed: int = 7,
    study: str = "checksums",
    arms: tuple[str, str] = ("on", "off"),
    scale: int = 50,
    clients: int = 8,
    measuring: str = '"2m"',
    more: str = "",
    control_build: dict[str, Any] | None = None,
    arm_build: dict[str, Any] | None = None,
    machine: dict[str, Any] | None = None,
    **options: Any,
) -> Path:
    """A record whose epochs scatter by `spread` around the log ratio `effect`."""
    options = {"slices_per_epoch": 2, "causes": False, "threats": [], **options}
    make_record(
        folder, arms=arms, epochs=epochs, effects=(effect,), spread=spread, seed=seed, **options
    )
    words = {"study": study, "control": arms[0], "arm": arms[1], "scale": scale, "more": more}
    text = STUDY.format(**words, clients=clients, measuring=measuring)
    (folder / "study.toml").write_text(text)
    change(folder / "plan.json", lambda plan: {**plan, "study": study})
    change(folder / "environment.json", lambda found: _at(found, arms, control_build, arm_build))
    if machine:
        change(folder / "environment.json", lambda found: {**found, "machine": machine})
    if (folder / "verdict.json").exists():
        d = readings(effect, spread, epochs, seed)
        change(folder / "verdict.json", lambda said: _with_readings(said, d, seed, study))
    return folder


def readings(effect: float, spread: float, epochs: int, seed: int) -> list[float]:
    """Log ratios of epochs."""
    dice = random.Random(f"{seed}/d")
    return [dice.gauss(effect, spread) for _ in range(epochs)]


def change(file: Path, by: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write a JSON file anew."""
    file.write_text(json.dumps(by(json.loads(file.read_text()))))


def close_folder(folder: Path, patched: pytest.MonkeyPatch) -> None:
    """As where it is another account's with mode 0700; root would list it all the same."""
    listed = os.scandir

    def scandir(path: Any = ".") -> Any:
        if not isinstance(path, int) and Path(path) == folder:
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
        return listed(path)

    patched.setattr(os, "scandir", scandir)


def change_contrast(folder: Path, **values: Any) -> None:
    """Values of the first contrast of a verdict, written anew."""

    def changed(verdict: dict[str, Any]) -> dict[str, Any]:
        first, *rest = verdict["contrasts"]
        return {**verdict, "contrasts": [{**first, **values}, *rest]}

    change(folder / "verdict.json", changed)


def _at(
    environment: dict[str, Any],
    arms: tuple[str, str],
    control_build: dict[str, Any] | None,
    arm_build: dict[str, Any] | None,
) -> dict[str, Any]:
    changed = environment["arms"]
    for arm, build in zip(arms, (control_build, arm_build), strict=True):
        changed[arm] = {**changed[arm], "build": {**changed[arm]["build"], **(build or {})}}
    return {**environment, "arms": changed}


def _with_readings(
    verdict: dict[str, Any], d: list[float], seed: int, study: str
) -> dict[str, Any]:
    mean = sum(d) / len(d)
    sd = math.sqrt(sum((x - mean) ** 2 for x in d) / (len(d) - 1))
    half = 2.4 * sd / math.sqrt(len(d))
    low, middle, high = (math.expm1(mean + side * half) * 100 for side in (-1, 0, 1))
    [one] = verdict["contrasts"]
    word = "inconclusive"
    if low * high > 0:
        word = "faster" if middle > 0 else "slower"
    told = {"estimate_percent": middle, "low_percent": low, "high_percent": high, "verdict": word}
    said = f"{one['arm']} is {word}: {middle:+.2f} % of throughput"
    details = {**one["details"], "d": d}
    changed = {**one, **told, "details": details, "sentence": said}
    return {**verdict, "seed": seed, "study": study, "contrasts": [changed]}
