"""Describes what the numbers of a comparison show besides the verdict: the findings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from steelyard.analysis.checks.littles_law import busy_clients
from steelyard.analysis.decision.forecast import MOST_EPOCHS, epochs_needed
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.two_samples.centres import Centred
from steelyard.analysis.two_samples.pairing import FEWEST_ROWS, rank_correlation
from steelyard.analysis.two_samples.profile import Profile
from steelyard.foreign.comparison import Comparison
from steelyard.foreign.judgement.judgement import Finding
from steelyard.foreign.judgement.level_steps import steps_of
from steelyard.foreign.judgement.number_sets import NumberSets
from steelyard.foreign.judgement.number_threats import DRIFT_TOLERANCE
from steelyard.foreign.judgement.overview import Overview, Pairing
from steelyard.foreign.series import Grain, Series
from steelyard.model.units import format_percent, percent_of_log
from steelyard.wording.threats.numbers import (
    as_published,
    ratio_words,
    rows_lie,
    step_words,
    trend_words,
)

TYPICAL_SCATTER = (0.01, 0.02, 0.05)
"""From one repetition to the next: quiet metal of one's own, a tuned cloud machine, a shared one
(Henning et al., FSE 2025; facts of this project: 0.7 % pinned, 4–7 % left to the scheduler)."""


def contrast_findings(
    arm: Series,
    pairing: Pairing,
    sets: NumberSets,
    centres: tuple[Centred, ...],
) -> Iterator[Finding]:
    """How one contrast was computed: pairing, replicates, visible effect, centres."""
    correlation = pairing.correlation
    yield Finding(
        "pairing",
        f"{'paired by row' if pairing.paired else 'not paired'}: {pairing.why}",
        {
            "paired": pairing.paired,
            "rank_correlation": _number(correlation.value),
            "rank_correlation_low": _number(correlation.low),
            "rank_correlation_high": _number(correlation.high),
        },
        arm.arm,
    )
    yield Finding(
        "replicates",
        _replicates(arm, pairing, sets),
        {
            "rows": [part.rows for part in sets.parts],
            "replicates": [part.count for part in sets.parts],
            "effective": [part.effective for part in sets.parts],
            "lag_one": [_number(part.lag_one) for part in sets.parts],
            "lag_one_limit": [_number(part.lag_one_limit) for part in sets.parts],
            "widened_by": [part.stretch for part in sets.parts],
        },
        arm.arm,
    )
    percent = percent_of_log(sets.visible)
    if math.isfinite(percent) and math.isfinite(sets.sets.main.width):
        yield Finding(
            "visible",
            f"an effect of {_two_digits(percent)} % would be seen in 4 of 5 such measurements; a "
            "smaller one often not",
            {"smallest_visible_percent": percent},
            arm.arm,
        )
    if centres:
        yield _centres(arm, centres)


def _centres(arm: Series, centres: tuple[Centred, ...]) -> Finding:
    return Finding(
        "centres",
        ", ".join(f"by the {centre.name} {ratio_words(centre)}" for centre in centres),
        {
            "ratios": [
                {
                    "of": centre.name,
                    "estimate_percent": percent_of_log(centre.value),
                    "low_percent": percent_of_log(centre.low),
                    "high_percent": percent_of_log(centre.high),
                }
                for centre in centres
            ]
        },
        arm.arm,
    )


def _replicates(arm: Series, pairing: Pairing, sets: NumberSets) -> str:
    noun = "pairs of rows" if pairing.paired else "rows of either arm"
    counts = sorted({part.count for part in sets.parts})
    number = " and ".join(str(count) for count in counts)
    if any(part.batched for part in sets.parts):
        noun = f"batches of {noun}"
    sentence = f"the estimate is the mean log ratio of {number} {noun}"
    if not pairing.paired:
        sentence = f"the estimate is the difference of the mean logs of {number} {noun}"
    if arm.grain is Grain.SLICE:
        sentence += ", each from the totals of its rows"
    return f"{sentence}{_worth(sets)}; nothing is claimed beyond these rows"


def _worth(sets: NumberSets) -> str:
    """As how many independent rows they count, unless chance drew their order."""
    if all(part.stretch == 1 for part in sets.parts):
        return ""
    finite = [part.lag_one_limit for part in sets.parts if math.isfinite(part.lag_one_limit)]
    if not finite:
        return f"; they count as {sets.counted_as} independent ones"
    limits = dict.fromkeys(f"{limit:.2f}" for limit in finite)
    return (
        f"; it is not stated that chance drew their order, so they count as {sets.counted_as} "
        f"independent ones: a correlation of neighbours of up to {' and '.join(limits)} is likely"
    )


def number_findings(overview: Overview) -> Iterator[Finding]:
    """What the rows show, whatever they are compared for."""
    if overview.common is not None and overview.common_logs is not None:
        yield from _levels("", overview.common, overview.common_logs)
    for arm in overview.comparison.arms:
        profile = overview.profiles[arm.arm]
        if overview.common is None:
            yield from _levels(arm.arm, profile, overview.logs[arm.arm])
        if profile.outliers:
            sentence = rows_lie(profile.outliers, arm.arm)
            rows = [row + 1 for row in profile.outliers[:1000]]
            yield Finding("outliers", sentence, {"rows": rows}, arm.arm)
    yield from _shared(overview)
    yield from _little(overview.comparison)
    for note in overview.comparison.notes:
        yield Finding("left out", note, {})


def _shared(overview: Overview) -> Iterator[Finding]:
    """The correlation of the rows of any two of three or more arms."""
    arms = overview.comparison.arms
    if overview.common is None or len(arms) < 3 or len(arms[0].values) < FEWEST_ROWS:
        return
    pairs = list(combinations(arms, 2))
    ranks = [rank_correlation(first.values, second.values).value for first, second in pairs]
    logs = [float(np.corrcoef(overview.logs[a.arm], overview.logs[b.arm])[0, 1]) for a, b in pairs]
    yield Finding(
        "shared rows",
        f"the rows of any two arms correlate, by {min(ranks):.2f} to {max(ranks):.2f} in ranks and "
        f"{min(logs):.2f} to {max(logs):.2f} in logs".replace(" -", " −"),
        {"rank_correlations": ranks, "log_correlations": logs},
    )


def _levels(arm: str, profile: Profile, logs: Floats) -> Iterator[Finding]:
    prefix = f"{arm}: " if arm else "all arms together: "
    steps = steps_of(profile, logs)
    if steps:
        figures = {"steps": [step.to_json() for step in steps]}
        yield Finding("level steps", prefix + step_words(steps), figures, arm)
    if profile.trend.beyond(float(DRIFT_TOLERANCE)):
        trend = profile.trend
        ends = {
            f"{name}_percent": percent_of_log(log)
            for name, log in (("estimate", trend.change), ("low", trend.low), ("high", trend.high))
        }
        yield Finding("drift", prefix + trend_words(trend), ends, arm)


def _little(comparison: Comparison) -> Iterator[Finding]:
    for arm, point in comparison.operating_points.items():
        busy = busy_clients(point.throughput, point.latency_s)
        implied_ms = 1e3 * point.clients / point.throughput
        yield Finding(
            "Little's law",
            f"{arm}: {point.clients:g} clients at {as_published(point.throughput, 6)} "
            f"transactions/s mean {as_published(implied_ms, 4)} ms; given are "
            f"{as_published(1e3 * point.latency_s, 5)} ms, which keep {as_published(busy, 4)} busy",
            {
                "clients": point.clients,
                "throughput": point.throughput,
                "latency_ms": 1e3 * point.latency_s,
                "implied_latency_ms": implied_ms,
                "busy_clients": busy,
            },
            arm,
        )


def to_measure(gap: float, margin: float, clients: float | None) -> Finding:
    """What to measure where one value an arm is all there is; `gap`: the log ratio as given."""
    percent = f"{format_percent(percent_of_log(gap), 1)}"
    rows = [
        (scatter, _repetitions(scatter, abs(gap)), _repetitions(scatter, margin))
        for scatter in TYPICAL_SCATTER
    ]
    listed = "; ".join(
        f"by {100 * scatter:g} %, {_amount(sign)} for {percent} and {_amount(small)} for "
        f"±{100 * margin:g} %"
        for scatter, sign, small in rows
    )
    load = f"--set workload.clients={clients:g} " if clients else ""
    command = (
        f"steelyard weigh settings {load}--set control.settings.NAME=THIS "
        "--set arm.settings.NAME=THAT -f SCRIPT --budget 10m"
    )
    return Finding(
        "to measure",
        "repeat each arm, in random order. So many repetitions tell the difference from zero in 4 "
        f"of 5 cases: where repetitions scatter {listed}",
        {
            "gap_percent_as_given": percent_of_log(gap),
            "command": command,
            "repetitions": [
                {"scatter_percent": 100 * scatter, "for_gap": sign, "for_margin": small}
                for scatter, sign, small in rows
            ],
        },
    )


def _repetitions(scatter: float, gap: float) -> int:
    return epochs_needed(scatter * math.sqrt(2), gap, balanced=False)


def _amount(repetitions: int) -> str:
    return "more than 10 000" if repetitions >= MOST_EPOCHS else str(repetitions)


def _two_digits(value: float) -> str:
    """Two significant digits, more before the point: `0.36`, `14`, `380`."""
    return f"{value:.0f}" if value >= 10 else as_published(value, 2)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
