"""A key that counts in another layout than the one that is taken is refused where it was typed, and
said where a study has it: a budget of slices does not shorten cycles unseen."""

from __future__ import annotations

from itertools import chain, combinations

import pytest

from steelyard.cli.options.study_resolution import StudyRequest, resolve_study
from steelyard.cli.options.weigh_options import changes_of
from steelyard.model.errors import StudyError
from steelyard.running.layout_choice import COUNTS_IN, LAYOUTS, LENGTHS, require_effect
from steelyard.running.turns.pilot import idle_length_notes
from steelyard.study.budget import BUDGETS, Budget
from steelyard.study.read import read_study
from steelyard.study.study import Study

TYPED = {
    "budget.measuring": "5m",
    "budget.turns": "3h",
    "budget.cycles": "2h",
    "turns.time_scale": "2",
    "turns.cycles": "3",
    "turns.measured": "20s",
    "cost": "foreground",
}
"""Key → a value that differs from its default."""


def study_with(layout: str, *changes: str) -> Study:
    return read_study("wal-compression", [f"layout={layout}", *changes])


def is_refused(study: Study, changes: list[str]) -> bool:
    try:
        require_effect(study, changes)
    except StudyError:
        return True
    return False


def test_every_key_of_one_layout_has_a_case() -> None:
    assert {*TYPED} == {*COUNTS_IN}
    assert {layout for layouts in COUNTS_IN.values() for layout in layouts} == {*LAYOUTS}


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
@pytest.mark.parametrize("key", TYPED)
def test_a_typed_key_has_an_effect_in_the_layout_or_is_refused(layout: str, key: str) -> None:
    change = f"{key}={TYPED[key]}"
    study = study_with(layout, change)
    if layout in COUNTS_IN[key]:
        require_effect(study, [change])
        return
    with pytest.raises(StudyError, match=f'override "{key}" has no effect') as refused:
        require_effect(study, [change])
    assert f"is weighed in {layout}" in str(refused.value)
    hint = refused.value.hint or ""
    typed = hint.partition("--set layout=")[2].rstrip(".")
    assert typed in COUNTS_IN[key], "the other way out has an effect"
    require_effect(study_with(typed, change), [change])
    if key in LENGTHS:
        instead = hint.partition("--set ")[2].partition(",")[0]
        require_effect(study_with(layout, instead), [instead])


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_of_several_lengths_one_must_be_of_the_layout(layout: str) -> None:
    sizes = range(1, len(LENGTHS) + 1)
    for keys in chain.from_iterable(combinations(LENGTHS, size) for size in sizes):
        changes = [f"{key}={TYPED[key]}" for key in keys]
        counts = any(layout in LENGTHS[key] for key in keys)
        assert is_refused(study_with(layout, *changes), changes) is not counts


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_a_budget_of_all_layouts_is_of_this_one(layout: str) -> None:
    changes = changes_of([f"layout={layout}"], "4h", None, None)
    require_effect(read_study("wal-compression", changes), changes)


def test_a_key_typed_in_a_table_is_seen() -> None:
    for change in ('budget={measuring="5m"}', "turns={time_scale=2}"):
        layout = "cycles" if change.startswith("budget") else "slices"
        with pytest.raises(StudyError, match="has no effect"):
            require_effect(study_with(layout, change), [change])
    require_effect(study_with("slices", 'budget={measuring="5m"}'), ['budget={measuring="5m"}'])
    require_effect(study_with("cycles", "budget={epochs=8}"), ["budget={epochs=8}"])
    require_effect(study_with("cycles", "cost=auto"), ["cost=auto"])  # which asks for nothing


def test_where_the_layout_is_open_both_that_it_may_be_count() -> None:
    def asked(*changes: str) -> bool:
        return is_refused(read_study("wal-compression", changes), [*changes])

    assert not asked("budget.cycles=2h")
    assert not asked("budget.turns=2h"), "where memory or the pilot says so, it is turns"
    assert asked("budget.measuring=5m")
    assert asked("memory=1GB", "budget.cycles=2h"), "turns for certain"
    reading = ("settings", "arm.settings.work_mem=8MB")
    assert is_refused(read_study(reading[0], [reading[1], "turns.cycles=4"]), ["turns.cycles=4"])


def test_the_command_refuses_what_it_would_not_go_by() -> None:
    changes = ["budget.measuring=1m", "workload.scale=1"]
    with pytest.raises(StudyError, match=r'"budget.measuring" has no effect') as refused:
        resolve_study(StudyRequest("wal-compression", changes, None, None, None, None, agreed=True))
    assert "--set budget.cycles=30m" in (refused.value.hint or "")


def test_at_an_address_no_other_layout_is_offered() -> None:
    changes = ['address="host=db.example"', "budget.cycles=2h", "arm.settings.work_mem=8MB"]
    study = read_study("settings", changes)
    with pytest.raises(StudyError, match="is weighed in slices") as refused:
        require_effect(study, changes)
    assert "layout=" not in (refused.value.hint or "")
    assert "--set budget.measuring=2m" in (refused.value.hint or "")


def test_a_length_of_one_layout_counts_more_than_the_budget_of_all() -> None:
    for key in BUDGETS:
        study = read_study("aa", changes_of([f"budget.{key}=3h"], "1h", None, None))
        assert getattr(study.budget, key) == 3 * 3600 * 10**9
        assert {getattr(study.budget, each) for each in BUDGETS if each != key} == {3600 * 10**9}


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_a_length_in_a_study_that_is_of_another_layout_is_said(layout: str) -> None:
    [own] = [key for key in BUDGETS if BUDGETS[key] == layout]
    for key in BUDGETS:
        budget = Budget.model_validate({key: TYPED[f"budget.{key}"]})
        study = study_with(layout).model_copy(update={"budget": budget})
        notes = [*idle_length_notes(study, layout)]
        assert bool(notes) == (key != own)
        assert all(f"budget.{key} = " in note and "--budget" in note for note in notes)
    assert not [*idle_length_notes(read_study("checksums-rw"), layout)], "all three are given"
