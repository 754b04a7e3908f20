"""A key that another one leaves without effect is refused where it was typed, with what to type: of
a time, a number of epochs and a number of executions each counts, or is named."""

from __future__ import annotations

from itertools import chain, combinations
from pathlib import Path

import pytest

from steelyard.cli.options.weigh_options import changes_of
from steelyard.model.errors import StudyError
from steelyard.running.layout_choice import require_effect
from steelyard.running.measuring.counted import budget_notes
from steelyard.study.design import counted_epochs, draw_design
from steelyard.study.read import builtin_studies, read_study, write_study
from steelyard.study.study import Study
from steelyard.workloads.reading.resolved import resolve_workload

S = 10**9
COUNTED = "budget.counted={each = 1, blocks = 12}"
KEYS = {
    "time": "budget.measuring=10m",
    "epochs": "budget.epochs=20",
    "counted": COUNTED,
}


def epochs_of(study: Study, epoch_s: int = 3) -> int:
    """How many there are of executions that take so long."""
    return counted_epochs(draw_design(study, 1, "foreground"), study, epoch_s * S)


def refusal(study: Study, changes: list[str]) -> StudyError | None:
    try:
        require_effect(study, changes)
    except StudyError as refused:
        return refused
    return None


@pytest.mark.parametrize(
    "typed", [*chain(*(combinations(KEYS, size) for size in range(1, 4)))], ids="+".join
)
@pytest.mark.parametrize("name", ["settings", "queries", "jit", "calibrate"])
def test_a_time_and_a_number_of_epochs_each_have_an_effect_or_are_refused(
    name: str, typed: tuple[str, ...]
) -> None:
    """Of studies that say nothing, executions and epochs, and epochs alone."""
    changes = [KEYS[key] for key in typed]
    study = read_study(name, changes)
    refused = refusal(resolve_workload(study), changes)
    if study.budget.counted is not None and {"time", "epochs"} <= {*typed}:
        assert refused is not None
        assert 'override "budget.measuring" has no effect' in refused.primary
        assert "--set budget.epochs=40" in (refused.hint or "")
        return
    assert refused is None
    if "epochs" in typed:
        assert draw_design(study, 1, "foreground").epochs == 20
    if "time" not in typed:
        return
    longer = read_study(name, [*changes, "budget.measuring=20m"])
    assert study.budget.measuring == 600 * S
    if study.budget.counted is None:
        lengths = [draw_design(each, 1, "foreground").epoch_ns for each in (study, longer)]
        assert lengths[0] < lengths[1] or "epochs" not in typed
    else:
        assert epochs_of(study, 30) < epochs_of(longer, 30)


@pytest.mark.parametrize("typed", [[], ["budget.epochs=30"], [COUNTED], ["workload.scale=2"]])
def test_without_a_time_the_number_of_epochs_of_the_file_stays(typed: list[str]) -> None:
    usual = read_study("queries").budget.epochs
    assert read_study("queries", typed).budget.epochs == (30 if "epochs" in str(typed) else usual)


@pytest.mark.parametrize(
    "name", [name for name in builtin_studies() if read_study(name).budget.counted is not None]
)
def test_the_option_says_how_many_epochs_of_executions_a_built_in_study_has(name: str) -> None:
    brief, long = (read_study(name, changes_of([], budget, None, None)) for budget in ("2m", "20m"))
    assert 10 <= epochs_of(brief, 9) < epochs_of(long, 9) <= 40


def test_of_a_record_too_the_typed_time_counts(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(write_study(read_study("queries")))
    assert read_study(str(file)).budget.epochs == 10
    assert read_study(str(file), ["budget.measuring=9m"]).budget.epochs is None


@pytest.mark.parametrize(
    ("changes", "epochs", "load_s", "said"),
    [
        ([], 10, 300, "there are no fewer"),
        ([], 40, 30, "--set budget.epochs=80"),
        ([], 18, 110, ""),
        (["budget.epochs=12"], 12, 30, "budget.epochs says how many there are"),
        (["budget.epochs=12"], 12, 200, "budget.epochs says how many there are"),
        (["budget.epochs=12"], 12, 100, ""),
    ],
)
def test_epochs_of_executions_that_are_no_budget_long_are_said(
    changes: list[str], epochs: int, load_s: int, said: str
) -> None:
    study = read_study("settings", [COUNTED, *changes])
    notes = [*budget_notes(study, epochs, load_s * S)]
    assert len(notes) == bool(said)
    assert all(said in note and f"{epochs} epochs" in note for note in notes)


@pytest.mark.parametrize(
    ("study", "changes", "key"),
    [
        ("checksums-rw", ["turns.cycles=3", "turns.measured=30s"], "turns.cycles"),
        ("checksums-rw", ["turns.cycles=3"], ""),
        ("checksums-rw", ["turns.measured=30s"], ""),
        ("checksums-rw", ['turns={measured = "30s"}'], ""),
        ("aa", ["workload.variables.naccount=5"], "workload.variables.naccount"),
        ("aa", ["workload.variables={naccount = 5}"], "workload.variables.naccount"),
        ("aa", ["workload.variables.scale=5"], ""),
        ("sessions", ["address=host=db1", "workload.loads=2"], "workload.loads"),
        ("aa", ["workload.loads=2"], ""),
        ("aa", ["source={place='/b', kind='base backup'}", "workload.loads=2"], "workload.loads"),
        ("aa", ["source={place='/b', kind='dump'}", "workload.loads=2"], ""),
    ],
)  # fmt: skip
def test_a_key_that_another_one_leaves_without_effect_is_refused(
    study: str, changes: list[str], key: str
) -> None:
    script = [] if study != "sessions" else ["workload=pgbench", "arm.settings.jit=off"]
    scale = ["workload.scale=1"] if "source" in str(changes) or script else []
    made = resolve_workload(read_study(study, [*script, *scale, *changes]))
    refused = refusal(made, changes)
    assert (refused is not None) == bool(key)
    if refused is not None:
        assert refused.primary.startswith(f'override "{key}" has no effect: ')
        assert refused.hint


def test_a_misspelt_variable_is_named_with_the_near_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.sql"
    file.write_text("\\set id random(1, :rows)\nSELECT :id, '12:30'::time;\n")
    changes = [f"workload.scripts={{ '{file}' = 1 }}", "workload.variables.row=7"]
    with pytest.raises(StudyError, match="no script that is driven reads :row") as refused:
        require_effect(read_study("aa", [*changes, "workload.variables.rows=7"]), changes)
    assert refused.value.hint == 'Perhaps you meant "rows".'
    right = [changes[0], "workload.variables.rows=7"]
    require_effect(resolve_workload(read_study("aa", right)), right)
