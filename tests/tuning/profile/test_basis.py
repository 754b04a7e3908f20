"""What a profile is made from is read from the machine, the cap and the probe."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steelyard.engines.account import Account
from steelyard.model.errors import UsageError
from steelyard.record.machine import PEAK_READ, RANDOM_READ, SEQUENTIAL_READ
from steelyard.tuning.profile.basis import Storage, memory_here, require_accessible
from tuning.probes import figure, probe_of


def test_a_cap_is_all_there_is_and_servers_share_the_rest(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal:       8388608 kB\nMemFree: 1 kB\n")
    assert memory_here(1 << 30, 3, tmp_path) == (1 << 30, "as given")
    assert memory_here(None, 1, tmp_path) == (8 << 30, "the memory of this machine")
    have, source = memory_here(None, 4, tmp_path)
    assert have == 2 << 30
    assert "one of 4 parts" in source


def test_of_a_control_group_its_limit_counts_whatever_is_used_of_it(tmp_path: Path) -> None:
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "proc/meminfo").write_text("MemTotal:       8388608 kB\n")
    (group / "cgroup.procs").touch()
    (group / "memory.max").write_text(f"{4 << 30}\n")
    (group / "memory.current").write_text(f"{3 << 30}\n")
    have, source = memory_here(None, 1, tmp_path)
    assert (have, "control group" in source) == (4 << 30, True)
    assert memory_here(None, 2, tmp_path)[0] == 2 << 30
    (group / "memory.max").write_text(f"{64 << 30}\n")
    assert memory_here(None, 1, tmp_path) == (8 << 30, "the memory of this machine")


def test_where_control_groups_are_not_to_be_seen_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "proc/meminfo").write_text("MemTotal:       8388608 kB\n")
    have, source = memory_here(None, 1, tmp_path)
    assert (have, source.endswith("one may allow less")) == (8 << 30, True)
    assert memory_here(1 << 30, 1, tmp_path) == (1 << 30, "as given")


def test_a_place_of_another_account_is_refused_with_what_to_type(tmp_path: Path) -> None:
    (tmp_path / "theirs/data").mkdir(parents=True)
    (tmp_path / "theirs").chmod(0)
    nobody = Account("nobody", 65534, 65534)
    account = nobody if os.geteuid() == 0 else Account("ours", os.geteuid(), os.getegid())

    def met() -> list[str]:
        try:
            require_accessible(tmp_path / "theirs/data")
        except UsageError as error:
            return error.lines()
        return []

    first, hint = account.call(met)
    (tmp_path / "theirs").chmod(0o700)
    assert "Permission denied" in first
    assert "--disk SIZE" in hint
    require_accessible(tmp_path / "not there yet")


def test_useful_depth_follows_from_littles_law() -> None:
    found = probe_of(figure(RANDOM_READ, 10_000), figure(PEAK_READ, 500_000))
    storage = Storage.of_probe(found)
    assert storage.useful_depth == pytest.approx(50)
    assert storage.random_page_cost is None
    scanned = probe_of(figure(RANDOM_READ, 10_000), figure(SEQUENTIAL_READ, 8_000, 128 << 10))
    assert Storage.of_probe(scanned).useful_depth is None
    assert Storage.of_probe(scanned).random_page_cost == pytest.approx(12.8)
    bound = probe_of(figure(RANDOM_READ, 10_000), figure(PEAK_READ, 9e5, processor_share=0.95))
    assert Storage.of_probe(bound).most_by_processors
    assert not storage.most_by_processors


def test_nothing_of_the_device_is_taken_from_a_probe_through_the_page_cache() -> None:
    figures = figure(RANDOM_READ, 10_000), figure(SEQUENTIAL_READ, 8_000, 128 << 10)
    cached = Storage.of_probe(probe_of(*figures, figure(PEAK_READ, 500_000), direct=False))
    assert (cached.random_page_cost, cached.useful_depth) == (None, None)
    assert cached.why_not.startswith("the probe could not bypass the page cache")
