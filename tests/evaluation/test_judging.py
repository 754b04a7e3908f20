"""The terms by which a record is judged are those that its plan fixed."""

from __future__ import annotations

import math

import pytest

from record.made import plan_of
from steelyard.analysis.decision.looks import DEFAULT_S0
from steelyard.evaluation.judging import earlier_judgements, terms_of
from steelyard.record.epoch import EventLine
from steelyard.record.reader import GIVEN_UP, JUDGED, RESUMED


def test_terms_are_read_from_a_plan_and_a_pilot_without_a_scale_gets_the_default() -> None:
    terms = terms_of(plan_of(epochs=12, look=8, margin=0.02, s0=math.nan), ())
    assert (terms.epochs, terms.look, terms.alphas, terms.epoch_seconds) == (
        12,
        8,
        (0.01, 0.04),
        6.5,
    )
    assert terms.s0 == DEFAULT_S0
    assert terms.margins == pytest.approx((math.log(0.98), math.log(1.02)))


@pytest.mark.parametrize("shown", [JUDGED, GIVEN_UP])
@pytest.mark.parametrize(
    ("events", "looked"),
    [
        ([("shown", 9), (RESUMED, 9)], 1),
        ([("shown", 9)], 0),
        ([(RESUMED, 9)], 0),
        ([("shown", 5), (RESUMED, 5)], 0),
        ([("shown", 8), (RESUMED, 8), ("shown", 11), (RESUMED, 11)], 2),
        ([("shown", 8), (RESUMED, 8), ("shown", 11)], 1),
        ([("machine changed", 9), (RESUMED, 9)], 0),
    ],
)
def test_a_verdict_that_was_shown_before_it_went_on_was_a_look_whatever_had_ended_it(
    shown: str, events: list[tuple[str, int]], looked: int
) -> None:
    lines = [
        EventLine(epoch=epoch, event=shown if event == "shown" else event)
        for event, epoch in events
    ]
    assert earlier_judgements(lines) == looked
