"""A verdict reads as a sentence that a person can repeat, with its interval and its basis."""

from __future__ import annotations

import dataclasses
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from record.made import details_of
from steelyard.analysis.decision.forecast import Forecast, Need
from steelyard.analysis.decision.looks import Terms
from steelyard.evaluation.contrast import AnswerWords, Contrast, WeighedContrast
from steelyard.evaluation.rule import Decision, VerdictKind
from steelyard.model.estimate import LOG_RATIO, Estimate
from steelyard.model.threat import Quoted, ThreatKind
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


def of_logs(
    verdict: Decision,
    logs: tuple[float, float, float],
    subject: str | None = None,
    lacks: bool = False,
) -> WeighedContrast:
    """As `contrast`, of log ratios; `subject`: it answers in the words of a question."""
    value, low, high = logs
    answer = None if subject is None else AnswerWords(subject, lacks=lacks)
    plain = contrast(verdict, (0.0, 0.0, 0.0))
    estimate = dataclasses.replace(plain.estimate, value=value, low=low, high=high)
    return dataclasses.replace(plain, estimate=estimate, answer=answer)


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


@pytest.mark.parametrize(
    ("kind", "logs", "words"),
    [
        (FASTER, (math.inf, 0.1, math.inf), "off is faster than on by at least 10.5 % of"),
        (FASTER, (35.0, 30.0, 40.0), "by at least 100 000 000 000 000 % of"),
        (SLOWER, (-math.inf, -math.inf, -0.5), "by 100.0 % [39.3, unbounded] of"),
        (VerdictKind.INCONCLUSIVE, (math.inf, -0.1, math.inf), "unbounded [−9.5, unbounded] of"),
    ],
)
@pytest.mark.parametrize("subject", [None, "jit"])
def test_an_arm_that_did_no_work_is_worded_without_infinite_figures(
    kind: VerdictKind, logs: tuple[float, float, float], words: str, subject: str | None
) -> None:
    judged = of_logs(Decision(kind, True, True), logs, subject)
    sentence = sentence_of(judged)
    figures = words.removeprefix("off is faster than on by ").removeprefix("by ")
    assert figures in sentence
    assert not re.search(r"\binf\b|\bnan\b|unbounded %", sentence)


@given(
    st.tuples(*[st.floats(-45, 45) | st.sampled_from([math.inf, -math.inf])] * 3).map(sorted),
    st.sampled_from([None, "jit"]),
    st.booleans(),
)
def test_no_sentence_has_an_infinite_figure_or_one_without_direction(
    logs: list[float], subject: str | None, lacks: bool
) -> None:
    low, value, high = logs
    kind = FASTER if low > 0 else SLOWER if high < 0 else VerdictKind.INCONCLUSIVE
    judged = of_logs(Decision(kind, low > 0 or high < 0), (value, low, high), subject, lacks)
    sentence = sentence_of(judged)
    assert not re.search(r"\binf\b|\bnan\b|unbounded %", sentence)


@given(st.floats(1e-4, 5.0), st.floats(1.1, 3.0))
def test_a_difference_is_never_read_as_zero(percent: float, factor: float) -> None:
    ends = (percent * (1 + factor) / 2, percent, percent * factor)
    figures = re.findall(r"\d+\.\d+", sentence_of(contrast(Decision(FASTER, True), ends)))
    assert all(float(figure) > 0 for figure in figures[:3])


@pytest.mark.parametrize(("epochs", "words"), [(1, "1 epoch)"), (2, "2 epochs)")])
def test_one_epoch_is_not_several(epochs: int, words: str) -> None:
    judged = dataclasses.replace(contrast(OPEN, (0.4, -0.8, 1.6)), epochs=epochs)
    assert words in sentence_of(judged)
