"""One entry from readings to a verdict, whatever the epochs: few, lost, infinite, interrupted."""

from __future__ import annotations

import dataclasses
import json
import math
from itertools import pairwise
from math import comb

import numpy as np
import pytest

from steelyard.analysis.decision.epoch_reading import EpochReading
from steelyard.analysis.decision.looks import Terms
from steelyard.analysis.decision.max_t import joint_flips
from steelyard.analysis.decision.sign_flip import confidence_set
from steelyard.evaluation.contrast import WeighedContrast
from steelyard.evaluation.judge_epochs import contrast_of, percent_ends, slot_assignment
from steelyard.evaluation.judging import contrasts_of
from steelyard.evaluation.rule import VerdictKind
from steelyard.evaluation.threats.epochs import SlotsDiffer
from steelyard.model.estimate import LOG_RATIO, Estimate
from steelyard.model.threat import Quoted, ThreatKind
from steelyard.model.units import percent_of_log
from steelyard.verdict.contrast_line import line_of
from steelyard.wording.verdict_sentence import sentence_of

TERMS = Terms(12, 8, margin=0.01, epoch_seconds=8.0)
CONTRACT = [
    "arm",
    "control",
    "metric",
    "unit",
    "higher_is_better",
    "estimate_percent",
    "low_percent",
    "high_percent",
    "confidence",
    "verdict",
    "nonzero",
    "epochs",
    "blocks",
    "forecast_seconds",
    "threats",
]


def epochs_of(centre: float, n: int = 12, sd: float = 0.0065, seed: int = 1) -> list[EpochReading]:
    """Readings whose mean is exactly `centre`."""
    rng = np.random.default_rng(seed)
    slots = rng.permuted([0, 1] * (n // 2) + [0] * (n % 2))
    noise = rng.standard_normal(n)
    d = centre + sd * (noise - noise.mean())
    return [
        EpochReading(
            epoch=i,
            slots={"on": int(slots[i]), "off": 1 - int(slots[i])},
            start_order=("on", "off"),
            d=float(d[i]),
            typical_d=float(d[i]) + 0.001,
            throughput={"on": 1e4, "off": 1e4 * math.exp(d[i])},
            blocks=60,
        )
        for i in range(n)
    ]


def judged(
    epochs: list[EpochReading], terms: Terms = TERMS, ended: bool = False
) -> WeighedContrast:
    return contrast_of(epochs, terms, "off", "on", ended=ended)


def test_the_printed_set_is_the_balanced_sign_flip_set_at_04_and_the_estimate_the_mean() -> None:
    epochs = epochs_of(0.03)
    found = judged(epochs)
    d = np.array([one.d for one in epochs])
    expected = confidence_set(d, 0.04, slot_assignment(epochs, "off", "on"))
    assert found.estimate.interval == expected.interval
    assert found.estimate.value == pytest.approx(0.03)
    assert (found.verdict.kind, found.verdict.ends) == (VerdictKind.FASTER, True)
    assert (found.details.k, found.details.subsets, found.details.look) == (
        18,
        924,
        "last",
    )
    assert (found.details.level, found.estimate.confidence) == (0.96, 0.95)


def test_the_first_look_uses_plain_flips_at_01() -> None:
    found = judged(epochs_of(0.03)[:8])
    assert (found.details.k, found.details.subsets, found.details.look) == (
        1,
        256,
        "first",
    )


def test_an_interrupted_weighing_is_judged_by_what_there_is() -> None:
    nine = epochs_of(-0.03)[:9]
    assert judged(nine).verdict.kind is VerdictKind.INCONCLUSIVE
    found = judged(nine, ended=True)
    assert (found.verdict.kind, found.details.look) == (VerdictKind.SLOWER, "interrupted")
    assert found.details.subsets == 512


def test_too_few_epochs_show_the_t_interval_and_no_verdict() -> None:
    found = judged(epochs_of(-0.05, n=6), Terms(6, None))
    assert found.verdict.kind is VerdictKind.INCONCLUSIVE
    assert [t.name for t in found.threats] == ["too few epochs"]
    low, high = found.details.t_interval_percent
    assert percent_of_log(found.estimate.low) == pytest.approx(low)
    assert high < 0


@pytest.mark.parametrize("n", range(4))
def test_the_first_epochs_give_valid_json_with_no_interval_before_there_is_one(n: int) -> None:
    value = line_of(judged(epochs_of(0.02)[:n])).to_json()
    json.dumps(value, allow_nan=False)
    assert (value["low_percent"] is None) is (n < 2)
    assert value["epochs"] == n


def test_the_json_has_the_keys_of_the_contract_in_order_then_the_details() -> None:
    value = line_of(judged(epochs_of(-0.03))).to_json()
    assert list(value) == [*CONTRACT, "sentence", "details"]
    assert value["estimate_percent"] == pytest.approx(percent_of_log(-0.03))
    assert value["low_percent"] < value["estimate_percent"] < value["high_percent"]
    assert (value["verdict"], value["nonzero"], value["unit"]) == ("slower", True, "transactions/s")
    assert (value["epochs"], value["blocks"]) == (12, 720)
    details = value["details"]
    assert [len(details[key]) for key in ("d", "epochs", "settling")] == [12, 12, 12]
    assert details["settling"][-1]["low_percent"] == value["low_percent"]
    assert set(details["epochs"][0]) >= {"epoch", "slots", "order", "d", "throughput", "typical_d"}
    assert details["typical_percent"] == pytest.approx(percent_of_log(-0.029))


def test_a_slot_effect_is_reported_apart_from_the_reading() -> None:
    epochs = [
        dataclasses.replace(one, d=one.d + (0.02 if one.slots["off"] < one.slots["on"] else -0.02))
        for one in epochs_of(0.0, sd=0.001)
    ]
    found = judged(epochs)
    assert found.details.slot_effect_percent == pytest.approx(2.0, abs=0.1)
    [check] = [threat.check for threat in found.threats if isinstance(threat, SlotsDiffer)]
    assert 0 < check.interval.low < check.effect < check.interval.high < math.inf
    assert 0.0 in found.estimate.interval


def test_a_crashed_epoch_is_counted_named_and_unbounds_the_set_on_its_side() -> None:
    epochs = epochs_of(0.0)
    epochs[5] = dataclasses.replace(epochs[5], d=-math.inf, outcome="crashed: off")
    found = judged(epochs)
    value = line_of(found).to_json()
    json.dumps(value, allow_nan=False)
    assert (value["epochs"], value["low_percent"], value["verdict"]) == (12, None, "inconclusive")
    assert math.isfinite(value["estimate_percent"])
    assert value["details"]["lost_epochs"] == [5]
    assert "an arm crashed" in [threat.name for threat in found.threats]


def test_an_arm_that_never_worked_is_slower_without_bound() -> None:
    epochs = [
        dataclasses.replace(one, d=-math.inf, outcome="crashed: off") for one in epochs_of(0.0)
    ]
    found = judged(epochs)
    json.dumps(line_of(found).to_json(), allow_nan=False)
    assert found.verdict.kind is VerdictKind.SLOWER
    assert "unbounded" in sentence_of(found)


def test_an_epoch_without_a_reading_is_left_out_and_the_plan_goes_on() -> None:
    epochs = epochs_of(-0.03)
    epochs[5] = dataclasses.replace(epochs[5], d=math.nan, outcome="failed: driver was lost")
    found = judged(epochs)
    json.dumps(line_of(found).to_json(), allow_nan=False)
    assert (found.epochs, found.details.look, found.verdict.ends) == (11, "last", True)
    assert found.details.subsets == comb(11, 5)  # the assignments with as many either way


def test_an_odd_plan_is_judged_by_the_assignments_it_could_have_drawn() -> None:
    found = judged(epochs_of(-0.03, n=11), Terms(11, 8))
    assert (found.details.subsets, found.verdict.kind) == (comb(11, 5), VerdictKind.SLOWER)


def test_an_open_ended_weighing_is_judged_after_every_epoch_by_the_e_process() -> None:
    terms = Terms(12, None, margin=0.01, open_ended=True, s0=0.0065)
    epochs = epochs_of(-0.03, n=20)
    methods = [judged(epochs[:n], terms).details.method for n in (7, 8, 11, 12, 20)]
    assert methods == [
        "t",
        "e-process",
        "e-process",
        "e-process and sign flips",
        "e-process and sign flips",
    ]
    ends = [judged(epochs[:n], terms).estimate.interval for n in (8, 12, 16, 20)]
    assert all(later.width <= earlier.width + 1e-12 for earlier, later in pairwise(ends))
    assert judged(epochs, terms).verdict.kind is VerdictKind.SLOWER


def test_a_contrast_is_the_same_however_often_it_was_judged_before() -> None:
    epochs = epochs_of(0.004)
    first = line_of(judged(epochs)).to_json()
    for n in range(12):
        judged(epochs[:n])
    assert line_of(judged(epochs)).to_json() == first


def test_threats_seen_elsewhere_stand_beside_the_epochs_own_and_may_invalidate() -> None:
    fatal = Quoted(ThreatKind.WRONG_ANSWER, "3 rows missing")
    found = contrast_of(epochs_of(-0.03), TERMS, "off", "on", [fatal])
    assert (found.verdict.kind, found.threats) == (VerdictKind.INVALID, (fatal,))


def test_an_inconclusive_weighing_forecasts_seconds_and_a_settled_one_does_not() -> None:
    open_question = judged(epochs_of(0.004, sd=0.03))
    assert open_question.verdict.kind is VerdictKind.INCONCLUSIVE
    assert open_question.needed is not None
    assert line_of(open_question).to_json()["forecast_seconds"] == 8.0 * open_question.needed.likely
    assert line_of(judged(epochs_of(-0.03))).to_json()["forecast_seconds"] is None


def test_further_arms_are_secondary_and_wait_for_the_first() -> None:
    rng = np.random.default_rng(4)
    orders = [rng.permutation(3) for _ in range(12)]

    def readings(name: str, centre: float, seed: int) -> list[EpochReading]:
        return [
            dataclasses.replace(
                one, slots={a: int(p) for a, p in zip(("on", "off", "third"), order, strict=True)}
            )
            for one, order in zip(epochs_of(centre, seed=seed), orders, strict=True)
        ]

    table = {"off": readings("off", -0.03, 5), "third": readings("third", 0.04, 6)}
    first, second = contrasts_of(table, TERMS, "on", {})
    assert (first.verdict.kind, second.verdict.kind) == (VerdictKind.SLOWER, VerdictKind.FASTER)
    assert first.details.subsets == 4096  # three slots: plain flips
    assert second.details.secondary
    json.dumps(line_of(second).to_json(), allow_nan=False)
    waiting = dataclasses.replace(TERMS, open_ended=True)
    opened = contrasts_of({k: v[:10] for k, v in table.items()}, waiting, "on", {})
    assert opened[1].details.method == "e-process"
    alone = contrasts_of({"third": table["third"][:10]}, waiting, "on", {})
    assert opened[1].estimate.interval == alone[0].estimate.interval, "one further arm has it all"
    thrice = {**table, "fourth": table["third"]}
    shared = contrasts_of({k: v[:10] for k, v in thrice.items()}, waiting, "on", {})
    assert shared[1].estimate.interval.width > opened[1].estimate.interval.width
    early = contrasts_of({k: v[:10] for k, v in table.items()}, TERMS, "on", {})
    assert early[1].verdict.kind is VerdictKind.INCONCLUSIVE
    assert [c.verdict.kind for c in contrasts_of({"off": table["off"]}, TERMS, "on", {})] == [
        VerdictKind.SLOWER
    ]


def three_arms(lost: int, n: int = 12) -> dict[str, list[EpochReading]]:
    """Two further arms beside the first, all 5 % faster than the control; one of them crashed in
    the first epochs, which then have no ratio of the others."""
    outcome = "crashed: third"
    table = {}
    for seed, name in enumerate(("off", "third", "fourth")):
        gone = -math.inf if name == "third" else math.nan
        table[name] = [
            dataclasses.replace(
                one, slots={a: p for p, a in enumerate(("on", "off", "third", "fourth"))},
                **({"d": gone, "outcome": outcome} if one.epoch < lost else {}),
            )
            for one in epochs_of(0.05, n, seed=seed)
        ]  # fmt: skip
    return table


@pytest.mark.parametrize("lost", [1, 4])
def test_a_further_arm_that_crashed_is_not_judged_by_the_epochs_that_it_survived(lost: int) -> None:
    first, third, fourth = contrasts_of(three_arms(lost), TERMS, "on", {}, ended=True)
    assert (first.verdict.kind, fourth.verdict.kind) == (VerdictKind.FASTER, VerdictKind.FASTER)
    assert third.verdict.kind is VerdictKind.INCONCLUSIVE
    assert third.estimate.low == -math.inf
    assert third.details.method == "sign flips"
    value = line_of(third).to_json()
    json.dumps(value, allow_nan=False)
    assert (value["low_percent"], value["epochs"]) == (None, 12)


def test_the_arms_that_always_worked_share_what_a_crashed_one_leaves_of_the_error_rate() -> None:
    table = three_arms(2)
    *_, fourth = contrasts_of(table, TERMS, "on", {}, ended=True)
    beside = {name: table[name][2:] for name in ("off", "fourth")}
    d = np.array([[one.d for one in epochs] for epochs in beside.values()]).T
    wanted = joint_flips(d, 0.05 * 2 / 3)[1].interval
    assert fourth.estimate.interval == wanted
    assert fourth.details.level == pytest.approx(1 - 0.05 * 2 / 3)


def test_a_further_arm_that_never_worked_is_slower_without_bound_and_takes_no_other_with_it() -> (
    None
):
    never = three_arms(0)
    never["third"] = [dataclasses.replace(one, d=-math.inf) for one in never["third"]]
    _, third, fourth = contrasts_of(never, TERMS, "on", {}, ended=True)
    assert (third.verdict.kind, fourth.verdict.kind) == (VerdictKind.SLOWER, VerdictKind.FASTER)
    assert third.estimate.high == -math.inf


@pytest.mark.parametrize(("lost", "kind"), [(4, VerdictKind.FASTER), (5, VerdictKind.INCONCLUSIVE)])
def test_a_further_arm_too_has_no_verdict_of_fewer_epochs_than_eight(
    lost: int, kind: VerdictKind
) -> None:
    """Epochs of which it has no ratio, while the first arm has one of all."""
    table = three_arms(0)
    for number in range(lost):
        table["fourth"][number] = dataclasses.replace(table["fourth"][number], d=math.nan)
    first, _, fourth = contrasts_of(table, TERMS, "on", {}, ended=True)
    assert (first.verdict.kind, fourth.verdict.kind) == (VerdictKind.FASTER, kind)
    assert fourth.estimate.low > 0, "the interval is shown all the same"


def test_json_has_no_number_for_what_is_beyond_any_ratio() -> None:
    wild = Estimate(40.0, -40.0, 60.0, 2, LOG_RATIO, 0.95)
    told = percent_ends(wild)
    assert told["estimate_percent"] is None
    assert told["low_percent"] == pytest.approx(-100)
    assert told["high_percent"] is None
