"""Judges a comparison of numbers from elsewhere.

Pure: the same numbers give the same judgement. The rule is that of a weighing (`rule.py`), with one
look at 5 %; several arms share it equally (Bonferroni), so that asking about more arms does not
raise the chance that some arm is said to differ. A verdict that the numbers do not support is
withheld: with fewer than 8 repetitions, parts of a single run, rows that are or may be dependent,
rows in no order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from steelyard.analysis.decision.forecast import MOST_EPOCHS, epochs_needed
from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT, Terms
from steelyard.analysis.two_samples.centres import Centred, centres_of
from steelyard.analysis.two_samples.replicates import FEWEST_EFFECTIVE
from steelyard.evaluation.contrast import Contrast, ReplicateFacts
from steelyard.evaluation.judge_epochs import ends_or_none, percent_or_none
from steelyard.evaluation.rule import decide
from steelyard.foreign.comparison import Comparison, total_of
from steelyard.foreign.judgement.judgement import (
    Finding,
    Judgement,
    NumberContrast,
    NumberDetails,
    number_findings,
)
from steelyard.foreign.judgement.number_sets import (
    ALPHA,
    NumberSets,
    RowOrder,
    paired_sets,
    unpaired_sets,
)
from steelyard.foreign.judgement.number_threats import centres_threat, number_threats
from steelyard.foreign.judgement.overview import (
    Overview,
    Pairing,
    overview_of,
    pairing_of,
    reading_of,
)
from steelyard.foreign.series import Grain, Series
from steelyard.model.estimate import LOG_RATIO, Estimate
from steelyard.model.units import format_percent, percent_of_log
from steelyard.wording.threats.numbers import as_published, ratio_words

NO_SPREAD = "cannot judge: one value per arm has no spread"
TYPICAL_SCATTER = (0.01, 0.02, 0.05)
"""From one repetition to the next: quiet metal of one's own, a tuned cloud machine, a shared one
(Henning et al., FSE 2025; facts of this project: 0.7 % pinned, 4–7 % left to the scheduler)."""


def judge_numbers(
    comparison: Comparison, margin: float = 0.01, paired: bool | None = None
) -> Judgement:
    """The judgement; `margin`: δ as a fraction; `paired`: what the user said, None: to be found.

    UsageError where the user asked for pairs that there are not.
    """
    overview = overview_of(comparison)
    terms = _terms(comparison, margin)
    contrasts, findings = [], list(number_findings(overview))
    pairings = [pairing_of(comparison, arm, paired) for arm in comparison.arms[1:]]
    for arm, pairing in zip(comparison.arms[1:], pairings, strict=True):
        contrast, arm_findings = _contrast(overview, arm, terms, pairing)
        contrasts.append(contrast)
        findings += arm_findings
    alone = [c for c in contrasts if c.details.no_spread]
    if alone:
        clients = next((point.clients for point in comparison.operating_points.values()), None)
        findings.append(to_measure(alone[0].estimate.value, margin, clients))
    cannot = NO_SPREAD if len(alone) == len(contrasts) else ""
    reading = reading_of(comparison, pairings[0])
    return Judgement(comparison, overview, tuple(contrasts), tuple(findings), cannot, reading)


def _terms(comparison: Comparison, margin: float) -> Terms:
    alpha = ALPHA / (len(comparison.arms) - 1)
    return Terms(
        epochs=max(len(arm.values) for arm in comparison.arms),
        margin=margin,
        metric=comparison.metric.name,
        alphas=(alpha, alpha),
        more_is_better=comparison.metric.higher_is_better,
    )


def _contrast(
    overview: Overview, arm: Series, terms: Terms, pairing: Pairing
) -> tuple[NumberContrast, list[Finding]]:
    control = overview.comparison.control
    judged = paired_sets if pairing.paired else unpaired_sets
    sets = judged(control, arm, terms, overview.row_order)
    unquiet = any(
        profile.steps or bool(profile.outliers)
        for profile in (overview.profiles[control.arm], overview.profiles[arm.arm])
    )
    centres = centres_of(control.values, arm.values, pairing.paired)
    threats = (
        *number_threats(overview, arm, pairing, sets, terms),
        *centres_threat(arm.arm, centres, sets, terms, unquiet),
    )
    main, details = sets.sets.main, _details(overview, arm, pairing, sets, terms)
    contrast = Contrast(
        arm=arm.arm,
        control=control.arm,
        terms=terms,
        estimate=Estimate(
            _value(control, arm, sets), main.low, main.high, sets.count, LOG_RATIO, 1 - ALPHA
        ),
        verdict=decide(sets.sets.stage, main, sets.sets.equivalence, terms, threats),
        epochs=sets.count,
        blocks=len(arm.values),
        forecast=sets.forecast,
        threats=threats,
        details=details,
        replicates=ReplicateFacts(
            details.replicate, details.basis, details.instead, overview.comparison.metric.column
        ),
    )
    if details.no_spread:
        return contrast, []
    return contrast, list(contrast_findings(arm, pairing, sets, centres))


def _value(control: Series, arm: Series, sets: NumberSets) -> float:
    """The mean of log ratios; of parts of a run the ratio of totals, drawn into the interval."""
    if Grain.SLICE not in (control.grain, arm.grain):
        return sets.value
    totals = math.log(total_of(arm)) - math.log(total_of(control))
    return min(max(totals, sets.sets.main.low), sets.sets.main.high)


def _details(
    overview: Overview, arm: Series, pairing: Pairing, sets: NumberSets, terms: Terms
) -> NumberDetails:
    comparison = overview.comparison
    no_spread = min(len(comparison.control.values), len(arm.values)) == 1
    return NumberDetails(
        paired=pairing.paired,
        method=sets.sets.method,
        look=sets.sets.stage.value,
        level=sets.sets.level,
        k=sets.sets.k,
        subsets=sets.sets.group,
        t_interval_percent=ends_or_none(sets.by_t),
        equivalence_interval_percent=ends_or_none(sets.sets.equivalence),
        equivalence_level_one_sided=terms.alphas[1],
        smallest_visible_percent=percent_or_none(sets.visible),
        margin_percent=100 * terms.margin,
        no_spread=no_spread,
        replicate=_noun(pairing, sets),
        basis=_basis(comparison, pairing, sets),
        d=tuple(float(x) for x in sets.parts[0].values) if pairing.paired else None,
        instead=NO_SPREAD if no_spread else _instead(overview, arm, sets),
    )


def _noun(pairing: Pairing, sets: NumberSets) -> str:
    noun = "batches of rows" if any(part.batched for part in sets.parts) else "rows"
    return noun if pairing.paired else f"{noun} of either arm"


def _basis(comparison: Comparison, pairing: Pairing, sets: NumberSets) -> str:
    counts = [part.count for part in sets.parts]
    noun = "batches of rows" if any(part.batched for part in sets.parts) else "rows"
    noun = "row" if counts[-1] == 1 else noun
    number = str(counts[0]) if len(set(counts)) == 1 else " and ".join(map(str, counts))
    each = " each" if not pairing.paired and len(set(counts)) == 1 else ""
    if any(part.stretch > 1 for part in sets.parts):
        each += f" counted as {sets.counted_as}"
    joint = f", jointly for {len(comparison.arms) - 1} arms" if len(comparison.arms) > 2 else ""
    return f"{number} {noun}{each}{joint}"


def _instead(overview: Overview, arm: Series, sets: NumberSets) -> str:
    """The reason given in place of a forecast, where more such rows would settle nothing."""
    if Grain.SLICE in (overview.comparison.control.grain, arm.grain):
        return "one run of each arm carries no verdict, however long: repeat the runs"
    if not sets.enough:
        return "the rows depend on each other too much for an interval"
    if sets.count < FEWEST_FOR_VERDICT:
        return ""
    if overview.row_order is RowOrder.LOST:
        return (
            "without the order in time what the rows share cannot be looked for: a verdict needs "
            "that order, or one that chance drew (--order random)"
        )
    if sets.too_dependent:
        return (
            "if neighbours share as much as these rows leave likely, they tell as much as "
            f"{sets.worth:.0f} independent ones; a verdict needs {FEWEST_EFFECTIVE:.0f}, or an "
            "order that chance drew (--order random)"
        )
    return ""


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
