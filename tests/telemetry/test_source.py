"""A telemetry source that only this test has gets into record, causes and verdict by data alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.views.verdict_view import render_verdict
from steelyard.engines.engine import Instance
from steelyard.model.errors import EngineError
from steelyard.model.readings import Kind, Sample
from steelyard.record.verdict import Verdict
from steelyard.report.page import render_page
from steelyard.report.source import core_counts, read_source
from steelyard.telemetry.source import (
    REPLACED,
    RESET,
    EpochTelemetry,
    Moment,
    TelemetrySource,
    reading,
)
from story.asked import study_of
from story.scripted import ScriptedWorld


@dataclass
class Electricity:
    """A meter that grows by a step with every reading."""

    name: str = "electricity"
    moment: Moment = "border"
    step: float = 50.0
    missing: str = ""
    lacking: str = ""
    resets: tuple[str | None, ...] = ()
    total: float = field(default=0.0)

    def kinds(self, instance: Instance) -> Sequence[Kind]:
        return (
            Kind("energy_mj", "mJ", per_transaction=True, parts=True),
            Kind("temperature_c", "°C", level=True),
        )

    def needs(self, instance: Instance) -> str:
        return self.lacking

    def read(self, instance: Instance) -> Sample:
        self.total += self.step
        return Sample({"energy_mj": self.total, "temperature_c": 40.0}, self.missing, self.resets)


class Metered(ScriptedWorld):
    """The scripted world with one source more."""

    def sources(self) -> tuple[TelemetrySource, ...]:
        return (*super().sources(), Electricity())


def test_a_source_of_a_tests_own_is_in_record_causes_summary_and_report(
    tmp_path: Path, weigh_in: Callable[..., dict[str, Any]]
) -> None:
    verdict = weigh_in(Metered(tmp_path / "world"), study_of())
    rows = {row["metric"]: row for row in verdict["causes"]}
    assert rows["energy_mj_per_transaction"]["unit"] == "mJ"
    lines = (tmp_path / "record" / "telemetry.jsonl").read_text().splitlines()
    readings = {one["name"]: one for one in json.loads(lines[0])["arms"]["on"]["readings"]}
    assert readings["energy_mj"]["unit"] == "mJ"
    assert readings["energy_mj"]["value"] > 0
    assert readings["temperature_c"]["value"] == 40.0
    assert "energy_mj" in render_verdict(Verdict.model_validate(verdict), 100).replace(" ", "_")
    page = render_page(read_source(tmp_path / "record", core_counts))
    assert "energy" in page


class Unmetered(ScriptedWorld):
    """The scripted world with a meter that stands still."""

    def sources(self) -> Sequence[TelemetrySource]:
        return (*super().sources(), Electricity(step=0.0))


def test_a_reading_of_zero_is_a_figure(
    tmp_path: Path, weigh_in: Callable[..., dict[str, Any]]
) -> None:
    weigh_in(Unmetered(tmp_path / "world"), study_of())
    line = json.loads((tmp_path / "record" / "telemetry.jsonl").read_text().splitlines()[0])
    [energy] = [one for one in line["arms"]["on"]["readings"] if one["name"] == "energy_mj"]
    assert energy["value"] == 0.0


@dataclass
class Refused(Electricity):
    """A meter whose reading the server refuses."""

    def read(self, instance: Instance) -> Sample:
        raise EngineError("permission denied for view pg_stat_electricity")


class Guarded(ScriptedWorld):
    """The scripted world with a meter whose reading is refused."""

    def sources(self) -> Sequence[TelemetrySource]:
        return (*super().sources(), Refused())


def test_what_may_not_be_read_is_missing_with_its_reason_and_the_rest_goes_on(
    tmp_path: Path, weigh_in: Callable[..., dict[str, Any]]
) -> None:
    verdict = weigh_in(Guarded(tmp_path / "world"), study_of())
    line = json.loads((tmp_path / "record" / "telemetry.jsonl").read_text().splitlines()[0])
    readings = {one["name"]: one for one in line["arms"]["on"]["readings"]}
    reason = "permission denied for view pg_stat_electricity"
    assert readings["energy_mj"]["missing"] == reason
    assert readings["server_cpu_us"]["value"] > 0
    metrics = [row["metric"] for row in verdict["causes"]]
    assert "server_cpu_us_per_transaction" in metrics
    assert "energy_mj_per_transaction" not in metrics


def telemetry_of(source: Electricity) -> EpochTelemetry:
    return EpochTelemetry([source], {"on": object()})  # type: ignore[dict-item]


def test_readings_are_differences_between_the_first_and_the_last_border() -> None:
    telemetry = telemetry_of(Electricity(step=5.0))
    for _ in range(5):
        telemetry.border()
    telemetry.close()
    energy, temperature = telemetry.readings("on")
    assert (energy.value, energy.measured, energy.per_transaction) == (20.0, True, True)
    assert (temperature.value, temperature.unit) == (40.0, "°C")
    assert telemetry.parts("on") == [{"energy_mj": 5.0}] * 4


def test_an_arm_that_has_borders_of_its_own_has_the_difference_between_them() -> None:
    telemetry = EpochTelemetry(
        [Electricity(step=5.0)],
        {"on": object(), "off": object()},  # type: ignore[dict-item]
    )
    for arm in ("on", "off", "off", "on"):
        telemetry.border([arm])
    telemetry.close()
    assert {arm: telemetry.readings(arm)[0].value for arm in ("on", "off")} == {"on": 15, "off": 5}


def test_statistics_that_were_reset_are_a_missing_reading_and_no_figure() -> None:
    source = Electricity(moment="closed", step=5.0)
    telemetry = telemetry_of(source)
    source.total = -100.0
    telemetry.close()
    energy, _ = telemetry.readings("on")
    assert (energy.value, energy.missing) == (None, RESET)


@pytest.mark.parametrize("later", [("today", None), ("yesterday", "today")])
def test_statistics_that_grew_past_what_they_were_after_a_reset_are_missing_too(
    later: tuple[str | None, ...],
) -> None:
    source = Electricity(moment="closed", step=5.0, resets=("yesterday", None))
    telemetry = telemetry_of(source)
    source.resets = later
    telemetry.close()
    energy, _ = telemetry.readings("on")
    assert (energy.value, energy.missing) == (None, RESET)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (Electricity(moment="closed", missing="not flushed in time"), "not flushed in time"),
        (Electricity(moment="closed", lacking="no meter"), "no meter"),
    ],
)
def test_what_cannot_be_read_is_missing_with_its_reason(source: Electricity, reason: str) -> None:
    telemetry = telemetry_of(source)
    telemetry.close()
    assert [(one.value, one.missing) for one in telemetry.readings("on")] == [(None, reason)] * 2


def test_counters_that_were_not_flushed_make_no_cause(
    tmp_path: Path, weigh_in: Callable[..., dict[str, Any]]
) -> None:
    world = ScriptedWorld(tmp_path / "world", uncounted="statistics were not flushed within 10 s")
    verdict = weigh_in(world, study_of())
    assert [row["metric"] for row in verdict["causes"]] == ["server_cpu_us_per_transaction"]
    line = json.loads((tmp_path / "record" / "telemetry.jsonl").read_text().splitlines()[0])
    [wal] = [one for one in line["arms"]["on"]["readings"] if one["name"] == "wal_bytes"]
    assert "value" in wal
    assert wal["value"] is None
    assert wal["missing"] == "statistics were not flushed within 10 s"


WAL = Kind("wal_bytes", "bytes")


def test_after_a_reset_a_counter_is_missing_even_one_that_grew_past_it() -> None:
    after = Sample({"wal_bytes": 10}, resets=("b",))
    found = reading(WAL, Sample({"wal_bytes": 4}, resets=("a",)), after)
    assert (found.value, found.missing) == (None, RESET)


def test_the_first_reset_of_statistics_is_one_too() -> None:
    after = Sample({"wal_bytes": 10}, resets=("a",))
    found = reading(WAL, Sample({"wal_bytes": 4}, resets=(None,)), after)
    assert (found.value, found.missing) == (None, RESET)
    assert reading(WAL, Sample({"wal_bytes": 4}, resets=("a",)), after).value == 6


def test_a_source_that_came_late_is_missing_with_the_reason_of_before() -> None:
    found = reading(WAL, Sample({}, missing="no right"), Sample({"wal_bytes": 7}))
    assert (found.value, found.missing) == (None, "no right")


def test_a_counter_that_is_not_told_is_missing_and_no_zero() -> None:
    found = reading(WAL, Sample({}), Sample({}))
    assert (found.value, found.missing) == (None, "the server does not tell it")


@pytest.mark.parametrize(
    ("first", "last", "known"),
    [
        ({1, 2}, {1, 2}, True),
        ({1, 2}, {1, 2, 3}, True),  # one more began: all that it used is in the sum
        ({1, 2}, {1}, True),  # nobody took its place: one of ours that looked at something
        ({1, 2}, {1, 3}, False),
        ({1, 2}, {3, 4}, False),
        (set(), {3}, True),
    ],
)
def test_a_sum_over_processes_of_which_some_were_replaced_is_no_figure(
    first: set[int], last: set[int], known: bool
) -> None:
    before, after = (
        Sample({"wal_bytes": value, "rows": value}, summed={"wal_bytes": frozenset(pids)})
        for value, pids in ((4, first), (10, last))
    )
    found = reading(WAL, before, after)
    assert (found.value, found.missing) == ((6, "") if known else (None, REPLACED))
    assert reading(Kind("rows", "rows"), before, after).value == 6, "a sum of something else"
