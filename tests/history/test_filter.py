"""Records are chosen by study, machine, verdict, doubt and day; questions by their names."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from report.conftest import THREATS
from steelyard.history.filter import (
    Filter,
    day,
    matching_entries,
    require_possible,
    the_machine,
    the_question,
    verdict_word,
)
from steelyard.history.index import read_history
from steelyard.history.question import questions_of
from steelyard.model.errors import UsageError

Keep = Callable[..., Path]


@pytest.mark.parametrize(
    ("wanted", "days"),
    [
        (Filter(), [1, 2, 3]),
        (Filter(study="aa"), [2]),
        (Filter(machine="EPYC"), [1, 2, 3]),
        (Filter(machine="sparc"), []),
        (Filter(verdict="slower"), [3]),
        (Filter(doubt="steal or throttling"), [1]),
        (Filter(since=day("2026-03-02")), [2, 3]),
        (Filter(until=day("2026-03-02")), [1, 2]),
        (Filter(study="checksums", since=day("2026-03-02")), [3]),
    ],
)
def test_records_are_chosen(keep: Keep, records: Path, wanted: Filter, days: list[int]) -> None:
    keep(1, threats=THREATS)
    keep(2, study="aa")
    keep(3, effect=-0.05)
    found = matching_entries(read_history(records).entries, wanted)
    assert [int(one.at[8:10]) for one in found] == days


def test_wrong_filters_are_refused() -> None:
    with pytest.raises(UsageError, match="unrecognized verdict"):
        verdict_word("good")
    with pytest.raises(UsageError, match="invalid date"):
        day("yesterday")


def test_a_question_is_found_by_study_or_name_and_several_are_listed(
    keep: Keep, records: Path
) -> None:
    keep(1)
    keep(2, study="aa")
    keep(3, study="aa", clients=32)
    every = questions_of(read_history(records).entries)
    assert the_question(every, "checksums").newest.entry.study == "checksums"
    named = next(one for one in every if "clients = 32" in one.label)
    assert the_question(every, named.name) is named
    with pytest.raises(UsageError, match='study "aa" has 2 questions') as several:
        the_question(every, "aa")
    assert named.name in str(several.value.detail)
    with pytest.raises(UsageError, match="no record answers") as none:
        the_question(every, "checksum")
    assert none.value.hint == 'Perhaps you meant "checksums".'


def test_a_machine_is_found_by_a_part_of_its_name(keep: Keep, records: Path) -> None:
    keep(1)
    [question] = questions_of(read_history(records).entries)
    assert the_machine(question, None) == the_machine(question, "labor")
    with pytest.raises(UsageError, match='no machine has "mars"'):
        the_machine(question, "mars")


@pytest.mark.parametrize(
    ("criteria", "words"),
    [
        (Filter(doubt="steal"), "steal or throttling"),
        (Filter(doubt="Pool not warm"), "pool not warm"),
        (Filter(doubt="nothing like it"), "unrecognized doubt"),
        (Filter(since=date(2026, 4, 1), until=date(2026, 3, 1)), "no day is from 2026-04-01"),
    ],
)
def test_what_nothing_could_fit_is_refused(criteria: Filter, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        require_possible((), criteria)
    assert words in str(refused.value)


def test_doubts_of_older_versions_are_known_by_the_records(keep: Keep, records: Path) -> None:
    keep(1, threats=[{**THREATS[0], "name": "of old"}])
    entries = read_history(records).entries
    require_possible(entries, Filter(doubt="of old"))
    require_possible((), Filter(doubt="steal or throttling"))
    assert len(matching_entries(entries, Filter(doubt="of old"))) == 1
