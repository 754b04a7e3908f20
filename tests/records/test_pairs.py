"""An arm that is compared with another one too has a contrast of these two alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.cli.views.verdict_view import render_verdict
from steelyard.history.entry import Entry
from steelyard.history.export import export
from steelyard.history.question import Point, keys_of, keys_of_question, question_name
from steelyard.history.reading import EntryParts, entry_of
from steelyard.record.reader import RecordContents, read_recorded
from steelyard.record.record import Record
from steelyard.verdict.rejudge import rejudge

Unpack = Callable[[str], Path]


def with_pair(directory: Path) -> RecordContents:
    """A kept record of three arms at least, whose last one is compared with the first one too."""
    recorded = read_recorded(Record.open(directory))
    first, *rest = recorded.study.arms
    last = rest[-1].model_copy(update={"against": first.name})
    study = recorded.study.model_copy(update={"arms": (first, *rest[:-1], last)})
    return replace(recorded, study=study)


@pytest.mark.parametrize("name", ["three-arms", "calibrate"])
def test_its_log_ratios_are_the_differences_of_theirs_to_the_control(
    name: str, kept: Unpack
) -> None:
    recorded = with_pair(kept(name))
    judged = rejudge(recorded)
    [pair] = judged.pairs
    first, last = judged.contrasts[0], judged.contrasts[-1]
    assert (pair.arm, pair.control) == (last.arm, first.arm)
    for own, ours, theirs in zip(pair.details.d, first.details.d, last.details.d, strict=True):
        assert None not in (own, ours, theirs)
        assert own == pytest.approx(theirs - ours, abs=1e-9)  # type: ignore[operator]
    assert pair.control_throughput == first.arm_throughput
    ends = (pair.low_percent, pair.estimate_percent, pair.high_percent)
    assert sorted(ends) == list(ends)  # type: ignore[type-var]
    assert f"{pair.arm} against {pair.control}" in render_verdict(judged, 100)


def entry_with_pair(directory: Path) -> tuple[Entry, RecordContents]:
    recorded = with_pair(directory)
    parts = EntryParts(
        Record.open(directory),
        recorded.plan,
        recorded.study,
        rejudge(recorded),
        recorded.environment,
    )
    return entry_of(parts, "three", {}), recorded


@pytest.mark.parametrize("name", ["three-arms", "calibrate"])
def test_the_history_has_it_as_the_question_of_these_two_and_exports_it(
    name: str, kept: Unpack, tmp_path: Path
) -> None:
    entry, recorded = entry_with_pair(kept(name))
    study, judged = recorded.study, rejudge(recorded)
    *beside, pair = entry.readings
    first, last = study.arms[0], study.arms[-1]
    assert len(beside) == len(judged.contrasts)
    assert (pair.arm, pair.control, pair.verdict) == (
        last.name,
        first.name,
        judged.pairs[0].verdict,
    )
    alone = last.model_copy(update={"against": None})
    two = study.model_copy(update={"control": first, "arms": (alone,)})
    assert pair.question == question_name(two, alone, pair.metric)
    assert pair.question not in {reading.question for reading in beside}
    own_keys = keys_of_question(keys_of(two), last.name, first.name)
    assert Point(entry, pair).question_keys == own_keys
    sides = {pair.control: pair.control_values, pair.arm: pair.arm_values}
    for reading in (beside[0], beside[-1]):
        of_pair, values = sides[reading.arm], reading.arm_values
        assert values.throughput is not None
        assert of_pair.throughput == pytest.approx(values.throughput)
        for quantile in ("latency_us_p50", "latency_us_p95", "latency_us_p99"):
            assert getattr(of_pair, quantile) == getattr(values, quantile)
    assert export([entry], tmp_path / "all.csv", "csv") == len(judged.every_contrast)


def test_without_one_a_verdict_has_no_pairs(kept: Unpack) -> None:
    judged = rejudge(read_recorded(Record.open(kept("settings"))))
    assert judged.pairs == ()
