"""Each threat of memory is raised by what it is about, and by nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evaluation.made import MakeEpoch, make_plan
from evaluation.threats.test_machine import QUIET, SECOND
from evaluation.transaction.test_time_parts import epoch as timed
from steelyard.evaluation.threats.memory import (
    FilesStayedCached,
    HardlyRead,
    PageCacheBypassed,
    ReadsOfArm,
    TimeOnProcessors,
    TimesOfArm,
    WritesUnderV1,
    memory_threats,
)
from steelyard.evaluation.threats.run import run_threats
from steelyard.evaluation.threats.turn_facts import ResidencyUnknown
from steelyard.model.threat import Observation
from steelyard.record.environment import ArmFacts, Environment
from steelyard.record.epoch import Epoch, EvictedLine
from steelyard.running.measuring.arm_readings import reading_lines
from steelyard.study.study import Study
from steelyard.telemetry.host import host_readings

CAP = {"cap_bytes": 400 << 20, "held_by": "v1"}


def study(**changes: Any) -> Study:
    facts = {"name": "s", "title": "t", "question": "q", "control": {"name": "on"}}
    return Study.model_validate({**facts, "arms": [{"name": "off"}], **changes})


def threats(
    epochs: list[Epoch], settings: dict[str, str] | None = None, asked: Study | None = None,
    **plan: Any,
) -> tuple[Observation, ...]:  # fmt: skip
    arms = {"on": ArmFacts(build={}), "off": ArmFacts(build={}, settings=settings or {})}
    return memory_threats(
        epochs, make_plan(**plan), asked or study(), Environment(arms=arms), "off"
    )


def reading(read: float, **more: float) -> dict[str, dict[str, float]]:
    """Bytes from the device over the 1,000 transactions of each arm."""
    return {arm: {"read_bytes": read, **more} for arm in ("on", "off")}


def test_a_weighing_of_which_nothing_is_said_raises_nothing(make_epoch: MakeEpoch) -> None:
    assert threats([make_epoch(0, counters=reading(0.0))], writes=True) == ()
    assert threats([make_epoch(0)], memory={**CAP, "held_by": "v2"}, writes=True) == ()
    assert threats([], memory=CAP, asked=study(bound="storage")) == ()


@pytest.mark.parametrize(("read", "raised"), [(0.0, 1), (800_000.0, 1), (900_000.0, 0)])
def test_work_that_hardly_reads_is_not_storage_bound(
    make_epoch: MakeEpoch, read: float, raised: int
) -> None:
    epochs = [make_epoch(n, counters=reading(read)) for n in range(3)]
    each = tuple(ReadsOfArm(arm, read / 1000, None) for arm in ("on", "off"))
    doubts = threats(epochs, asked=study(bound="storage"))
    assert doubts == (HardlyRead(each, None),) * raised
    assert [doubt.name for doubt in doubts] == ["not storage-bound"] * raised


@pytest.mark.parametrize(("processor", "read", "raised"), [(60, 10, 1), (60, 200, 0), (0, 30, 0)])
def test_work_whose_time_goes_to_processors_is_not_storage_bound_however_much_it_reads(
    make_epoch: MakeEpoch, processor: int, read: int, raised: int
) -> None:
    looks = {"processor": processor, "read": read, "wal": 20}
    spent = (100.0, processor / 4, 5.0, looks)
    epochs = [
        replace(
            make_epoch(n),
            totals=replace(timed(n, on=spent, off=spent), outcome="complete"),
        )
        for n in range(3)
    ]
    doubts = threats(epochs, asked=study(bound="storage"))
    assert [doubt.name for doubt in doubts] == ["not storage-bound"] * raised
    if raised:
        times = (pytest.approx(20_000), pytest.approx(120_000 / 17))  # 30 looks of 85 at work
        expected = TimeOnProcessors((TimesOfArm("on", *times), TimesOfArm("off", *times)))
        assert doubts == (expected,)


def test_it_says_how_much_page_cache_there_was_under_the_cap(make_epoch: MakeEpoch) -> None:
    counters = reading(0.0, memory_cache_bytes=float(90 << 20))
    counters["off"] = {"read_bytes": 9e6}
    epochs = [make_epoch(0, counters=counters)]
    [doubt] = threats(epochs, asked=study(bound="storage"), memory=CAP)
    assert doubt == HardlyRead((ReadsOfArm("on", 0.0, 90 << 20),), 400 << 20)
    assert not doubt.invalidates


def test_reads_that_were_not_read_raise_nothing(make_epoch: MakeEpoch) -> None:
    assert threats([make_epoch(0)], asked=study(bound="storage")) == ()


@pytest.mark.parametrize(
    ("held_by", "writes", "raised"),
    [("v1", True, 1), ("v1", False, 0), ("v2", True, 0), ("systemd-run", True, 0)],
)
def test_writes_under_a_cap_of_version_1_are_labelled(
    make_epoch: MakeEpoch, held_by: str, writes: bool, raised: int
) -> None:
    doubts = threats([make_epoch(0)], memory={**CAP, "held_by": held_by}, writes=writes)
    assert doubts == (WritesUnderV1(400 << 20),) * raised
    assert [doubt.name for doubt in doubts] == ["writes under a v1 cap"] * raised
    assert not any(doubt.invalidates for doubt in doubts)


def test_direct_input_and_output_is_labelled_as_another_system(make_epoch: MakeEpoch) -> None:
    [doubt] = threats([make_epoch(0)], settings={"debug_io_direct": "data"})
    assert doubt.name == "page cache bypassed"
    assert doubt == PageCacheBypassed("debug_io_direct", (("off", "data"),))
    assert threats([make_epoch(0)], settings={"debug_io_direct": ""}) == ()


@pytest.mark.parametrize(("resident", "raised"), [(0, 0), (1 << 20, 0), (11 << 20, 1), (None, 1)])
def test_files_that_stayed_in_the_page_cache_are_said(
    make_epoch: MakeEpoch, resident: int | None, raised: int
) -> None:
    evicted = EvictedLine(file_bytes=1 << 30, resident_bytes=resident)
    doubts = threats([make_epoch(0, evicted=evicted), make_epoch(1)], memory=CAP)
    assert [doubt.name for doubt in doubts] == ["files not evicted"] * raised
    if raised:
        stayed = (resident or 0) / (1 << 30)
        seen = FilesStayedCached(stayed, 1, 2) if stayed else ResidencyUnknown()
        assert doubts == (seen,)


def test_what_stayed_is_known_where_one_epoch_tells_it(make_epoch: MakeEpoch) -> None:
    told = EvictedLine(file_bytes=1 << 30, resident_bytes=0)
    silent = EvictedLine(file_bytes=1 << 30, resident_bytes=None)
    assert threats([make_epoch(0, evicted=silent), make_epoch(1, evicted=told)], memory=CAP) == ()
    none = EvictedLine(file_bytes=0, resident_bytes=None)
    assert threats([make_epoch(0, evicted=none)], memory=CAP) == (), "there was nothing to drop"


def test_pressure_that_a_cap_brings_about_says_nothing_of_the_machine(
    make_epoch: MakeEpoch,
) -> None:
    later = replace(QUIET, monotonic_ns=100 * SECOND, pressure_ns={"memory full": 3 * SECOND})
    machine = reading_lines(host_readings(QUIET, later))
    epochs = [make_epoch(0, machine=machine)]
    found = run_threats(epochs, make_plan(), study(), "off")
    assert [one.name for one in found] == ["memory or disk nearly full"]
    assert run_threats(epochs, make_plan(memory=CAP), study(), "off") == ()
