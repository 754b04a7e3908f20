"""A candidate that crashes cannot win, costs the others nothing, and hides no other failure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from steelyard.model.errors import EngineError, ServerError, StudyError, WeighingError
from steelyard.record.verdict import Verdict
from steelyard.study.study import Study
from tuning.search.raced import FIELD, Balance, Effect, run, work_mem_helps

pytest.importorskip("optuna")


def failing(balance: Balance, error: Exception, where: Callable[[str], bool]) -> Balance:
    """The same, but weighings in such records end in an error."""
    weigh = balance.weigh

    def instead(study: Study, seed: int, folder: Path) -> Verdict:
        if where(folder.name):
            balance.asked[folder.name] += 1
            raise error
        return weigh(study, seed, folder)

    balance.weigh = instead  # type: ignore[method-assign]
    return balance


def the_first_helps(settings: Mapping[str, str]) -> float:
    return 0.3 if settings == FIELD.first else -0.1 if settings else 0.0


def the_first_helps_most(settings: Mapping[str, str]) -> float:
    return 0.3 if settings == FIELD.first else 0.1 if settings else 0.0


def dies(name: str, place: str, *epochs: int, effect: Effect = the_first_helps) -> Balance:
    """The first candidate is the best by far; one of them crashes in epochs of such records."""
    return Balance(
        effect,
        crashes=lambda where, arm, n: where.startswith(place) and arm == name and n in epochs,
    )


def test_a_candidate_that_does_not_start_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    balance = Balance(work_mem_helps, fails=lambda settings: settings.get("jit") == "off")
    found = run(balance, tmp_path)
    failed = [one for one in found.trials if one.outcome.startswith("failed")]
    assert failed
    assert all("did not start" in one.outcome for one in failed)
    assert all(one.settings["jit"] == "off" and one.log_ratio is None for one in failed)
    assert [one for one in found.trials if one.outcome == "raced"]


def test_what_is_wrong_with_the_machine_ends_the_search(tmp_path: Path) -> None:
    full = failing(Balance(work_mem_helps), EngineError("no space left"), lambda place: True)
    with pytest.raises(EngineError, match="no space left"):
        run(full, tmp_path)
    assert full.asked["round-01-control"] == 1


def test_a_wrong_study_ends_the_search_at_once(tmp_path: Path) -> None:
    short = failing(Balance(), StudyError("the budget is too short"), lambda place: True)
    with pytest.raises(StudyError, match="too short"):
        run(short, tmp_path)
    assert sum(short.asked.values()) == 1


def test_a_control_that_crashes_is_no_candidates_fault(tmp_path: Path) -> None:
    control = FIELD.study.control.name
    balance = Balance(crashes=lambda place, arm, n: arm == control)
    with pytest.raises(WeighingError, match=f'could not weigh the control "{control}"'):
        run(balance, tmp_path)


def test_where_only_candidates_fail_all_of_them_are_named(tmp_path: Path) -> None:
    balance = Balance(fails=lambda settings: settings != FIELD.study.control.settings)
    found = run(balance, tmp_path, trials=4)
    assert all(one.outcome == f"failed: arm {one.name} did not start" for one in found.trials)
    assert (found.winner, found.confirmed) == (None, None)
    assert balance.asked["round-01-control"] == 1
    assert found.weighings == 6


@pytest.mark.parametrize("place", ["round-01", "round-01-epochs-3"])
def test_one_that_crashed_cannot_win_whatever_it_did_before(tmp_path: Path, place: str) -> None:
    balance = dies("trial-1", place, 1)
    balance.sd = 0.1  # nothing is clear after two epochs
    found = run(balance, tmp_path, trials=4)
    first = found.trials[0]
    assert first.outcome == "failed: crashed in 1 of 2 epochs"
    assert first.log_ratio is None
    assert first.to_json(found.metric)["search_percent"] is None
    assert found.winner is None


def test_those_that_lost_every_epoch_to_another_are_weighed_again_without_it(
    tmp_path: Path,
) -> None:
    balance = dies("trial-2", "round-01", 0, 1, 2, 3)
    found = run(balance, tmp_path, trials=4)
    again = balance.studies["round-01-again"]
    assert [arm.name for arm in again.arms] == ["trial-1", "trial-3", "trial-4"]
    assert [one.failed for one in found.trials] == [False, True, False, False]
    assert found.winner is not None
    assert found.winner.number == 1


def test_an_epoch_that_another_cost_is_missing_and_no_failure(tmp_path: Path) -> None:
    balance = dies("trial-2", "round-01", 1)
    found = run(balance, tmp_path, trials=4)
    assert "round-01-again" not in balance.asked
    assert [len(one.log_ratios) for one in found.trials] == [3, 1, 3, 3]


def test_a_duel_that_cannot_be_weighed_is_weighed_one_by_one(tmp_path: Path) -> None:
    balance = Balance(the_first_helps_most)
    together = re.compile(r"duel-\d+-\d+")
    failing(balance, ServerError("it crashed"), lambda place: bool(together.fullmatch(place)))
    found = run(balance, tmp_path, trials=8)
    apart = sorted(name for name in balance.asked if name.startswith("duel-1-"))
    assert len(apart) == 3, apart
    assert found.winner is not None
    assert found.winner.number == 1


def test_one_that_fails_in_a_duel_has_lost_it_and_says_why(tmp_path: Path) -> None:
    balance = Balance(the_first_helps_most)
    weigh = balance.weigh

    def instead(study: Study, seed: int, folder: Path) -> Verdict:
        last = study.arms[-1].name
        if folder.name.startswith("duel") and last.startswith("trial-") and last != "trial-1":
            raise ServerError("it crashed")
        return weigh(study, seed, folder)

    balance.weigh = instead  # type: ignore[method-assign]
    found = run(balance, tmp_path, trials=8)
    assert found.winner is not None
    assert found.winner.number == 1
    [failed] = [one for one in found.trials if one.failed]
    assert failed.outcome == "failed: it crashed"
    assert failed.number > 4


def test_a_best_that_crashes_in_its_duel_is_no_longer_the_best(tmp_path: Path) -> None:
    balance = dies("trial-1", "duel", 3, effect=the_first_helps_most)
    found = run(balance, tmp_path, trials=8)
    assert found.trials[0].outcome == "failed: crashed in 1 of 4 epochs"
    assert found.winner is not None
    assert found.winner.number > 4, "the one that it met"


def test_a_search_with_failures_is_resumed_as_it_was(tmp_path: Path) -> None:
    whole = dies("trial-2", "round-01", 0, 1)
    found = run(whole, tmp_path)
    half = dies("trial-2", "round-01", 0, 1)
    half.known = {p: v for p, v in whole.known.items() if "duel" not in p.name}
    assert run(half, tmp_path) == found


def test_a_confirmation_that_fails_or_is_interrupted_is_no_figure(tmp_path: Path) -> None:
    there = failing(Balance(work_mem_helps), ServerError("it crashed"), "confirmation".__eq__)
    with pytest.raises(ServerError, match="crashed"):
        run(there, tmp_path / "1")
    with pytest.raises(WeighingError, match="could not confirm trial-1: crashed in 12 of 12"):
        run(dies("trial-1", "confirmation", *range(12)), tmp_path / "2", trials=4)
    balance = Balance(work_mem_helps)
    weigh = balance.weigh

    def interrupted(study: Study, seed: int, folder: Path) -> Verdict:
        verdict = weigh(study, seed, folder)
        ended = folder.name == "confirmation"
        return verdict.model_copy(update={"interrupted": ended})

    balance.weigh = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        run(balance, tmp_path / "3")
