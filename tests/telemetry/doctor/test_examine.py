"""What can only be measured of a host is measured, and nothing is left behind."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest

from steelyard.engines.postgres.selection import find_postgres
from steelyard.telemetry.doctor.examine import (
    CHECKS,
    clock_cost_ns,
    examine,
    sample_recent_load,
    sync_time_us,
)

CPU = "sys/devices/system/cpu"


@pytest.mark.parametrize(("own_s", "is_busy"), [(0.0, True), (0.6, True), (2.0, False)])
def test_time_that_we_use_ourselves_is_not_that_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_s: float, is_busy: bool
) -> None:
    """Of a host whose processors worked for a second while we slept."""
    stat, spent = tmp_path / "proc/stat", iter((5.0, 5.0 + own_s))
    stat.parent.mkdir()
    stat.write_text("cpu  100 0 0 1000 0 0 0 0\ncpu0 100 0 0 1000 0 0 0 0\n")
    monkeypatch.setattr(time, "process_time", lambda: next(spent))

    def work(_seconds: float) -> None:
        stat.write_text("cpu  200 0 0 1000 0 0 0 0\ncpu0 200 0 0 1000 0 0 0 0\n")

    lately = sample_recent_load(tmp_path, 0.0, write=False, pause=work, root=tmp_path)
    assert lately.busy_processors is not None
    assert (lately.busy_processors > 0) is is_busy


def test_a_durable_write_is_timed_and_its_file_is_gone(tmp_path: Path) -> None:
    lately = sample_recent_load(tmp_path, 0.1, write=True)
    assert lately.sync_us is not None
    assert lately.sync_us > 0
    assert list(tmp_path.iterdir()) == []
    assert sample_recent_load(tmp_path, 0.1, write=False).sync_us is None


@pytest.mark.long
@pytest.mark.postgres
def test_a_durable_write_takes_what_pg_test_fsync_says(tmp_path: Path) -> None:
    program = Path(find_postgres("18").identity.bindir) / "pg_test_fsync"
    asked = [program, "-s", "1", "-f", tmp_path / "theirs"]
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    one_write = told.partition("one 8kB write")[2].partition("two 8kB writes")[0]
    found = re.search(r"fdatasync\s+[\d.]+ ops/sec\s+(\d+) usecs/op", one_write)
    assert found is not None, told
    ours = sync_time_us(tmp_path)
    assert ours is not None
    assert float(found[1]) / 4 < ours < float(found[1]) * 4, "other work uses the disk too"


def test_a_directory_to_come_is_measured_in_the_one_it_will_stand_in(tmp_path: Path) -> None:
    assert sync_time_us(tmp_path / "not" / "there") is not None
    assert not (tmp_path / "not").exists()


def test_where_nothing_may_be_written_nothing_is_measured() -> None:
    assert sync_time_us(Path("/proc")) is None


def test_a_reading_of_the_clock_takes_some_time() -> None:
    assert 0 <= clock_cost_ns() < 1_000_000


def test_a_counter_that_cannot_be_read_ends_nothing(tmp_path: Path) -> None:
    for processor, text in (("cpu0", "3"), ("cpu1", "none"), ("cpu2", None)):
        counter = tmp_path / CPU / processor / "thermal_throttle/core_throttle_count"
        counter.parent.mkdir(parents=True)
        if text is None:
            counter.mkdir()
        else:
            counter.write_text(f"{text}\n")

    def heats_up(seconds: float) -> None:
        (tmp_path / CPU / "cpu0/thermal_throttle/core_throttle_count").write_text("5\n")

    lately = sample_recent_load(tmp_path, 0, write=False, pause=heats_up, root=tmp_path)
    assert lately.heat_events == 2
    found = {one.name: one for one in examine(tmp_path, lately, root=tmp_path)}
    assert found["heat"].level == "warning"
    assert found["heat"].seen == (
        "5 times since the start, 2 just now; could not be read of cpu1, cpu2"
    )
    cpu = tmp_path / CPU
    assert sample_recent_load(cpu, 0, write=False, root=cpu).heat_events is None


def test_files_that_are_not_as_they_should_be_cost_what_they_tell_and_no_more(
    tmp_path: Path,
) -> None:
    for name, text in (("stat", "cpu0 some words\n"), ("meminfo", "MemTotal: much kB\n")):
        (tmp_path / "proc").mkdir(exist_ok=True)
        (tmp_path / "proc" / name).write_text(text)
    lately = sample_recent_load(tmp_path, 0, write=False, pause=lambda seconds: None, root=tmp_path)
    assert lately.clock_ns is not None
    findings = examine(tmp_path, lately, root=tmp_path)
    assert len(findings) == len(CHECKS)
    found = {one.name: one for one in findings}
    assert found["stolen time"].seen.startswith("could not be read: ")
    assert found["neighbours"].level == "unseen"
    assert found["memory"].seen.startswith("could not be read: ")
    assert found["memory"].level == "unseen"
    assert found["autogroup"].seen == "this kernel has none"


def test_every_check_is_asked(tmp_path: Path) -> None:
    findings = examine(tmp_path, sample_recent_load(tmp_path, 0.1, write=False))
    assert len(findings) == len(CHECKS)
    assert all(one.to_json()["level"] in ("good", "note", "warning", "unseen") for one in findings)
