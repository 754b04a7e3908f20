"""The text of a drill says what was planted, caught, missed and seen without checksums."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.cli.views.drilled import answer, matrix, render, sentence
from steelyard.integrity.drill.drill import DrillResult
from steelyard.integrity.drill.matrix import (
    PLANTED,
    QUERY_ERROR,
    DetectionMatrix,
    Rate,
)
from steelyard.report.drill import noticed_of_100


def test_what_could_not_be_planted_everywhere_and_what_needs_no_checksum_is_said() -> None:
    matrix = DetectionMatrix()
    matrix.add("lost write", "FSM", "on", PLANTED, Rate(3, 20))
    matrix.add("lost write", "FSM", "on", QUERY_ERROR, Rate(0, 3))
    matrix.add("stale file", "FSM", "on", PLANTED, Rate(0, 20))
    pages = {
        "one bit": {"page checksum": Rate(100, 100), "header sanity": Rate(1, 100)},
        "pd_upper zeroed": {"page checksum": Rate(0, 100), "header sanity": Rate(100, 100)},
        "zeroed sector": {
            "page checksum": Rate(93, 100),
            "header sanity": Rate(7, 100),
            "scrub": Rate(100, 100),
        },
    }
    facts = DrillResult(
        "18", 1, 20, 1.0, True, pages, matrix, DetectionMatrix(), [], None
    ).to_json()
    words = render(facts)
    assert "  lost write, FSM: 3 of 20" in words
    assert "  stale file, FSM: 0 of 20" in words
    said = sentence(facts)
    assert "You catch one bit, zeroed sector; you still miss" in said, "by both rules together"
    assert "pd_upper zeroed the server sees without them. The price: " in said
    assert "miss pd_upper" not in said


@given(st.integers(1, 5000), st.data())
def test_all_and_none_are_written_only_of_all_and_none(times: int, data: st.DataObject) -> None:
    noticed = data.draw(st.integers(0, times) | st.sampled_from([1, times - 1]))
    text = noticed_of_100(noticed, times)
    assert (text == "100") is (noticed == times)
    assert (text == "0") is (noticed == 0)
    assert int(text.lstrip("<>")) == pytest.approx(100 * noticed / times, abs=1)


def test_one_fault_of_many_that_nobody_noticed_is_seen_in_the_matrix() -> None:
    every = {"one bit": {("scrub", "on"): (499, 500), ("amcheck", "off"): (1, 500)}}
    columns = (("scrub", "on", "scrub"), ("amcheck", "off", "amcheck"), ("log", "on", "log"))
    [_, line] = matrix(every, columns)
    assert line.split() == ["one", "bit", "500", ">99", "<1", "-"]


def test_the_answer_to_torn_bits_or_checksum_is_made_of_the_numbers() -> None:
    def way(algorithm: str, identity: str, torn: float, bit: float) -> dict[str, object]:
        return {
            "algorithm": algorithm,
            "identity": identity,
            "faults": {"torn page": {"share": torn}, "one bit": {"share": bit}},
            "speeds": {"": {"read cached": {"gigabytes_per_s": 20.0}}},
        }

    said = answer([way("torn-page bits", "none", 1.0, 0.0), way("PostgreSQL", "block", 1.0, 0.9)])
    assert "sees torn page; misses one bit." in said
    assert "sees torn page; misses one bit 10 %." in said
