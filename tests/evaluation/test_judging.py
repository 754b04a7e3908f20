"""The terms by which a record is judged are those that its plan fixed."""

from __future__ import annotations

import math

import pytest

from record.made import plan_of
from steelyard.analysis.decision.looks import DEFAULT_S0
from steelyard.evaluation.judging import terms_of


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
