"""Which wrong pages replay of the log heals, case by case."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from integrity.conftest import LAYOUT
from steelyard.integrity.scrub.cluster_state import ClusterState, RunState
from steelyard.integrity.scrub.finding import Damage, is_healed_by_replay

UNLOGGED = (1663, 5, 16400)
CRASHED = ClusterState(Path("x"), LAYOUT, RunState.CRASHED, replay_from=1000, replay_to=2000)
TORN = Damage("base/5/16384", 3, "main", "checksum", lsn=1500, database=5, filenode=16384)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({}, True),
        ({"lsn": 999}, False),
        ({"lsn": 2001}, False),
        ({"reason": "header"}, True),
        ({"reason": "not empty"}, False),
        ({"reason": "unreadable"}, False),
        ({"reason": "short", "lsn": 0}, True),
        ({"reason": "short", "lsn": 1500}, True),
        ({"reason": "short", "lsn": 999}, False),
        ({"reason": "short", "lsn": 1500, "missing_bytes": 1}, False),
        ({"reason": "missing segment", "lsn": 0, "missing_bytes": 1}, False),
        ({"reason": "missing segment", "lsn": 0}, True),
        ({"reason": "missing segment", "lsn": 999}, False),
        ({"reason": "backwards", "lsn": 5, "before": 1500}, True),
        ({"reason": "backwards", "lsn": 5, "before": 999}, False),
        ({"path": "base/5/t3_16390", "lsn": 0}, True),
        ({"path": "base/5/t3_16390", "reason": "unreadable"}, False),
        ({"tablespace": 1663, "filenode": 16400, "lsn": 0}, True),
        ({"tablespace": 1663, "filenode": 16400, "lsn": 0, "fork": "vm"}, True),
        ({"tablespace": 1663, "filenode": 16400, "lsn": 0, "fork": "init"}, False),
        ({"tablespace": 1700, "filenode": 16400, "lsn": 0}, False),
    ],
)
def test_what_replay_heals(change: dict[str, object], wanted: bool) -> None:
    finding = replace(TORN, **change)  # type: ignore[arg-type]
    assert is_healed_by_replay(finding, CRASHED, frozenset({UNLOGGED})) is wanted
    stopped = ClusterState(Path("x"), LAYOUT, RunState.STOPPED)
    assert not is_healed_by_replay(finding, stopped, frozenset({UNLOGGED}))


def test_without_whole_pages_or_without_a_log_no_page_is_healed() -> None:
    assert not is_healed_by_replay(TORN, replace(CRASHED, heals_torn=False), frozenset())
    for reason in ("checksum", "short", "missing segment"):
        finding = replace(TORN, reason=reason)
        assert not is_healed_by_replay(finding, replace(CRASHED, replay_to=None), frozenset())
