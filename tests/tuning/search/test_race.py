"""A search drops the worse half, changes its mind only after a duel, and confirms afresh."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.model.errors import ServerError
from steelyard.tuning.search.race import search
from steelyard.tuning.search.trial import Found
from tuning.search.raced import FIELD, Balance, no_effect, work_mem_helps

pytest.importorskip("optuna")


def run(balance: Balance, folder: Path, trials: int = 12, seed: int = 3) -> Found:
    return search(FIELD, trials, seed, folder, balance.weigh, lambda words: None)


def test_every_candidate_is_weighed_against_the_control_in_the_same_epochs(tmp_path: Path) -> None:
    balance = Balance(work_mem_helps)
    found = run(balance, tmp_path)
    first = balance.studies["round-01"]
    assert [arm.name for arm in first.arms] == ["trial-1", "trial-2", "trial-3", "trial-4"]
    assert first.control == FIELD.study.control
    assert first.budget.epochs == 2
    assert len(balance.studies["round-01-on"].arms) == 2
    assert balance.studies["round-01-on"].budget.epochs == 4
    assert [one.number for one in found.trials] == list(range(1, 13))
    assert sum(one.outcome == "raced" for one in found.trials) == 6
    assert sum(one.outcome == "dropped early" for one in found.trials) == 6
    assert {len(one.log_ratios) for one in found.trials} == {2, 6}
    assert found.weighings == sum(balance.asked.values())


def test_the_winner_is_confirmed_with_the_whole_plan_and_a_seed_of_its_own(tmp_path: Path) -> None:
    balance = Balance(work_mem_helps)
    found = run(balance, tmp_path)
    assert found.winner is not None
    assert found.confirmed is not None
    assert balance.asked["confirmation"] == 1
    confirmation = balance.studies["confirmation"]
    assert confirmation.budget == FIELD.study.budget
    assert [arm.name for arm in confirmation.arms] == [found.winner.name]
    others = {v.seed for place, v in balance.known.items() if place.name != "confirmation"}
    assert found.confirmed.seed not in others
    best = max(one.log_ratio or 0 for one in found.trials if one.outcome == "raced")
    assert found.winner.log_ratio == pytest.approx(best, abs=0.05)


def test_a_challenger_takes_over_only_after_a_direct_race(tmp_path: Path) -> None:
    balance = Balance(work_mem_helps, sd=0.08)
    found = run(balance, tmp_path, trials=24)
    duels = [name for name in balance.asked if name.startswith("duel-")]
    assert duels
    for name in duels:
        _, held, challenger = name.split("-")
        study = balance.studies[name]
        assert study.control.name == f"trial-{held}"
        assert [arm.name for arm in study.arms] == [f"trial-{challenger}"]
    assert found.winner is not None


def test_a_search_that_is_resumed_asks_for_the_same_and_weighs_nothing_again(
    tmp_path: Path,
) -> None:
    whole = Balance(work_mem_helps)
    found = run(whole, tmp_path)
    half = Balance(work_mem_helps)
    half.known = {p: v for p, v in whole.known.items() if p.name.startswith("round-01")}
    again = run(half, tmp_path)
    assert again == found
    assert not [name for name in half.asked if name.startswith("round-01")]
    assert set(half.asked) < set(whole.asked)


def test_another_seed_tries_others(tmp_path: Path) -> None:
    one, other = (run(Balance(), tmp_path / str(seed), seed=seed) for seed in (1, 2))
    assert one.trials[0].settings == other.trials[0].settings, "the profile"
    assert one.trials[1].settings != other.trials[1].settings


def test_a_candidate_that_does_not_start_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    balance = Balance(work_mem_helps, fails=lambda settings: settings.get("jit") == "off")
    found = run(balance, tmp_path)
    failed = [one for one in found.trials if one.outcome.startswith("failed")]
    assert failed
    assert all("did not start" in one.outcome for one in failed)
    assert all(one.settings["jit"] == "off" and one.log_ratio is None for one in failed)
    assert [one for one in found.trials if one.outcome == "raced"]


def test_where_nothing_beats_the_control_nothing_is_confirmed(tmp_path: Path) -> None:
    def everything_hurts(settings: object) -> float:
        return -0.2 if settings else 0.0

    balance = Balance(everything_hurts)
    found = run(balance, tmp_path)
    assert (found.winner, found.confirmed) == (None, None)
    assert "confirmation" not in balance.asked


def test_luck_flatters_the_winner_and_the_fresh_weighing_takes_it_back(tmp_path: Path) -> None:
    """Without any effect the best of many reads better than 0; the confirmations of twenty
    searches are 0 on average."""
    sought, confirmed = [], []
    for seed in range(20):
        found = run(Balance(no_effect, sd=0.05), tmp_path / str(seed), trials=8, seed=seed)
        if found.winner is not None and found.confirmed is not None:
            sought.append(found.winner.log_ratio or 0.0)
            confirmed += list(found.confirmed.contrasts[0].details.d)
    assert sum(sought) / len(sought) > 0.02
    assert abs(sum(confirmed) / len(confirmed)) < 0.01


def test_a_failing_control_ends_the_search(tmp_path: Path) -> None:
    def the_winner_fails(place: str) -> Balance:
        balance = Balance(work_mem_helps)
        weigh = balance.weigh

        def failing(study: object, seed: int, folder: Path) -> object:
            if folder.name == place:
                raise ServerError("it crashed")
            return weigh(study, seed, folder)  # type: ignore[arg-type]

        balance.weigh = failing  # type: ignore[method-assign,assignment]
        return balance

    with pytest.raises(ServerError, match="crashed"):
        run(the_winner_fails("confirmation"), tmp_path)
