"""Keeps what drills saw and writes docs/results/drilled.md of it.

    steelyard drill --version 18 --json > 18.json
    python -m validation.drilled 18.json 16.json

A drill may come in parts (`--part`), a file each; `drill --algorithms --json` is one more. Without
files the page is written anew from what was kept in validation/results/.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from validation.pages import folded
from validation.pages.drilled import page
from validation.results import FOLDER
from validation.weigh_command import machine_of

PAGE = Path(__file__).parents[1] / "docs" / "results" / "drilled.md"
FORM = folded.Form(most_cells=20)
ALGORITHMS = "algorithms.json.gz"
_ORDER = ("18", "16")
_HEAD = ("version", "seed", "copies")
_PARTS = ("pages", "files", "recovery", "consequences", "consequence_rates")
_ROWS = ("files", "recovery")
"""Parts of which single faults may come apart as well (`--fault`); the later file counts."""


def read_drills(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """The drills of results/drill-*.json.gz, newest version first."""
    files = (folder / f"drill-{major}.json.gz" for major in _ORDER)
    return [_read(file) for file in files if file.exists()]


def keep(files: Sequence[Path], folder: Path = FOLDER) -> None:
    """Keep what `steelyard drill --json` printed; of one version the parts may come apart.

    ValueError where one was interrupted or a part is missing.
    """
    whole: dict[str, dict[str, Any]] = {}
    for file in files:
        facts = json.loads(file.read_text())
        if "algorithms" in facts:
            _write(folder / ALGORITHMS, facts | {"machine": machine_of(facts)})
            continue
        if facts["interrupted"]:
            raise ValueError(f"{file} was interrupted")
        drill = whole.setdefault(facts["version"].partition(".")[0], {})
        parts = {name: facts[name] for name in _HEAD + _PARTS if facts.get(name)}
        drill.update(
            parts | {name: _merged(drill.get(name, []), parts.get(name, [])) for name in _ROWS}
        )
    for major, facts in whole.items():
        if missing := [name for name in _PARTS if not facts.get(name)]:
            raise ValueError(f"PostgreSQL {major}: no {missing[0]}")
        _write(folder / f"drill-{major}.json.gz", facts)


def read_algorithms(folder: Path = FOLDER) -> dict[str, Any] | None:
    """The comparison of ways to verify a page, if there is one."""
    file = folder / ALGORITHMS
    return _read(file) if file.exists() else None


def files() -> dict[Path, str]:
    """The page and its tables, as the results have them."""
    return folded.files_of(PAGE, page(read_drills(), read_algorithms()), FORM)


def _read(file: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    return facts


def _write(file: Path, facts: dict[str, Any]) -> None:
    text = json.dumps(facts, separators=(",", ":")).encode()
    file.write_bytes(gzip.compress(text, mtime=0))


def _merged(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[dict[str, Any]]:
    drilled = {(row["fault"], row["place"]) for row in now}
    return [row for row in before if (row["fault"], row["place"]) not in drilled] + now


if __name__ == "__main__":
    if sys.argv[1:]:
        keep([Path(name) for name in sys.argv[1:]])
    folded.write(files())
