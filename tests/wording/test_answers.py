"""Every built-in study answers in the words of its question, with the right sign and metric."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from record.made import details_of
from steelyard.analysis.decision.looks import Terms
from steelyard.evaluation.contrast import Contrast, WeighedContrast
from steelyard.evaluation.judging import answer_words
from steelyard.evaluation.rule import Decision, VerdictKind
from steelyard.model.estimate import LOG_RATIO, Estimate
from steelyard.study.read import builtin_studies, read_study
from steelyard.study.study import Study
from steelyard.wording.verdict_sentence import sentence_of
from thinned import thinned

METRICS = {
    "throughput": "throughput",
    "latency_mean": "mean latency",
    "geometric_mean": "geometric mean time",
}
STUDIES = [name for name in builtin_studies() if name != "factorial"]
"""A factorial's answer are the effects of its factors, whose sentences are others."""


@cache
def study_of(name: str) -> Study:
    return read_study(name)


def contrast_of(study_name: str, arm: str, kind: VerdictKind, log: float) -> WeighedContrast:
    """The contrast of an arm in a study, with a drawn effect and an interval around it."""
    study = study_of(study_name)
    half = abs(log) / 4 + 1e-4
    estimate = Estimate(log, log - half, log + half, 12, LOG_RATIO, 0.95)
    terms = Terms(12, 8, margin=study.decision.margin, metric=study.decision.metric)
    return Contrast(
        arm=arm,
        control=study.control.name,
        terms=terms,
        estimate=estimate,
        verdict=Decision(kind, kind not in (VerdictKind.INCONCLUSIVE, VerdictKind.EQUIVALENT)),
        epochs=12,
        blocks=700,
        forecast=None,
        threats=(),
        details=details_of(look="last", equivalence_interval_percent=(-0.4, 0.5)),
        answer=answer_words(study, arm),
    )


EVERY = [(name, arm.name) for name in STUDIES for arm in study_of(name).arms]
SIZES = (0.02, 0.1, 0.42, 1.5)


@pytest.mark.parametrize("name", builtin_studies())
def test_every_contrast_of_every_study_has_an_answer(name: str) -> None:
    study = read_study(name)
    if study.factors is None:
        assert all(study.answer_of(arm.name) is not None for arm in study.arms)
    else:
        assert not study.answer


@pytest.mark.parametrize(("study", "arm"), EVERY)
@pytest.mark.parametrize("up", [True, False])
def test_a_decided_answer_of_every_arm_has_the_sign_and_the_size(
    study: str, arm: str, up: bool
) -> None:
    for size in SIZES:
        require_sign_and_size(study, arm, size, up)


@given(pair=st.sampled_from(EVERY), size=st.floats(0.02, 1.5), up=st.booleans())
def test_a_decided_answer_has_the_sign_and_the_size_of_what_was_read(
    pair: tuple[str, str], size: float, up: bool
) -> None:
    require_sign_and_size(*pair, size, up)


def require_sign_and_size(study: str, arm: str, size: float, up: bool) -> None:
    metric = study_of(study).decision.metric
    better = up is (metric == "throughput")
    kind = VerdictKind.FASTER if better else VerdictKind.SLOWER
    contrast = contrast_of(study, arm, kind, size if up else -size)
    text, words = sentence_of(contrast), contrast.answer
    assert words is not None
    assert text.startswith(words.subject)
    assert METRICS[metric] in text
    if words.reads:
        sign = "+" if up else "−"
        assert f" {sign}{abs(100 * math.expm1(contrast.estimate.value)):.1f} %" in text
        return
    subject_better = better is not words.lacks
    gains = ("gain", "take") if subject_better else ("cost", "add")
    verb = gains[0] if metric == "throughput" else gains[1]
    assert re.match(rf"{re.escape(words.subject)} {verb}s? ", text), text
    log = -contrast.estimate.value if words.lacks else contrast.estimate.value
    places = r"\d+\.\d+"
    found = re.search(rf"({places}) % \[({places}), ({places})\]", text)
    assert found is not None, text
    assert float(found[1]) == pytest.approx(abs(100 * math.expm1(log)), abs=0.06)
    assert float(found[2]) <= float(found[1]) <= float(found[3])
    assert ("times" in text) is (100 * math.expm1(log) >= 50)


@thinned(("study", "arm"), EVERY, 15)
@given(log=st.floats(-0.3, 0.3))
def test_an_undecided_answer_claims_neither_cost_nor_gain(study: str, arm: str, log: float) -> None:
    contrast = contrast_of(study, arm, VerdictKind.INCONCLUSIVE, log)
    text, words = sentence_of(contrast), contrast.answer
    assert words is not None
    assert text.startswith("inconclusive: ")
    assert words.reads or f"what {words.subject} cost" in text
    reading = f"{100 * math.expm1(log):+.2f}".replace("-", "−")
    one = f"{100 * math.expm1(log):+.1f}".replace("-", "−")
    zero = abs(100 * math.expm1(log)) < 0.005
    assert zero or reading in text or one in text


@pytest.mark.parametrize(("study", "arm"), EVERY)
@pytest.mark.parametrize("log", [-0.004, 0.0, 0.004])
def test_an_answer_of_no_difference_says_within_which_margin(
    study: str, arm: str, log: float
) -> None:
    contrast = contrast_of(study, arm, VerdictKind.EQUIVALENT, log)
    text = sentence_of(contrast)
    margin = f"±{100 * contrast.terms.margin:g} %"
    assert margin in text
    assert METRICS[contrast.terms.metric] in text
    assert not re.search(r" (cost|gain)s? \d", text)


def test_checksums_cost_what_is_lost_by_having_them() -> None:
    """100 % more without them is a cost of half, not of all."""
    contrast = contrast_of("checksums", "off", VerdictKind.FASTER, math.log(1.028))
    assert sentence_of(contrast).startswith("data checksums cost 2.7 % [")
    double = contrast_of("checksums", "off", VerdictKind.FASTER, math.log(2))
    assert sentence_of(double).startswith("data checksums cost 50.0 % [")


def test_a_setting_that_doubles_throughput_says_so() -> None:
    study = read_study("settings", ["arm.settings.random_page_cost=1.1"])
    words = answer_words(study, "random_page_cost=1.1")
    doubled = contrast_of("shared-buffers", "1GB", VerdictKind.FASTER, math.log(2.02))
    named = replace(doubled, answer=words, arm="random_page_cost=1.1", control="default")
    text = sentence_of(named)
    assert text.startswith("random_page_cost=1.1 gains 102.0 % [")
    assert "of throughput against default: 2.02 times (95 % interval" in text


def test_words_are_not_those_of_another_treatment() -> None:
    study = read_study("wal-compression", ["arm.settings.wal_compression=lz4"])
    words = answer_words(study, "wal_compression=lz4")
    assert words is not None
    assert words.subject == "wal_compression=lz4"
    turned = read_study("checksums", ["control.checksums=false", "arm.checksums=true"])
    words = answer_words(turned, turned.arms[0].name)
    assert words is not None
    assert (words.subject, words.lacks) == ("checksums=on", False)
