"""Epochs that are cut by executions: every query is done as often as the others."""

from __future__ import annotations

from collections import Counter

import pytest

from steelyard.model.errors import StudyError
from steelyard.running.measuring.counted import counted_visits, require_whole_passes
from steelyard.study.design import draw_design
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.workloads.reading.resolved import resolve_workload


def queries(*changes: str) -> Study:
    return resolve_workload(read_study("queries", changes))


def done(study: Study) -> tuple[Counter[str | None], Counter[str | None]]:
    """How often each script is driven in an epoch: in the mean, and excluded from it."""
    _, measured = counted_visits(draw_design(study, 1, "foreground"), 0, study)
    inside = Counter(visit.script for visit in measured if not visit.excluded)
    return inside, Counter(visit.script for visit in measured if visit.excluded)


def test_every_query_is_measured_twice_on_either_arm() -> None:
    study = queries()
    require_whole_passes(study)
    inside, excluded = done(study)
    assert (len(inside), set(inside.values()), len(excluded)) == (22, {4}, 0)


def test_refresh_functions_come_beside_the_queries_in_every_pass() -> None:
    study = queries("workload.options.refresh=true")
    require_whole_passes(study)
    inside, excluded = done(study)
    assert (len(inside), set(inside.values())) == (22, {4})
    assert excluded == {"rf1": 4, "rf2": 4}
    warm_up, measured = counted_visits(draw_design(study, 1, "foreground"), 0, study)
    assert (warm_up[0].script, warm_up[-1].script) == ("rf1", "rf2")
    assert (measured[0].script, measured[-1].script) == ("rf1", "rf2")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("budget.counted.blocks=30", "--set budget.counted.blocks=44"),
        ("budget.counted.warmup=5", "--set budget.counted.warmup=22"),
    ],
)
def test_an_epoch_that_ends_within_the_stream_is_refused(change: str, words: str) -> None:
    with pytest.raises(StudyError, match="end within a stream of 22 queries") as refused:
        require_whole_passes(queries("workload.options.refresh=true", change))
    assert words in str(refused.value)


def test_blocks_of_several_clients_are_no_passes() -> None:
    require_whole_passes(queries("workload.clients=4", "budget.counted.blocks=30"))
