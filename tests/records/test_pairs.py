"""An arm that is compared with another one too has a contrast of these two alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.cli.views.verdict_view import render_verdict
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


def test_without_one_a_verdict_has_no_pairs(kept: Unpack) -> None:
    judged = rejudge(read_recorded(Record.open(kept("settings"))))
    assert judged.pairs == ()
