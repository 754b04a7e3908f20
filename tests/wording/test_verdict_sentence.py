"""A verdict reads as a sentence that a person can repeat, with its interval and its basis."""

from __future__ import annotations

import pytest

from record.made import details_of
from steelyard.analysis.decision.forecast import Forecast, Need
from steelyard.analysis.decision.looks import Terms
from steelyard.evaluation.contrast import Contrast, WeighedContrast
from steelyard.evaluation.rule import Decision, VerdictKind
from steelyard.model.estimate import LOG_RATIO, Estimate
from steelyard.model.observation import Quoted
from steelyard.model.threat_kind import ThreatKind
from steelyard.model.units import log_of_percent
from steelyard.wording.verdict_sentence import sentence_of


def contrast(
    verdict: Decision,
    percents: tuple[float, float, float],
    *,
    forecast: Forecast | None = None,
    look: str = "last",
    metric: str = "throughput",
    epoch_seconds: float = 10.0,
    **details: object,
) -> WeighedContrast:
    value, low, high = (log_of_percent(percent) for percent in percents)
    return Contrast(
        arm="off",
        control="on",
        terms=Terms(12, 8, margin=0.01, metric=metric, epoch_seconds=epoch_seconds),
        estimate=Estimate(value, low, high, 12, LOG_RATIO, 0.95),
        verdict=verdict,
        epochs=12,
        blocks=720,
        forecast=forecast,
        threats=(),
        details=details_of(look=look, **details),
    )


SLOWER, FASTER = VerdictKind.SLOWER, VerdictKind.FASTER
OPEN = Decision(VerdictKind.INCONCLUSIVE)
SETTLES = Forecast(12, margin=Need(30, 48, 92), sign=Need(400, 600, 900))
NEAR_MARGIN = Forecast(12, margin=None, sign=Need(14, 20, 34))


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        (
            contrast(Decision(FASTER, True, False, True), (3.1, 2.6, 3.5)),
            "off is faster than on by 3.1 % [2.6, 3.5] of throughput (95 % interval, 12 epochs)",
        ),
        (
            contrast(Decision(SLOWER, True, True, True), (-3.06, -3.51, -2.6)),
            "off is slower than on by 3.1 % [2.6, 3.5] of throughput "
            "(95 % interval, 12 epochs), beyond ±1 %",
        ),
        (
            contrast(Decision(SLOWER, True), (1.24, 0.4, 2.1), metric="latency_mean"),
            "off is slower than on by 1.24 % [0.40, 2.10] of mean latency "
            "(95 % interval, 12 epochs)",
        ),
        (
            contrast(
                Decision(VerdictKind.EQUIVALENT),
                (0.12, -0.45, 0.69),
                equivalence_interval_percent=[-0.31, 0.55],
                equivalence_level_one_sided=0.04,
            ),
            "off and on are equivalent within ±1 %: +0.12 % [−0.45, +0.69] of throughput "
            "(95 % interval, 12 epochs; the 92 % interval for equivalence is [−0.31, +0.55])",
        ),
        (
            contrast(
                Decision(VerdictKind.EQUIVALENT, nonzero=True),
                (0.5, 0.2, 0.9),
                equivalence_interval_percent=[0.25, 0.8],
                equivalence_level_one_sided=0.01,
            ),
            "off and on are equivalent within ±1 %, though not zero: +0.50 % [+0.20, +0.90] of "
            "throughput (95 % interval, 12 epochs; the 98 % interval for equivalence is "
            "[+0.25, +0.80])",
        ),
        (
            contrast(OPEN, (0.4, -0.8, 1.6), forecast=SETTLES),
            "inconclusive: off against on reads +0.40 % [−0.80, +1.60] of throughput "
            "(95 % interval, 12 epochs); if the effect is as large as it reads, about 6 min more "
            "(3 min to 13 min 20 s) would settle ±1 %",
        ),
        (
            contrast(OPEN, (0.99, -0.1, 2.1), forecast=NEAR_MARGIN),
            "inconclusive: off against on reads +0.99 % [−0.10, +2.10] of throughput "
            "(95 % interval, 12 epochs); if the effect is as large as it reads, about 1 min 20 s "
            "more (20 s to 3 min 40 s) would tell it from zero, but it lies so near ±1 % that no "
            "time will settle that",
        ),
        (
            contrast(OPEN, (0.4, -0.8, 1.6), forecast=SETTLES, epoch_seconds=0.0),
            "inconclusive: off against on reads +0.40 % [−0.80, +1.60] of throughput "
            "(95 % interval, 12 epochs); if the effect is as large as it reads, about 36 epochs "
            "more (18 epochs to 80 epochs) would settle ±1 %",
        ),
        (
            contrast(OPEN, (0.4, -0.8, 1.6), look="too few"),
            "inconclusive: off against on reads +0.40 % [−0.80, +1.60] of throughput "
            "(95 % t interval, 12 epochs); too few epochs to say how much more would settle it",
        ),
    ],
)
def test_a_verdict_reads_so(judged: WeighedContrast, words: str) -> None:
    assert sentence_of(judged) == words


def test_an_invalid_weighing_names_its_reason_and_gives_no_figure() -> None:
    import dataclasses

    reason = Quoted(ThreatKind.DEBUG_BUILD, "debug profile")
    doubt = Quoted(ThreatKind.STEAL, "12 %")
    judged = dataclasses.replace(
        contrast(Decision(VerdictKind.INVALID), (3.1, 2.6, 3.5)), threats=(doubt, reason)
    )
    assert sentence_of(judged) == (
        "invalid: nothing can be said of off against on: debug build of the driver"
    )


def test_no_time_settles_what_lies_on_the_margin_and_at_zero_too() -> None:
    judged = contrast(OPEN, (0.4, -0.8, 1.6), forecast=Forecast(12, None, None))
    assert sentence_of(judged).endswith("no time will settle ±1 % on this machine")
    assert judged.forecast_seconds is None
