"""What came of a candidate is read from every epoch, those without a log ratio included."""

from __future__ import annotations

import pytest

from record.made import verdict_of
from steelyard.tuning.search.trial import outcome_of
from tuning.search.raced import contrast

OFF, ON = "off", "control"


def test_ratios_are_above_zero_where_the_arm_is_better() -> None:
    line = contrast(OFF, [0.1, None, 0.2], ["complete", "crashed: other", "complete"])
    found = outcome_of(verdict_of(line), OFF)
    assert (found.ratios, found.lost) == ({0: 0.1, 2: 0.2}, None)
    faster = line.model_copy(update={"higher_is_better": False})
    assert outcome_of(verdict_of(faster), OFF).ratios == {0: -0.1, 2: -0.2}
    assert outcome_of(verdict_of(line), "another").ratios == {}


@pytest.mark.parametrize("how", ["crashed", "could not start", "out of memory"])
def test_an_epoch_that_the_arm_did_not_survive_is_counted(how: str) -> None:
    line = contrast(OFF, [0.4, None], ["complete", f"{how}: off"])
    assert outcome_of(verdict_of(line), OFF).lost == f"{how} in 1 of 2 epochs"


def test_an_arm_without_work_beside_a_control_that_did_some_is_lost() -> None:
    idle = {OFF: 0.0, ON: 1000.0}
    line = contrast(OFF, [None], ["complete"], throughput=idle)
    assert outcome_of(verdict_of(line), OFF).lost == "did no work in 1 of 1 epochs"
    dropped = contrast(OFF, [None], ["complete"], throughput=idle, drops={OFF: 3})
    assert outcome_of(verdict_of(dropped), OFF).lost is None, "its slices were dropped"
    neither = contrast(OFF, [None], ["complete"], throughput={OFF: 0.0, ON: 0.0})
    assert outcome_of(verdict_of(neither), OFF).lost is None


def test_the_last_epoch_says_why_none_was_complete() -> None:
    line = contrast(OFF, [None], ["failed: disk full"])
    assert outcome_of(verdict_of(line), OFF).last == "no epoch was complete: failed: disk full"
