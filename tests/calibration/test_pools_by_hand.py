"""A buffer pool of two sizes, by hand on a real server, and its section of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.engines.account import choose_account
from steelyard.engines.cache import open_cache
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.registry import open_run
from validation import pools_by_hand
from validation.pages import pooled
from validation.results import Results

MACHINE = {"processor": "AMD EPYC", "allowed_processors": [0, 1], "memory_bytes": 1 << 34,
           "kernel": "Linux 6.18", "virtual": True}  # fmt: skip
SESSION = "2026-11-25T12:00:00+00:00"


def session(tmp_path: Path, low: float, high: float) -> Results:
    results = Results(tmp_path / "pools_by_hand.jsonl")
    results.add("w", {
        "kind": "weighing", "session": SESSION, "load_before": 0.2, "machine": MACHINE,
        "estimate_percent": (low + high) / 2, "low_percent": low, "high_percent": high,
        "seconds": 150.0,
    })  # fmt: skip
    for number, ratio in enumerate([1.19, 1.20, 1.21, 1.20]):
        pair = {"kind": "pair", "session": SESSION, "128MB": 1000.0, "1GB": 1000.0 * ratio}
        results.add(f"p{number}", pair)
    return results


def test_pairs_stand_beside_the_weighing_with_an_interval_of_their_own(tmp_path: Path) -> None:
    text = pooled.section(session(tmp_path, 18.0, 21.0))
    assert "+20.0 [+18.7, +21.3]" in text
    assert "2.5 min" in text
    assert "overlap" in text


def test_intervals_that_do_not_overlap_are_said_to_be_apart(tmp_path: Path) -> None:
    assert "**apart**" in pooled.section(session(tmp_path, 22.0, 24.0))
    assert "Not yet measured" in pooled.section(Results(tmp_path / "none.jsonl"))


@pytest.mark.long
@pytest.mark.postgres
def test_a_server_is_driven_with_each_size_of_its_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools_by_hand, "SCALE", 1)
    bindir = Path(find_postgres("18").identity.bindir)
    with open_run(open_cache(), choose_account(None)) as run:
        slot = run.slot(0)
        server = pools_by_hand.filled(slot.path / "data", slot, bindir)
        for size in pools_by_hand.SIZES:
            assert pools_by_hand.warm(server, slot, bindir, size, 1, 1) > 100
