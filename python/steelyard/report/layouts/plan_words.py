"""Words of a plan that several layouts share: looks, lengths, distances between checkpoints."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.model.units import NS_PER_S, format_duration
from steelyard.record.plan import CountedChoice, Plan, TurnChoices
from steelyard.record.turns.turn_summary import near_words, scaled_words

Row = tuple[str, str]
"""Label and text."""

_UPKEEP = {
    "restore": "put back before every epoch",
    "exchange": "left as the epoch before left them, and any arm may get any copy",
    "carry": "each copy stays with its arm",
    "reconnect": "not ours: only the connections are opened afresh",
}


def because(text: str, why: str) -> str:
    """A choice with its reason."""
    return f"{text}: {why}" if why else text


def decision_text(plan: Plan) -> str:
    """When the weighing may be decided, and at which level."""
    alpha = [f"{level:g}" for level in plan.alpha]
    if plan.open_ended:
        return (
            f"open-ended: after every epoch at {alpha[0]}, after epoch {plan.epochs} at {alpha[1]}"
        )
    if plan.look:
        return (
            f"after epoch {plan.look} at level {alpha[0]}, after epoch {plan.epochs} at {alpha[1]}"
        )
    return f"at the end, level {'+'.join(alpha)}"


def about_duration(nanoseconds: float) -> str:
    """A time that is only expected, rounded to what is known of it: `"2 min"`, `"41 min"`."""
    seconds = nanoseconds / NS_PER_S
    step = 60 if seconds >= 600 else 10 if seconds >= 60 else 1 if seconds >= 10 else 0
    return format_duration(round(seconds / step) * step * NS_PER_S if step else nanoseconds)


def executions_text(counted: CountedChoice) -> str:
    """What a slice holds: `"1 execution"`, `"2 executions of each client"`."""
    text = "1 execution" if counted.each == 1 else f"{counted.each} executions"
    return text if counted.clients == 1 else f"{text} of each client"


def layout_row(plan: Plan, lasts: str) -> list[Row]:
    """The layout, how long it takes and why it was chosen; none of an older record."""
    layout = plan.layout_choice
    return [("layout", because(f"{layout.name}, {lasts}", layout.why))] if plan.layout else []


def cycle_rows(plan: Plan, turns: TurnChoices, *, begin: str, unit: str) -> list[Row]:
    """How far apart checkpoints are, and from when to when an arm is measured in a `unit`."""
    far = [f"{_every(turns.cycle_seconds.get(arm))} in {arm}" for arm in plan.arms]
    cap = format_duration(turns.warmup_cap_ns)
    return [
        ("looks", decision_text(plan)),
        ("time scale", because(_scale(plan, turns), turns.time_scale_why)),
        *([("measured from", begin)] if turns.limits else []),
        (f"measured in {unit}", _measured(turns)),
        (
            f"{'turns of the log' if turns.continuous else 'checkpoints'}, as expected",
            ", ".join(far),
        ),
        ("slice", because(format_duration(plan.slice_ns), plan.slice_why)),
        ("warm-up", f"until throughput and reads are level, {cap} at most"),
        ("files of the arms", because(_UPKEEP[plan.upkeep], plan.upkeep_why)),
    ]


def begins(turns: TurnChoices) -> str:
    """After which time under load measuring may begin."""
    return _by_arm({arm: format_duration(limit.begin_ns) for arm, limit in turns.limits.items()})


def cycle_parts(plan: Plan, turns: TurnChoices) -> list[str]:
    """What all epochs take, and how near checkpoints were brought."""
    near = scaled_words(turns, plan.arms)
    return [f"{about_duration(plan.takes_ns)} in all", *([near] if near else [])]


def _scale(plan: Plan, turns: TurnChoices) -> str:
    really = f", really {near_words(turns, plan.arms)}" if turns.nearer else ""
    return f"{turns.time_scale:g}{really}"


def _every(seconds: float | None) -> str:
    return "none" if seconds is None else f"every {format_duration(seconds * NS_PER_S)}"


def _measured(turns: TurnChoices) -> str:
    if turns.stated_ns is not None:
        why = "no checkpoint begins or ends" if turns.continuous else "the study says so"
        return f"{format_duration(turns.stated_ns)}: {why}"
    each = {arm: format_duration(limit.longest_ns) for arm, limit in turns.limits.items()}
    longest = _by_arm(each) if each else format_duration(turns.longest_ns)
    others = " of the arm with the longest, about as long in the others"
    of_all = others if turns.unlike_cycles else ""
    return f"{turns.cycles} checkpoint cycles{of_all}, or {longest} where they take longer"


def _by_arm(texts: Mapping[str, str]) -> str:
    """One text where all arms have the same."""
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return " and ".join(f"{text} in {arm}" for arm, text in texts.items())
