"""What a weighing took is told with what most of it went into, and every phase in a row."""

from __future__ import annotations

import pytest

from record.made import line_of, verdict_of
from steelyard.record.spent import PHASES, UNDER_LOAD, Phase, Spent, SpentLine
from steelyard.record.verdict import Verdict
from steelyard.report.wall_time import PHASE_WORDS, phase_rows, took_text

NS_PER_S = 1_000_000_000


def spent_in(**seconds: float) -> Spent:
    """Phases by their names, `_` for a blank."""
    phases = {name.replace("_", " "): round(s * NS_PER_S) for name, s in seconds.items()}
    found = Spent.of([SpentLine.model_validate({"epoch": 12, "phases_ns": phases})])
    assert found is not None
    return found


def weighed(**facts: object) -> Verdict:
    return verdict_of(line_of(), whole_seconds=170.0, measured_seconds=81.0, **facts)


SPENT = spent_in(pilot=16.0, warm_up=20.0, measure=84.0, start=21.0, stop=15.0, put_back=14.0)


def test_the_three_largest_are_named_and_load_is_one_of_them() -> None:
    text = took_text(weighed(spent=SPENT))
    assert text == "2 min 50 s: 2 min under load, 21 s start, 15 s stop"


def test_of_a_record_from_before_it_was_kept_the_measured_time_is_told() -> None:
    assert took_text(weighed()) == "2 min 50 s, 1 min 21 s of it under load"


@pytest.mark.parametrize(
    ("phases", "text"),
    [
        ({"measure": 3.0}, "3 s: 3 s under load"),
        ({"start": 0.25, "measure": 0.0}, "250 ms: 250 ms start"),
        ({"other": 9.0, "load_data": 30.0}, "39 s: 30 s load data, 9 s other"),
    ],
)
def test_what_took_no_time_is_not_named(phases: dict[str, float], text: str) -> None:
    assert took_text(weighed(spent=spent_in(**phases))) == text


def test_rows_stand_in_the_order_of_a_weighing_and_end_with_the_whole() -> None:
    rows = phase_rows(SPENT)
    assert [row["phase"] for row in rows] == [
        "putting files back", "starting servers", "pilot, under load", "warm-up, under load",
        "measuring, under load", "stopping servers", "the whole",
    ]  # fmt: skip
    assert rows[4] == {"phase": "measuring, under load", "time": "1 min 24 s", "share": "49.4 %"}
    assert rows[-1] == {"phase": "the whole", "time": "2 min 50 s", "share": "100.0 %"}


def test_every_phase_has_words_that_say_whether_there_was_load() -> None:
    loaded: list[Phase] = [one for one in PHASES if PHASE_WORDS[one].endswith("under load")]
    assert tuple(loaded) == UNDER_LOAD
