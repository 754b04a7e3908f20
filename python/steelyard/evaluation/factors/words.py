"""Writes what a factorial shows: first an interaction that matters, then the main effects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.model.units import format_reading
from steelyard.record.contrast import PercentInterval
from steelyard.record.factors import (
    EffectLine,
    FactorEffects,
    FactorsPlan,
    SimpleEffectLine,
    effect_name,
)

_METRICS = {"latency_mean": "mean latency", "geometric_mean": "geometric mean time"}


def sentences(told: FactorEffects, plan: FactorsPlan, invalid: Sequence[str]) -> tuple[str, ...]:
    """Sentences without full stops; `invalid`: threats that forbid to say anything of effects.

    `wal_compression (pglz against plain) depends on full_page_writes: −14.20 % [−15.00, −13.40]
    with images, −0.10 % [−0.50, +0.30] with no-images; difference …`
    """
    if invalid:
        return (f"invalid: nothing can be said of the effects: {', '.join(invalid)}",)
    said = list(_said(told, plan))
    metric = _METRICS.get(told.metric, told.metric)
    count = "1 epoch" if told.epochs == 1 else f"{told.epochs} epochs"
    said[0] += f" ({metric}; joint {100 * told.confidence:g} % intervals, {count})"
    return (*said, *_left_out(told), *alias_sentences(plan))


def _said(told: FactorEffects, plan: FactorsPlan) -> Iterator[str]:
    interactions = [one for one in told.effects if not one.is_main]
    matter = sorted(
        (one for one in interactions if one.verdict == "matters"),
        key=lambda one: -abs(one.estimate_percent or 0.0),
    )
    for one in matter:
        yield _depends(one, told, plan)
    for one in told.effects:
        if one.is_main:
            yield _main(one, told, plan, matter)
    margin = f"±{told.margin_percent:g} %"
    for verdict, words in (
        ("nonzero", f"not zero, and not shown to be beyond {margin}"),
        ("negligible", f"no interaction beyond {margin}"),
        ("inconclusive", "not told"),
    ):
        kind = [one for one in interactions if one.verdict == verdict]
        if kind:
            yield f"{words}: {', '.join(f'{one.name} {_reading(one)}' for one in kind)}"


def _depends(one: EffectLine, told: FactorEffects, plan: FactorsPlan) -> str:
    """Of two factors what one does at either level of the other; of three the difference alone."""
    if len(one.factors) > 2:
        *pair, by = one.factors
        return (
            f"the interaction of {' and '.join(pair)} depends on {by}: difference {_reading(one)}"
        )
    parts = sorted(parts_of(one, told), key=_size, reverse=True)
    read = ", ".join(f"{_reading(part)} with {part.level}" for part in parts)
    named, by = _named(parts[0].factor, plan), parts[0].by
    said = f"{named} depends on {by}: {read}; difference {_reading(one)}"
    also = [
        f", or {' on '.join(alias)}, which half of the cells cannot tell" for alias in one.aliases
    ]
    return said + "".join(also)


def parts_of(one: EffectLine, told: FactorEffects) -> tuple[SimpleEffectLine, ...]:
    """Of two factors that interact the effect of one at both levels of the other: of that which
    comes nearest to doing nothing at one of them. None of more factors."""
    own = [[s for s in told.simple_effects if _is(s, name, one)] for name in one.factors]
    if len(own) != 2 or not all(own):
        return ()
    return tuple(min(own, key=lambda parts: min(map(_size, parts))))


def _is(simple: SimpleEffectLine, factor: str, of: EffectLine) -> bool:
    return simple.factor == factor and simple.by in of.factors


def _size(one: SimpleEffectLine) -> float:
    return abs(one.estimate_percent or 0.0)


def _main(
    one: EffectLine, told: FactorEffects, plan: FactorsPlan, matter: Sequence[EffectLine]
) -> str:
    [factor] = one.factors
    others = [name for each in matter for name in each.factors if factor in each.factors]
    over = [name for name in dict.fromkeys(others) if name != factor]
    mean = f", on average over {' and '.join(over)}" if over else ""
    words = {
        "equivalent": f"is equivalent within ±{told.margin_percent:g} %",
        "inconclusive": "is not told",
    }.get(one.verdict, f"is {one.verdict}")
    return f"{_named(factor, plan)} {words}{mean}: {_reading(one)}"


def _named(factor: str, plan: FactorsPlan) -> str:
    """`"checksums (checked against unchecked)"`."""
    first, second = plan.factors[factor]
    return f"{factor} ({second} against {first})"


def _left_out(told: FactorEffects) -> Iterator[str]:
    if told.left_out:
        count = len(told.left_out)
        epochs = "1 epoch is" if count == 1 else f"{count} epochs are"
        yield f"{epochs} left out, in which a cell could not be measured"


def _reading(one: PercentInterval) -> str:
    return format_reading(one.estimate_percent, one.low_percent, one.high_percent)


def alias_sentences(plan: FactorsPlan) -> Iterator[str]:
    """Effects that are aliased in a fraction; none of a full factorial."""
    pairs = [
        f"{one.name} from {' or '.join(effect_name(alias) for alias in one.aliases)}"
        for one in plan.effects
        if one.aliases
    ]
    if pairs:
        yield f"half of the cells cannot tell {', '.join(pairs)}"
