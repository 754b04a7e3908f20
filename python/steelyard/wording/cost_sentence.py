"""Says what a million transactions cost in an arm and in the control."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.model.price import money
from steelyard.model.units import format_percent
from steelyard.record.capacity import Cost


def with_sentences(costs: Sequence[Cost]) -> tuple[Cost, ...]:
    """The control's first; the others with their sentence, where they are compared with it."""
    if not costs:
        return ()
    control, *others = costs
    sentences = [cost_sentence(cost, control) if cost.control else "" for cost in others]
    return (
        control,
        *(
            cost.model_copy(update={"sentence": sentence})
            for cost, sentence in zip(others, sentences, strict=True)
        ),
    )


def cost_sentence(cost: Cost, control: Cost) -> str:
    """`a million transactions cost 0.0280 USD in off and 0.0290 USD in on: −3.4 % [−4.1, −2.7]`;
    without a full stop."""
    both = (
        f"a million transactions cost {money(cost.per_million, cost.currency)} in {cost.arm} and "
        f"{money(control.per_million, control.currency)} in {control.arm}"
    )
    if cost.estimate_percent is None:
        return both
    low, high = cost.low_percent, cost.high_percent
    ends = ", ".join(
        "unbounded" if end is None else format_percent(end).removesuffix(" %")
        for end in (low, high)
    )
    is_open = (low is None or low <= 0) and (high is None or high >= 0)
    open_words = "; which is cheaper is open" if is_open else ""
    return f"{both}: {format_percent(cost.estimate_percent)} [{ends}]{open_words}"
