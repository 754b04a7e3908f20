"""A keeper weighs one cell at a time on its host and hands its record over, file by file."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.engines.file_lock import is_held
from steelyard.fleet.matrix.keeper import Keeper, Look
from steelyard.fleet.matrix.matrix import Cell

QUICK = ("workload.scale=1", "workload.clients=2", "budget.measuring=20s", "budget.slice=50ms")


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    made = Keeper(tmp_path / "cache" / "lock")
    yield made
    made.end()


def _cell(study: str, text: str | None = None, changes: tuple[str, ...] = ()) -> Cell:
    return Cell(study, text, "any", None, 0, 7, changes)


def _ended(keeper: Keeper, patience_s: float) -> Look:
    deadline = time.monotonic() + patience_s
    while (seen := keeper.look()).status is None:
        assert time.monotonic() < deadline, seen.told
        time.sleep(0.1)
    return seen


def test_a_study_that_is_wrong_fails_with_its_words(keeper: Keeper) -> None:
    assert keeper.begin(_cell("mine.toml", "nonsense = 1\n"))
    seen = _ended(keeper, 120)
    assert seen.status == 2
    assert 'missing key: "title"' in seen.told


@pytest.mark.postgres
def test_one_weighing_at_a_time_runs_on_a_host_whoever_keeps_it(
    keeper: Keeper, tmp_path: Path
) -> None:
    other = Keeper(tmp_path / "cache" / "lock")
    assert keeper.begin(_cell("aa"))
    assert not keeper.begin(_cell("aa"))
    assert not other.begin(_cell("aa"))
    assert is_held(tmp_path / "cache" / "lock")
    keeper.end()
    assert not is_held(tmp_path / "cache" / "lock")
    assert other.begin(_cell("aa"))
    other.end()


@pytest.mark.postgres
@pytest.mark.long
def test_a_record_is_handed_over_as_it_stands(keeper: Keeper) -> None:
    assert keeper.begin(_cell("aa", changes=QUICK))
    seen = _ended(keeper, 600)
    assert seen.status == 0, seen.told
    files = keeper.manifest()
    assert {"plan.json", "slices.jsonl", "verdict.json", "study.toml"} <= set(files)
    for name, kept in files.items():
        found = b""
        while piece := keeper.chunk(name, len(found)):
            found += piece
        assert (len(found), hashlib.sha256(found).hexdigest()) == (kept.size_bytes, kept.sha256)
