"""Differing defaults and repeated loads are told where builds differ, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from record.made import line_of, verdict_of
from steelyard.record.plan import BuildDefaultDifferences, Loads
from steelyard.report.environment_rows import default_lines, default_rows, loads_line, only_lines

DEFAULTS: dict[str, Any] = {
    "rule": "aligned",
    "alike": {"effective_io_concurrency": "1"},
    "changed": {"after": [["effective_io_concurrency", "1", "16"], ["log_connections", "off", ""]]},
    "added": {"after": ["io_method", "io_workers"]},
    "removed": {"after": ["old_snapshot_threshold"]},
}
LOADS: dict[str, Any] = {
    "shared": False,
    "arms": {
        "before": {"by": "before", "count": 3, "seconds": 20.0},
        "after": {"by": "after", "count": 3, "seconds": 11.0},
    },
}


def test_each_default_is_told_with_both_values_and_what_was_used() -> None:
    first, second = default_rows(BuildDefaultDifferences.model_validate(DEFAULTS))
    assert first == {
        "setting": "effective_io_concurrency",
        "arm": "after",
        "control": "1",
        "theirs": "16",
        "used": "1 in every arm",
    }
    assert (second["theirs"], second["used"]) == ('""', "each its own")


def test_the_terminal_tells_what_was_set_alike_and_what_was_left() -> None:
    verdict = verdict_of(line_of(control="before"), defaults=DEFAULTS)
    assert default_lines(verdict) == [
        "defaults that differ, set as before has them: effective_io_concurrency 1 (after: 16)",
        'defaults that differ and stay so: log_connections off (after: "")',
        "2 settings are known to after only, 1 setting to before only",
    ]


def test_one_build_has_nothing_to_tell() -> None:
    same = {"rule": "aligned", "alike": {}, "changed": {}, "added": {}, "removed": {}}
    assert default_lines(verdict_of(line_of(), defaults=same)) == []
    assert default_lines(verdict_of(line_of())) == []
    assert default_rows(None) == []
    assert only_lines(None, "on") == []


def test_loads_are_told_with_their_time_where_data_could_not_be_shared() -> None:
    assert loads_line(Loads.model_validate(LOADS)) == (
        "the builds cannot share their data: each was loaded 3 times, 31 s in all, kept for later"
    )
    assert loads_line(Loads.model_validate({**LOADS, "shared": True})) == ""
    assert loads_line(None) == ""


@pytest.mark.parametrize(("count", "words"), [(1, "once"), (2, "2 times")])
def test_loads_without_a_known_time_are_counted_only(count: int, words: str) -> None:
    arms = {"a": {"by": "a", "count": count, "seconds": 0}}
    loads = Loads.model_validate({"shared": False, "arms": arms})
    assert loads_line(loads).endswith(f"loaded {words}")
