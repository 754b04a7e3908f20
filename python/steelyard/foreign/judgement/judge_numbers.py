"""Judges a comparison of numbers from elsewhere.

Pure: the same numbers give the same judgement. The rule is that of a weighing (`rule.py`), with one
look at 5 %; several arms share it equally (Bonferroni), so that asking about more arms does not
raise the chance that some arm is said to differ. A verdict that the numbers do not support is
withheld: with fewer than 8 repetitions, parts of a single run, rows that are or may be dependent,
rows in no order.
"""

from __future__ import annotations

import math

from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT, Terms
from steelyard.analysis.two_samples.centres import centres_of
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
)
from steelyard.foreign.judgement.number_findings import (
    contrast_findings,
    number_findings,
    to_measure,
)
from steelyard.foreign.judgement.number_sets import (
    ALPHA,
    NumberSets,
    RowOrder,
    paired_sets,
    unpaired_sets,
)
from steelyard.foreign.judgement.number_threats import centres_threat, number_threats
from steelyard.foreign.judgement.overview import Overview, Pairing, overview_of, pairing_of
from steelyard.foreign.judgement.reading import reading_of
from steelyard.foreign.series import Grain, Series
from steelyard.model.estimate import LOG_RATIO, Estimate

NO_SPREAD = "cannot judge: one value per arm has no spread"


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
