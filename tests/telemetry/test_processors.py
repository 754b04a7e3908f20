"""Processors are offered one of every core first, and never one that may not be used."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from steelyard.telemetry.capacity import allowed_processors, siblings_last


def test_second_threads_of_a_core_come_after_first_threads_of_all() -> None:
    core = {0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"}
    assert siblings_last([0, 1, 4, 5], core) == [0, 1, 4, 5]
    neighbours = {0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"}
    assert siblings_last([0, 1, 2, 3], neighbours) == [0, 2, 1, 3]


@given(st.dictionaries(st.integers(0, 200), st.sampled_from(["a", "b", "c"]), min_size=1))
def test_no_processor_is_lost_or_doubled(core: dict[int, str]) -> None:
    assert sorted(siblings_last(list(core), core)) == sorted(core)


def test_only_what_the_affinity_mask_holds_is_allowed(tmp_path: Path) -> None:
    mask = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(mask)})
        assert allowed_processors(tmp_path) == [min(mask)]
    finally:
        os.sched_setaffinity(0, mask)
    assert sorted(allowed_processors(tmp_path)) == sorted(mask)


def test_a_quota_of_half_a_processor_leaves_one(tmp_path: Path) -> None:
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (group / "cgroup.procs").touch()
    (group / "cpu.max").write_text("50000 100000\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    assert len(allowed_processors(tmp_path)) == 1
