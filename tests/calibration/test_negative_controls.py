"""What METHODOLOGY.md rejects fails on the same worlds: a proof in which nothing fails is none."""

from __future__ import annotations

import pytest

from thinned import thinned
from validation.cases import controls
from validation.cases.case import generator
from validation.cases.controls import CONTROLS, Control
from validation.proportion import Proportion
from validation.worlds.stalls import TRUTH

NEEDS_TRACES = ("traced_blocks_symmetric", "traced_blocks_free")
SIMULATED = [one for one in CONTROLS if one.name not in NEEDS_TRACES]


@thinned("control", SIMULATED, 2, ids=[one.name for one in SIMULATED])
def test_every_control_errs_far_more_often_than_five_percent(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 120
    monkeypatch.setattr(controls, "WEIGHINGS", count)
    found = control.rule(generator(f"control/{control.name}"))
    assert len(found.erred) == count
    share = Proportion(int(found.erred.sum()), count)
    assert share.exceeds(0.05, 0.99)
    assert control.title


def test_welch_on_all_a_then_all_b_errs_as_often_as_it_was_said_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(controls, "WEIGHINGS", 500)
    erred = controls.all_a_then_all_b(generator("controls/welch")).erred
    assert erred.mean() == pytest.approx(0.81, abs=0.06)
    peeked = controls.peeking(generator("controls/peeking")).erred
    assert 0.28 < peeked.mean() < 0.48


def test_a_border_that_drops_what_straddles_the_bell_hides_every_stall(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(controls, "WEIGHINGS", 40)
    hidden = controls.hiding_border(generator("controls/border")).reads
    trimmed = controls.trimmed_reading(generator("controls/trimmed")).reads
    assert hidden == pytest.approx(0.0, abs=0.002)
    assert trimmed is not None
    assert trimmed > TRUTH / 2  # most of the stalls are trimmed away
