"""A search names the place that changed the answer, errs as seldom as it says, and says what it
could not tell."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from steelyard.history.bisect import (
    Bisected,
    BisectPlan,
    Weigh,
    bisect,
    epochs_required,
    nearer,
    require_places,
    share_of_error,
    sided_of,
)
from steelyard.model.errors import SteelyardError, UsageError
from steelyard.record.contrast import EpochDetail
from steelyard.record.verdict import Verdict

PLACES = tuple("abcdefgh")


def contrast(readings: Sequence[float], verdict: str = "inconclusive") -> Any:
    epochs = [SimpleNamespace(epoch=n, d=one) for n, one in enumerate(readings)]
    return SimpleNamespace(
        verdict=verdict,
        threats=(SimpleNamespace(name="work not done"),) if verdict == "invalid" else (),
        details=SimpleNamespace(epochs=epochs, margin_percent=1.0),
    )


def verdict_of(*contrasts: Any) -> Verdict:
    return cast(Verdict, SimpleNamespace(contrasts=contrasts))


def simulated(levels: Sequence[float], sd: float, seed: int = 1) -> Weigh:
    """Weighings of places with these log throughputs; every arm's epochs scatter by `sd`."""
    draw = random.Random(seed)

    def weigh(middle: int | None, attempt: int) -> Verdict:
        epochs = epochs_required(len(levels)) * (1 + attempt)
        first = [draw.gauss(levels[0], sd) for _ in range(epochs)]

        def arm(number: int) -> Any:
            return contrast([draw.gauss(levels[number], sd) - one for one in first])

        wanted = [len(levels) - 1] if middle is None else [middle, len(levels) - 1]
        return verdict_of(*map(arm, wanted))

    return weigh


def search(
    weigh: Weigh, places: Sequence[str] = PLACES, say: Callable[[str], None] = len
) -> Bisected:
    plan = BisectPlan(study="versions", key="version", places=tuple(places), seed=1)
    return bisect(plan, weigh, lambda middle, attempt: f"{middle}/{attempt}", say)


@pytest.mark.parametrize("changed", range(1, len(PLACES)))
@pytest.mark.parametrize("effect", [-0.05, 0.05])
def test_the_place_that_changed_is_named_in_as_many_weighings_as_halving_takes(
    changed: int, effect: float
) -> None:
    said: list[str] = []
    levels = [0.0] * changed + [effect] * (len(PLACES) - changed)
    found = search(simulated(levels, 0.002), say=said.append)
    assert (found.outcome, found.before, found.after) == (
        "found", PLACES[changed - 1], PLACES[changed],
    )  # fmt: skip
    assert len(found.steps) <= 1 + 3
    assert len(said) == len(found.steps)
    assert (
        f"{PLACES[changed]} is the first that is so, {PLACES[changed - 1]} is not" in found.sentence
    )
    assert "wrong at most once in twenty" in found.sentence
    assert Bisected.of_json(found.to_json(), "there") == found


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("throughput", "of throughput, faster"),
        ("geometric_mean", "of geometric mean time, slower"),
        ("rate at p99 ≤ 20 ms", "of the rate at p99 ≤ 20 ms, faster"),
    ],
)
def test_what_was_read_is_named_and_whether_it_is_faster_or_slower(metric: str, words: str) -> None:
    """More of a time is slower."""
    said: list[str] = []
    plan = BisectPlan(study="versions", key="version", places=PLACES, seed=1)
    weigh = simulated([0.0] * 3 + [0.05] * 5, 0.002)
    found = bisect(plan, weigh, lambda middle, attempt: "there", said.append, metric)
    assert found.metric == metric
    assert re.match(r"h against a: \+5\.\d\d % \[[^]]+\] " + re.escape(words), found.sentence)
    assert found.sentence.partition("; ")[0] == said[0]
    assert said[1].endswith((", as a", ", as h"))


def test_ends_that_are_alike_are_not_searched_and_neither_are_ends_that_nobody_told_apart() -> None:
    alike = search(simulated([0.0] * 8, 0.001))
    assert (alike.outcome, alike.before, len(alike.steps)) == ("no difference", None, 1)
    assert "there is no change to look for" in alike.sentence
    loud = search(simulated([0.0] * 7 + [0.002], 0.05))
    assert (loud.outcome, loud.after, len(loud.steps)) == ("not told apart", None, 2)
    assert "weigh them longer" in loud.sentence


def test_two_changes_of_one_size_are_told_from_neither_end_and_said() -> None:
    found = search(simulated([0.0, 0.0, 0.0, 0.05, 0.05, 0.1, 0.1, 0.1], 0.004))
    assert (found.outcome, found.before, found.after) == ("narrowed", "a", "h")
    assert [one.side for one in found.steps[1:]] == ["neither", "neither"]
    assert "after a and not after h: 6 between are told from neither end" in found.sentence


def test_a_place_that_cannot_be_weighed_is_left_out_and_its_neighbours_are_weighed() -> None:
    sound = simulated([0.0] * 5 + [0.1] * 3, 0.002)
    broken = {"d": "it was not built", "e": "its server did not start"}

    def weigh(middle: int | None, attempt: int) -> Verdict | str:
        reason = broken.get(PLACES[middle]) if middle is not None else None
        return reason or sound(middle, attempt)

    said: list[str] = []
    found = search(weigh, say=said.append)
    assert (found.outcome, found.before, found.after) == ("narrowed", "c", "f")
    assert "2 between are told from neither end or left out" in found.sentence
    assert "d is left out: it was not built" in said


def test_an_invalid_weighing_tells_of_no_place() -> None:
    sound = simulated([0.0] * 4 + [0.1] * 4, 0.002)

    def weigh(middle: int | None, attempt: int) -> Verdict | str:
        spoilt = verdict_of(contrast([0.1] * 12, "invalid"), contrast([0.1] * 12))
        return spoilt if middle == 3 else sound(middle, attempt)

    found = search(weigh)
    assert (found.before, found.after) == ("c", "e")
    [out] = [step for step in found.steps if step.failed]
    assert out.failed == "its weighing is invalid (work not done)"


def test_ends_that_cannot_be_weighed_end_it() -> None:
    with pytest.raises(SteelyardError, match="the ends could not be weighed: no room"):
        search(lambda middle, attempt: "no room")


def test_of_a_thousand_middles_where_one_change_is_hard_to_see_few_are_put_on_the_wrong_side() -> (
    None
):
    """At the judgement's own share of error: each of 1,000 is wrong with at most that chance."""
    draw, alpha, wrong = random.Random(4), 0.05, 0
    for _ in range(1000):
        first, middle, last = (
            [draw.gauss(level, 0.02) for _ in range(12)] for level in (0, 0, 0.01)
        )
        ratios = [
            {n: one - other for n, (one, other) in enumerate(zip(arm, first, strict=True))}
            for arm in (middle, last)
        ]
        wrong += nearer(ratios[0], ratios[1], alpha) == "last"
    assert wrong <= 1000 * alpha


def test_an_epoch_without_a_reading_of_either_arm_does_not_count() -> None:
    last = {n: 0.1 + n / 1000 for n in range(12)}
    assert nearer(dict.fromkeys(range(12), 0.1), last, 0.05) == "last"
    assert nearer(dict.fromkeys(range(11, 20), 0.1), last, 0.05) == "neither"
    assert nearer({}, last, 0.05) == "neither"


@pytest.mark.parametrize(
    ("level", "outcome"),
    [(-0.20, "no difference"), (0.16, "no difference"), (-0.24, "found"), (0.20, "found")],
)
def test_ends_are_held_against_the_margin_of_the_study_on_either_side(
    level: float, outcome: str
) -> None:
    """20 % less is further from equal, in logs, than 20 % more."""
    weighed = simulated([0.0] * 4 + [level] * 4, 0.002)

    def weigh(middle: int | None, attempt: int) -> Verdict:
        verdict = cast(Verdict, weighed(middle, attempt))
        for line in verdict.contrasts:
            cast(Any, line.details).margin_percent = 20.0
        return verdict

    assert search(weigh).outcome == outcome


def crashing(crashes: Sequence[bool], often: int) -> Weigh:
    """Weighings of places as fast as each other, of which some crash in the first epochs."""
    draw = random.Random(2)

    def line(arm: int, weighed: Sequence[int], epochs: int) -> Any:
        lost = ", ".join(PLACES[x] for x in weighed if crashes[x])
        details = [
            EpochDetail(
                epoch=n, slots={}, order=(), typical_d=None,
                d=None if lost and n < often else draw.gauss(0.0, 0.001),
                throughput={"a": 100.0, PLACES[arm]: 100.0},
                outcome=f"crashed: {lost}" if lost and n < often else "complete",
            )
            for n in range(epochs)
        ]  # fmt: skip
        return SimpleNamespace(
            verdict="inconclusive", threats=(), arm=PLACES[arm], control="a",
            metric="throughput", higher_is_better=True,
            details=SimpleNamespace(epochs=details, margin_percent=1.0, drops={}),
        )  # fmt: skip

    def weigh(middle: int | None, attempt: int) -> Verdict:
        end, epochs = len(crashes) - 1, epochs_required(len(crashes)) * (1 + attempt)
        weighed = [end] if middle is None else [middle, end]
        return verdict_of(*(line(arm, weighed, epochs) for arm in weighed))

    return weigh


def test_a_place_that_crashes_is_not_taken_for_one_that_is_as_the_first() -> None:
    """Of the epochs that it survived it is as fast; the others are no epochs without a reading."""
    found = search(crashing([False] * 5 + [True] * 3, 5))
    assert found.outcome != "no difference"
    assert "there is no change to look for" not in found.sentence
    assert found.steps[0].low_percent == -100


def test_the_first_place_that_always_crashes_is_named() -> None:
    often = 2 * epochs_required(len(PLACES))
    found = search(crashing([False] * 5 + [True] * 3, often))
    assert (found.outcome, found.before, found.after) == ("found", "e", "f")


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize(
    ("outcome", "first", "rate", "dropped", "worked"),
    [
        ("crashed: h", 100.0, 100.0, 0, False),
        ("could not start: h", 0.0, 0.0, 0, False),
        ("could not start: a", 0.0, 0.0, 0, True),
        ("crashed: a, h", 100.0, 100.0, 0, None),
        ("complete", 100.0, 0.0, 0, False),
        ("complete", 100.0, 0.0, 3, None),
        ("complete", 100.0, None, 0, None),
        ("complete", 0.0, 0.0, 0, None),
        ("failed: no room", 100.0, 0.0, 0, None),
        ("crashed: a", 100.0, 100.0, 0, True),
        ("crashed: d", 100.0, 0.0, 0, None),
    ],
)
def test_an_epoch_without_a_number_counts_where_one_of_the_two_did_no_work(
    outcome: str,
    first: float,
    rate: float | None,
    dropped: int,
    worked: bool | None,
    higher: bool,
) -> None:
    epoch = EpochDetail(
        epoch=3, slots={}, order=(), d=None, typical_d=None, outcome=outcome,
        throughput={"a": first, "h": rate},
    )  # fmt: skip
    line: Any = SimpleNamespace(
        verdict="inconclusive", arm="h", control="a", metric="m", higher_is_better=higher,
        details=SimpleNamespace(epochs=[epoch], margin_percent=1.0, drops={"h": dropped}),
    )  # fmt: skip
    sided = sided_of(verdict_of(line))
    assert not isinstance(sided, str)
    expected = {} if worked is None else {3: math.inf if worked is higher else -math.inf}
    assert sided.last == expected


def test_where_one_end_crashed_against_what_the_others_show_a_place_is_on_neither_side() -> None:
    """The last place reads slower, and the first one was lost in an epoch: both cannot be so."""
    last = {n: -0.05 - n / 10_000 for n in range(11)} | {11: math.inf}
    as_first = {n: n / 10_000 for n in range(11)} | {11: math.inf}
    assert nearer(as_first, last, 0.05) == "neither"
    assert nearer({**as_first, 11: 0.001}, {**last, 11: -0.05}, 0.05) == "first"


def test_a_loss_counts_where_it_left_the_other_place_without_a_ratio() -> None:
    last = dict.fromkeys(range(6), -math.inf)
    middle = dict.fromkeys(range(6, 12), -math.inf)
    assert nearer(middle, last, 0.05) == "neither", "each was lost where the other one was not"
    assert nearer(dict.fromkeys(range(12), -math.inf), last, 0.05) == "last"
    assert nearer({}, dict.fromkeys(range(12), -math.inf), 0.05) == "first"


def test_all_judgements_of_a_search_share_five_percent_and_can_be_decided() -> None:
    for places in (3, 4, 9, 100, 10_000):
        alpha = share_of_error(places)
        halvings = next(n for n in itertools.count() if 2**n >= places - 1)
        assert alpha * 2 * (1 + halvings) <= 0.05 + 1e-12
        assert 2 * 2.0 ** -epochs_required(places) < alpha


@pytest.mark.parametrize("places", [[], ["a"], ["a", "b"], ["a", "b", "a"]])
def test_a_row_has_three_places_or_more_and_none_twice(places: list[str]) -> None:
    with pytest.raises(UsageError):
        require_places(places, "version", "versions")


@pytest.mark.parametrize(
    ("key", "typed"),
    [
        ("version", "weigh mine.toml --set control.version=1 --set arm.version=4"),
        ("bindir", "weigh mine.toml --set control.bindir=1 --set arm.bindir=4"),
        ("work_mem", "steelyard weigh mine.toml --set control.settings.work_mem=1"),
        ("settings.work_mem", "--set control.settings.work_mem=1 --set arm.settings.work_mem=4"),
    ],
)
def test_two_places_are_refused_with_what_weighs_two(key: str, typed: str) -> None:
    with pytest.raises(UsageError) as refused:
        require_places(("1", "4"), key, "mine.toml")
    assert typed in str(refused.value.hint)
