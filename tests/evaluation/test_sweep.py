"""The intervals of a sweep hold together, and its sentence says where there is an effect."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from records.conftest import unpack
from steelyard.analysis.decision.sign_flip import confidence_set, one_sided_set
from steelyard.cli.weighing.sweep import sweep_lines
from steelyard.evaluation.sweep import ALPHA
from steelyard.model.units import percent_of_log
from steelyard.record.contrast import EpochDetail
from steelyard.record.reader import read_verdict
from steelyard.record.record import Record
from steelyard.record.sweep import SweepPlan, Swept, SweptContrast, SweptPoint, SweptRow
from steelyard.record.verdict import Verdict
from steelyard.report.sweep_page import render_sweep
from steelyard.verdict.swept import swept, without_pairs
from steelyard.wording.sweep_sentences import sentence

VALUES = ("8", "32", "256")
PLAN = SweepPlan(
    key="workload.clients", values=VALUES, order=(2, 0, 1), seed=1, study="checksums",
    command="steelyard weigh checksums --sweep workload.clients=8,32,256",
)  # fmt: skip


def point(value: str, estimate: float, half: float, verdict: str) -> SweptPoint:
    contrast = SweptContrast.model_validate(
        {
            "arm": "on", "control": "off", "metric": "throughput", "higher_is_better": True,
            "estimate_percent": estimate, "low_percent": estimate - half,
            "high_percent": estimate + half, "verdict": verdict, "epochs": 12,
        }
    )  # fmt: skip
    return SweptPoint(value=value, contrasts=(contrast,), record=f"points/{value}")


def sweep_of(*points: SweptPoint, key: str = "workload.clients") -> Swept:
    return Swept(
        key=key, study="checksums", question="q", margin_percent=1.0, confidence=0.95,
        points=points, sentences=(), seed=1, seconds=60.0,
    )  # fmt: skip


def sentence_of(*points: SweptPoint, key: str = "workload.clients") -> str:
    return sentence(sweep_of(*points, key=key), SweptRow("on", "off"))


def test_the_sentence_says_up_to_where_nothing_is_lost_and_what_then() -> None:
    words = sentence_of(
        point("8", 0.1, 0.4, "equivalent"),
        point("32", -0.2, 0.5, "equivalent"),
        point("256", -4.1, 1.9, "slower"),
    )
    assert words == (
        "by clients, on against off: equivalent within ±1 % up to 32; −4.10 % [−6.00, −2.20] at 256"
    )


def test_what_is_not_told_invalid_or_not_weighed_is_named() -> None:
    words = sentence_of(
        point("8", 0.1, 3.0, "inconclusive"),
        point("32", 0.0, 0.5, "equivalent"),
        point("64", 0.0, 9.0, "invalid"),
        SweptPoint(value="256", failed="too many clients"),
    )
    assert words == (
        "by clients, on against off: equivalent within ±1 % at 32; "
        "not told at 8 (+0.10 % [−2.90, +3.10]); invalid at 64; could not be weighed at 256"
    )


def test_what_could_not_be_weighed_is_not_said_to_be_equivalent() -> None:
    failed = SweptPoint(value="8", failed="no room")
    even = [point(value, 0.1, 0.4, "equivalent") for value in ("32", "64")]
    assert sentence_of(failed, *even) == (
        "by clients, on against off: equivalent within ±1 % at 32 and 64; could not be weighed at 8"
    )
    words = sentence_of(failed, *even, point("256", -4.1, 1.9, "slower"))
    assert "equivalent within ±1 % at 32 and 64; " in words
    last = SweptPoint(value="512", failed="no room")
    assert "equivalent within ±1 % up to 64; " in sentence_of(*even, last)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("workload.clients", "clients"),
        ("arm.settings.work_mem", "work_mem"),
        ("settings.auto_explain.log_min_duration", "auto_explain.log_min_duration"),
        ("arm.18.4.settings.pg_stat_statements.max", "pg_stat_statements.max"),
        ("arm.settings", "settings"),
        ("memory", "memory"),
    ],
)
def test_a_sweep_names_its_setting_whole(key: str, name: str) -> None:
    points = (point("1", 0.1, 0.4, "equivalent"), point("2", 0.1, 0.4, "equivalent"))
    assert sentence_of(*points, key=key).startswith(f"by {name}, on against off: ")


def test_equivalence_everywhere_is_said_once() -> None:
    words = sentence_of(point("8", 0.1, 0.4, "equivalent"), point("32", 0.0, 0.4, "equivalent"))
    assert words.endswith("equivalent within ±1 % everywhere (8, 32)")


def test_a_metric_of_which_less_is_better_is_named_with_its_direction() -> None:
    points = [point("8", 0.1, 0.4, "equivalent"), point("256", 4.1, 1.9, "slower")]
    latency = [
        each.model_copy(
            update={
                "contrasts": tuple(
                    contrast.model_copy(
                        update={"metric": "latency_mean", "higher_is_better": False}
                    )
                    for contrast in each.contrasts
                )
            }
        )
        for each in points
    ]
    assert sentence_of(*latency) == (
        "by clients, mean latency of on against off: equivalent within ±1 % at 8; "
        "slower, +4.10 % [+2.20, +6.00], at 256"
    )
    mixed = sentence_of(points[0], latency[1])
    assert mixed.startswith("by clients, on against off: ")
    assert mixed.endswith("; slower, +4.10 % [+2.20, +6.00], at 256")


def test_words_have_no_order_in_which_one_is_beyond_another() -> None:
    words = sentence_of(
        point("lz4", 0.1, 0.4, "equivalent"),
        point("off", -0.2, 0.5, "equivalent"),
        point("pglz", -4.1, 1.9, "slower"),
    )
    assert "equivalent within ±1 % at lz4 and off; " in words


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    """One kept verdict with other log ratios at every value."""
    record = unpack("checksums", tmp_path_factory.mktemp("kept"))
    kept_verdict = read_verdict(Record.open(record))
    assert kept_verdict is not None
    draw = np.random.default_rng(3)
    [line] = kept_verdict.contrasts
    made = {}
    for value, effect in zip(VALUES, (0.0, 0.0, -0.05), strict=True):
        d = tuple(float(one) for one in draw.normal(effect, 0.004, 12))
        details = line.details.model_copy(update={"d": d, "margin_percent": 1.0})
        changed = line.model_copy(
            update={
                "details": details, "verdict": "inconclusive", "higher_is_better": True,
                "estimate_percent": percent_of_log(float(np.mean(d))), "threats": (),
            }
        )  # fmt: skip
        made[value] = kept_verdict.model_copy(update={"contrasts": (changed,)})
    return made


def test_every_interval_has_its_share_of_the_error(verdicts: dict[str, Verdict]) -> None:
    found = swept(PLAN, "question", verdicts, lambda value: f"points/{value}")
    for one in found.points:
        d = np.array(verdicts[one.value].contrasts[0].details.d)
        wanted = confidence_set(d, ALPHA / 3).interval
        alone = confidence_set(d, ALPHA).interval
        [contrast] = one.contrasts
        assert contrast.low_percent == pytest.approx(percent_of_log(wanted.low))
        assert contrast.high_percent == pytest.approx(percent_of_log(wanted.high))
        assert wanted.low < alone.low < alone.high < wanted.high
    assert [one.contrasts[0].verdict for one in found.points] == [
        "equivalent", "equivalent", "slower",
    ]  # fmt: skip


def test_equivalence_needs_the_one_sided_interval_alone(verdicts: dict[str, Verdict]) -> None:
    """As two one-sided tests have it: an end of the two-sided one may lie beyond the margin."""
    [line] = verdicts["8"].contrasts
    spread = np.random.default_rng(5).normal(0.0, 0.004, 12)
    both = confidence_set(spread, ALPHA / 3).interval
    inner = one_sided_set(spread, ALPHA / 3).interval
    assert both.high > inner.high
    effect = np.log(1.01) - (both.high + inner.high) / 2
    details = line.details.model_copy(update={"d": tuple(float(effect + one) for one in spread)})
    changed = line.model_copy(update={"details": details})
    weighed = {**verdicts, "8": verdicts["8"].model_copy(update={"contrasts": (changed,)})}
    [contrast] = swept(PLAN, "q", weighed, lambda value: value).points[0].contrasts
    assert contrast.high_percent is not None
    assert contrast.high_percent > 1
    assert contrast.verdict == "equivalent"


@pytest.mark.parametrize(
    ("effect", "expected"),
    [(-0.20, "equivalent"), (0.16, "equivalent"), (-0.24, "slower"), (0.20, "faster")],
)
def test_a_margin_of_20_percent_lies_between_four_fifths_and_six_fifths(
    verdicts: dict[str, Verdict], effect: float, expected: str
) -> None:
    """As in a weighing by itself: the logs of its ends are not as far from 0."""
    [line] = verdicts["8"].contrasts
    spread = np.random.default_rng(5).normal(0.0, 0.004, 12)
    d = tuple(float(effect + one) for one in spread)
    details = line.details.model_copy(update={"d": d, "margin_percent": 20.0})
    changed = line.model_copy(update={"details": details})
    weighed = {**verdicts, "8": verdicts["8"].model_copy(update={"contrasts": (changed,)})}
    [contrast] = swept(PLAN, "q", weighed, lambda value: value).points[0].contrasts
    assert contrast.verdict == expected


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ("crashed: off", "inconclusive"),
        ("out of memory: on", "inconclusive"),
        ("failed: no room", "equivalent"),
        ("crashed: off, on", "equivalent"),
    ],
)
@pytest.mark.parametrize("higher", [True, False])
def test_epochs_in_which_one_arm_was_lost_count_against_it(
    verdicts: dict[str, Verdict], outcome: str, expected: str, higher: bool
) -> None:
    [line] = verdicts["8"].contrasts
    epochs = tuple(
        EpochDetail(
            epoch=n, slots={}, order=(), d=None if n < 4 else d, typical_d=None,
            throughput={"on": 100.0, "off": 100.0}, outcome=outcome if n < 4 else "complete",
        )
        for n, d in enumerate(line.details.d)
    )  # fmt: skip
    details = line.details.model_copy(
        update={"d": tuple(epoch.d for epoch in epochs), "epochs": epochs}
    )
    changed = line.model_copy(update={"details": details, "higher_is_better": higher})
    weighed = {**verdicts, "8": verdicts["8"].model_copy(update={"contrasts": (changed,)})}
    [contrast] = swept(PLAN, "q", weighed, lambda value: value).points[0].contrasts
    assert contrast.verdict == expected
    if expected == "inconclusive":
        less = ("off" in outcome) is higher
        assert (contrast.low_percent, contrast.high_percent)[not less] == (-100 if less else None)


@pytest.mark.parametrize("verdict", ["inconclusive", "invalid"])
def test_what_the_epochs_cannot_bound_has_no_end_at_either_side(
    verdicts: dict[str, Verdict], verdict: str
) -> None:
    """Of 32 points each has a 640th of the error: eight epochs reject nothing at that level."""
    [line] = verdicts["8"].contrasts
    details = line.details.model_copy(update={"d": line.details.d[:8]})
    changed = line.model_copy(update={"details": details, "verdict": verdict})
    short = verdicts["8"].model_copy(update={"contrasts": (changed,)})
    values = tuple(map(str, range(32)))
    plan = PLAN.model_copy(update={"values": values, "order": tuple(range(32))})
    found = swept(plan, "q", dict.fromkeys(values, short), lambda value: value)
    [contrast] = found.points[0].contrasts
    assert (contrast.low_percent, contrast.high_percent) == (None, None)
    assert contrast.verdict == verdict
    assert "−100" not in found.sentences[0]


@pytest.mark.parametrize(("dropped", "expected"), [(0, "inconclusive"), (9, "equivalent")])
def test_whole_epochs_in_which_an_arm_did_no_work_count_against_it_too(
    verdicts: dict[str, Verdict], dropped: int, expected: str
) -> None:
    [line] = verdicts["8"].contrasts
    epochs = tuple(
        EpochDetail(
            epoch=n, slots={}, order=(), d=None if n < 4 else d, typical_d=None,
            throughput={line.control: 100.0, line.arm: 0.0 if n < 4 else 100.0},
            outcome="complete",
        )
        for n, d in enumerate(line.details.d)
    )  # fmt: skip
    changes = {"d": tuple(epoch.d for epoch in epochs), "epochs": epochs}
    details = line.details.model_copy(update={**changes, "drops": {line.arm: dropped}})
    changed = line.model_copy(update={"details": details})
    weighed = {**verdicts, "8": verdicts["8"].model_copy(update={"contrasts": (changed,)})}
    [contrast] = swept(PLAN, "q", weighed, lambda value: value).points[0].contrasts
    assert contrast.verdict == expected


def test_a_point_that_failed_leaves_the_others_their_share(verdicts: dict[str, Verdict]) -> None:
    weighed = {**verdicts, "256": "too many clients"}
    found = swept(PLAN, "question", weighed, lambda value: f"points/{value}")
    assert found.points[2].failed == "too many clients"
    d = np.array(verdicts["8"].contrasts[0].details.d)
    wanted = confidence_set(d, ALPHA / 2).interval
    assert found.points[0].contrasts[0].low_percent == pytest.approx(percent_of_log(wanted.low))


def test_a_point_keeps_the_throughput_of_its_control_and_the_time_that_it_needs_besides(
    verdicts: dict[str, Verdict],
) -> None:
    [line] = verdicts["32"].contrasts
    needing = line.model_copy(update={"forecast_seconds": 120.0})
    weighed = {**verdicts, "32": verdicts["32"].model_copy(update={"contrasts": (needing,)})}
    found = swept(PLAN, "question", weighed, lambda value: f"points/{value}")
    [one] = found.points[1].contrasts
    of_control = [epoch.throughput["on"] for epoch in line.details.epochs]
    assert one.control_throughput == pytest.approx(float(np.median(np.array(of_control, float))))
    assert one.forecast_seconds == 120.0
    assert found.points[0].contrasts[0].forecast_seconds == line.forecast_seconds


def test_the_intervals_of_a_sweep_hold_together_in_19_of_20_sweeps() -> None:
    """Simulated: 3 points of 10 epochs, 1,000 sweeps; 5 standard errors above 5 %."""
    draw, missed = np.random.default_rng(7), 0
    for _ in range(1000):
        sets = [confidence_set(draw.normal(0.0, 1.0, 10), ALPHA / 3).interval for _ in VALUES]
        missed += any(not one.low <= 0.0 <= one.high for one in sets)
    assert missed / 1000 < 0.05 + 5 * (0.05 * 0.95 / 1000) ** 0.5
    assert missed > 10  # an interval that never misses says nothing


@pytest.fixture(scope="module")
def with_pairs(verdicts: dict[str, Verdict]) -> dict[str, Verdict]:
    """The same with the arm against another one too, by other log ratios."""
    draw = np.random.default_rng(4)
    paired = {}
    for value, verdict in verdicts.items():
        [line] = verdict.contrasts
        d = tuple(float(each) for each in draw.normal(0.1, 0.004, 12))
        rates = {"another": 50.0, line.arm: 55.0}
        epochs = tuple(
            epoch.model_copy(update={"throughput": rates}) for epoch in line.details.epochs
        )
        details = line.details.model_copy(update={"d": d, "epochs": epochs})
        update = {"control": "another", "details": details, "estimate_percent": 10.5}
        latency = [row for row in verdict.latency if row.quantile == 0.95]
        others = [row.model_copy(update={"arm": "another", "arm_us": 7.0}) for row in latency]
        paired[value] = verdict.model_copy(
            update={
                "pairs": (line.model_copy(update=update),),
                "latency": (*verdict.latency, *others),
            }
        )
    return paired


def test_an_arm_that_is_compared_with_another_one_too_has_a_row_of_these_two(
    verdicts: dict[str, Verdict], with_pairs: dict[str, Verdict]
) -> None:
    judged = swept(PLAN, "question", with_pairs, lambda value: f"points/{value}")
    alone = swept(PLAN, "question", verdicts, lambda value: f"points/{value}")
    [line] = verdicts["8"].contrasts
    assert judged.rows == (SweptRow(line.arm, line.control), SweptRow(line.arm, "another"))
    assert [point.contrasts for point in judged.points] == [
        point.contrasts for point in alone.points
    ]
    for point in judged.points:
        [pair] = point.pairs
        d = np.array(with_pairs[point.value].pairs[0].details.d)
        interval = confidence_set(d, ALPHA / 3).interval
        assert pair.low_percent == pytest.approx(percent_of_log(interval.low))
        assert (pair.control_throughput, pair.arm_throughput) == (50.0, 55.0)
        assert (pair.control_p95_us, pair.arm_p95_us) == (7.0, point.contrasts[0].arm_p95_us)
        assert pair.verdict == "faster"
    assert len(judged.sentences) == 2
    assert judged.sentences[1].startswith(f"by clients, {line.arm} against another: ")
    page, lines = render_sweep(judged), "\n".join(sweep_lines(judged, "records/x", 100))
    for shown in (page, lines):
        assert f"{line.arm} against another" in shown
        assert f"{line.arm} against {line.control}" in shown
    assert page.count("<small>(control)</small>") == 1
    assert page.count('href="points/8/report.html"') == 2
    assert without_pairs(judged).sentences == alone.sentences
    assert without_pairs(judged).rows == alone.rows


def test_the_page_has_the_sentence_the_curve_and_a_link_to_every_point(
    verdicts: dict[str, Verdict], tmp_path: Path
) -> None:
    found = swept(PLAN, "May I?", verdicts, lambda value: f"points/{value}")
    page = render_sweep(found)
    assert found.sentences[0] in page.replace("&#34;", '"')
    assert all(f'href="points/{value}/report.html"' in page for value in VALUES)
    assert "<circle" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
