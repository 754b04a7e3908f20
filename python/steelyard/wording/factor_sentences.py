"""Writes what a factorial shows: first an interaction that matters, then the main effects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.evaluation.factor_effects import parts_of, size_of
from steelyard.model.latency_goal import metric_words
from steelyard.model.units import format_reading
from steelyard.record.contrast import PercentInterval
from steelyard.record.factors import (
    EffectLine,
    FactorEffects,
    FactorsPlan,
    effect_name,
)


def sentences(effects: FactorEffects, plan: FactorsPlan, invalid: Sequence[str]) -> tuple[str, ...]:
    """Sentences without full stops; `invalid`: threats that forbid to say anything of effects.

    `wal_compression (pglz against plain) depends on full_page_writes: −14.20 % [−15.00, −13.40]
    with images, −0.10 % [−0.50, +0.30] with no-images; difference …`
    """
    if invalid:
        return (f"invalid: nothing can be said of the effects: {', '.join(invalid)}",)
    lines = list(_sentences(effects, plan))
    metric = metric_words(effects.metric)
    count = "1 epoch" if effects.epochs == 1 else f"{effects.epochs} epochs"
    lines[0] += f" ({metric}; joint {100 * effects.confidence:g} % intervals, {count})"
    return (*lines, *_left_out(effects), *alias_sentences(plan))


def _sentences(effects: FactorEffects, plan: FactorsPlan) -> Iterator[str]:
    interactions = [effect for effect in effects.effects if not effect.is_main]
    matter = sorted(
        (effect for effect in interactions if effect.verdict == "matters"),
        key=lambda effect: -abs(effect.estimate_percent or 0.0),
    )
    for effect in matter:
        yield _depends(effect, effects, plan)
    for effect in effects.effects:
        if effect.is_main:
            yield _main(effect, effects, plan, matter)
    margin = f"±{effects.margin_percent:g} %"
    for verdict, phrase in (
        ("nonzero", f"not zero, and not shown to be beyond {margin}"),
        ("negligible", f"no interaction beyond {margin}"),
        ("inconclusive", "not told"),
    ):
        kind = [effect for effect in interactions if effect.verdict == verdict]
        if kind:
            yield f"{phrase}: {', '.join(f'{effect.name} {_reading(effect)}' for effect in kind)}"


def _depends(effect: EffectLine, effects: FactorEffects, plan: FactorsPlan) -> str:
    """Of two factors what one does at either level of the other; of three the difference alone."""
    if len(effect.factors) > 2:
        *pair, by = effect.factors
        names = " and ".join(pair)
        return f"the interaction of {names} depends on {by}: difference {_reading(effect)}"
    parts = sorted(parts_of(effect, effects), key=size_of, reverse=True)
    read = ", ".join(f"{_reading(part)} with {part.level}" for part in parts)
    subject, by = _named(parts[0].factor, plan), parts[0].by
    sentence = f"{subject} depends on {by}: {read}; difference {_reading(effect)}"
    also = [
        f", or {' on '.join(alias)}, which half of the cells cannot tell"
        for alias in effect.aliases
    ]
    return sentence + "".join(also)


def _main(
    effect: EffectLine, effects: FactorEffects, plan: FactorsPlan, matter: Sequence[EffectLine]
) -> str:
    [factor] = effect.factors
    others = [name for each in matter for name in each.factors if factor in each.factors]
    over = [name for name in dict.fromkeys(others) if name != factor]
    mean = f", on average over {' and '.join(over)}" if over else ""
    predicate = {
        "equivalent": f"is equivalent within ±{effects.margin_percent:g} %",
        "inconclusive": "is not told",
    }.get(effect.verdict, f"is {effect.verdict}")
    return f"{_named(factor, plan)} {predicate}{mean}: {_reading(effect)}"


def _named(factor: str, plan: FactorsPlan) -> str:
    """`"checksums (checked against unchecked)"`."""
    first, second = plan.factors[factor]
    return f"{factor} ({second} against {first})"


def _left_out(effects: FactorEffects) -> Iterator[str]:
    if effects.left_out:
        count = len(effects.left_out)
        epochs = "1 epoch is" if count == 1 else f"{count} epochs are"
        yield f"{epochs} left out, in which a cell could not be measured"


def _reading(percent: PercentInterval) -> str:
    return format_reading(percent.estimate_percent, percent.low_percent, percent.high_percent)


def alias_sentences(plan: FactorsPlan) -> Iterator[str]:
    """Effects that are aliased in a fraction; none of a full factorial."""
    pairs = [
        f"{effect.name} from {' or '.join(effect_name(alias) for alias in effect.aliases)}"
        for effect in plan.effects
        if effect.aliases
    ]
    if pairs:
        yield f"half of the cells cannot tell {', '.join(pairs)}"
