"""Formats the plan of a weighing as rows."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.evaluation.factors.words import alias_sentences
from steelyard.model.units import NS_PER_S, format_bytes, format_duration
from steelyard.record.factors import FactorsPlan
from steelyard.record.plan import (
    CYCLES,
    CountedChoice,
    LeftOutScript,
    MemoryPlan,
    Plan,
    TurnChoices,
)
from steelyard.record.turns.near_words import near_words
from steelyard.study.arm import shown_sql

_COSTS = {
    "foreground": "foreground: what the transactions themselves pay",
    "whole": "whole: each arm also pays the work it leaves to the background",
    "cycles": "cycles: whole checkpoint cycles hold the work that an arm leaves to the background",
}
_UPKEEP = {
    "restore": "put back before every epoch",
    "exchange": "left as the epoch before left them, and any arm may get any copy",
    "carry": "each copy stays with its arm",
    "reconnect": "not ours: only the connections are opened afresh",
}

_HELD_BY = {
    "v1": "by a control group each (version 1)",
    "v2": "by a control group each (version 2)",
    "systemd-run": "by a scope of systemd each",
}

_WAYS = {
    "socket": "its Unix socket",
    "tcp": "TCP on loopback",
    "tls": "TCP on loopback, encrypted",
    "pgbouncer": "PgBouncer in transaction mode",
}


def plan_rows(plan: Plan) -> list[tuple[str, str]]:
    """The plan as label and text, reasons included."""
    rows = [
        ("metric that decides", plan.metric.replace("_", " ")),
        ("margin", f"±{100 * plan.margin:.3g} %"),
        *(factor_rows(plan.factors) if plan.factors is not None else ()),
        *_layout_rows(plan),
        ("placement", _because(plan.placement or "–", plan.placement_why)),
        ("cost", _COSTS.get(plan.cost, plan.cost)),
        ("memory of an arm", _memory(plan.memory)),
        *((f"data of {arm}", f"as loaded, then {shown_sql(sql)}") for arm, sql in plan.sql.items()),
        ("clients reach", ", ".join(f"{arm} by {_WAYS[way]}" for arm, way in plan.connect.items())),
        ("load", _load(plan)),
        ("processors", ", ".join(map(str, plan.processors)) or "any"),
        ("left out of the mix", "; ".join(map(left_out_text, plan.left_out))),
        ("attempt", _attempt(plan.attempt)),
        ("seed", str(plan.seed)),
    ]
    return [(label, text) for label, text in rows if text not in ("", "–")]


def factor_rows(factors: FactorsPlan) -> list[tuple[str, str]]:
    """Factors, cells and effects of a factorial as label and text, and what a half cannot tell."""
    control, *others = [cell.arm for cell in factors.cells]
    named = [f"{name} ({two} against {one})" for name, (one, two) in factors.factors.items()]
    joint = "joint 95 % intervals, at the end"
    return [
        ("factors", ", ".join(named)),
        ("cells", f"{control} (control), {', '.join(others)}"),
        ("effects", f"{', '.join(one.name for one in factors.effects)}: {joint}"),
        ("fraction", ": ".join((factors.fraction, *alias_sentences(factors)))),
    ]


def _slice_rows(plan: Plan) -> list[tuple[str, str]]:
    return [
        ("epochs", _because(_epochs(plan), plan.epochs_why)),
        ("looks", _looks(plan)),
        ("blocks in an epoch", str(plan.blocks_per_epoch)),
        ("slice", _because(_slice(plan), plan.slice_why)),
        ("warm-up", format_duration(plan.warmup_ns)),
        ("buffer pools", _pools(plan)),
    ]


def _layout_rows(plan: Plan) -> list[tuple[str, str]]:
    if plan.turns is None:
        return _slice_rows(plan)
    if plan.layout == CYCLES:
        return _cycle_rows(plan, plan.turns)
    return _turn_rows(plan, plan.turns)


def _cycle_rows(plan: Plan, turns: TurnChoices) -> list[tuple[str, str]]:
    """Epochs in cycles; times are own time of the arms but for what an epoch takes."""
    cap = format_duration(turns.warmup_cap_ns)
    far = [f"{_every(turns.cycle_seconds.get(arm))} in {arm}" for arm in plan.arms]
    after = {arm: format_duration(each.begin_ns) for arm, each in turns.limits.items()}
    return [
        ("layout", _because(CYCLES, plan.layout_why)),
        ("epochs", f"{plan.epochs}, each about {about_duration(plan.epoch_takes_ns)}"),
        ("looks", _looks(plan)),
        ("time scale", _because(_scale(plan, turns), turns.time_scale_why)),
        ("measured from", f"{_from(turns, 'begin')}after {_by_arm(after)} of own time"),
        ("measured in an epoch", _measured(turns)),
        (_cycle_label(turns), ", ".join(far)),
        ("slice", _because(format_duration(plan.slice_ns), plan.slice_why)),
        ("warm-up", f"until throughput and reads are level, {cap} at most"),
        ("files of the arms", _because(_UPKEEP[plan.upkeep], plan.upkeep_why)),
    ]


def _turn_rows(plan: Plan, turns: TurnChoices) -> list[tuple[str, str]]:
    """Epochs of turns: how long they are, what they are measured by, and what is kept equal."""
    each = about_duration(turns.turn_ns)
    cap = format_duration(turns.warmup_cap_ns)
    far = [f"{_every(turns.cycle_seconds.get(arm))} in {arm}" for arm in plan.arms]
    return [
        ("layout", _because("turns", plan.layout_why)),
        ("epochs", f"{plan.epochs}, each {len(plan.arms)} turns of about {each}"),
        ("looks", _looks(plan)),
        ("time scale", _because(_scale(plan, turns), turns.time_scale_why)),
        *([("measured from", _begin(turns))] if turns.limits else []),
        ("measured in a turn", _measured(turns)),
        (_cycle_label(turns), ", ".join(far)),
        ("slice", _because(format_duration(plan.slice_ns), plan.slice_why)),
        ("warm-up", f"until throughput and reads are level, {cap} at most"),
        ("files of the arms", _because(_UPKEEP[plan.upkeep], plan.upkeep_why)),
    ]


def _scale(plan: Plan, turns: TurnChoices) -> str:
    really = f", really {near_words(turns, plan.arms)}" if turns.nearer else ""
    return f"{turns.time_scale:g}{really}"


def _every(seconds: float | None) -> str:
    return "none" if seconds is None else f"every {format_duration(seconds * NS_PER_S)}"


def _measured(turns: TurnChoices) -> str:
    if turns.stated_ns is not None:
        why = "no checkpoint begins or ends" if turns.continuous else "the study says so"
        return f"{format_duration(turns.stated_ns)}: {why}"
    each = {arm: format_duration(one.longest_ns) for arm, one in turns.limits.items()}
    longest = _by_arm(each) if each else format_duration(turns.longest_ns)
    others = " of the arm with the longest, about as long in the others"
    of_all = others if turns.unlike_cycles else ""
    return f"{turns.cycles} checkpoint cycles{of_all}, or {longest} where they take longer"


def _begin(turns: TurnChoices) -> str:
    after = {arm: format_duration(one.begin_ns) for arm, one in turns.limits.items()}
    none = "" if turns.continuous else "or where none comes, "
    return f"{_from(turns, 'end')}{none}after {_by_arm(after)} under load"


def _from(turns: TurnChoices, end: str) -> str:
    return "" if turns.continuous else f"the {end} of a checkpoint, "


def _cycle_label(turns: TurnChoices) -> str:
    return f"{'turns of the log' if turns.continuous else 'checkpoints'}, as expected"


def _by_arm(texts: Mapping[str, str]) -> str:
    """One text where all arms have the same."""
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return " and ".join(f"{text} in {arm}" for arm, text in texts.items())


def _epochs(plan: Plan) -> str:
    fewer = "longer and fewer, " if plan.epochs_why else ""
    return f"{plan.epochs}, {fewer}each about {format_duration(plan.epoch_ns)}"


def _slice(plan: Plan) -> str:
    length = format_duration(plan.slice_ns)
    return length if plan.counted is None else f"{executions_text(plan.counted)}, about {length}"


def executions_text(counted: CountedChoice) -> str:
    """What a slice holds: `"1 execution"`, `"2 executions of each client"`."""
    text = "1 execution" if counted.each == 1 else f"{counted.each} executions"
    return text if counted.clients == 1 else f"{text} of each client"


def _pools(plan: Plan) -> str:
    """Nothing where only the load warms them."""
    if plan.warm != "by reading":
        return ""
    return _because(
        f"filled by reading the data, {format_duration(plan.warm_ns)} an epoch", plan.warm_why
    )


def _load(plan: Plan) -> str:
    clients = "1 client" if plan.clients == 1 else f"{plan.clients} clients"
    threads = "1 driver thread" if plan.threads == 1 else f"{plan.threads} driver threads"
    return f"{clients} on {threads}"


def left_out_text(one: LeftOutScript) -> str:
    """`"07-insert-orders (3.1 % of the transactions): 5 of 5 tries failed: duplicate key ..."`."""
    share = f"{100 * one.share:.2g} % of the transactions"
    return f"{one.script} ({share}): {one.failed} of {one.tries} tries failed: {one.error}"


def _memory(memory: MemoryPlan | None) -> str:
    """Nothing without a cap."""
    if memory is None:
        return ""
    size = format_bytes(memory.cap_bytes)
    return f"{size} at most, shared buffers and page cache included, {_HELD_BY[memory.held_by]}"


def _looks(plan: Plan) -> str:
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


def _because(text: str, why: str) -> str:
    return f"{text}: {why}" if why else text


def _attempt(attempt: int) -> str:
    if attempt == 1:
        return "first"
    return f"{attempt}: weighed before on this machine; false alarms add up over attempts"


def about_duration(nanoseconds: float) -> str:
    """A time that is only expected, rounded to what is known of it: `"2 min"`, `"41 min"`."""
    seconds = nanoseconds / NS_PER_S
    step = 60 if seconds >= 600 else 10 if seconds >= 60 else 1 if seconds >= 10 else 0
    return format_duration(round(seconds / step) * step * NS_PER_S if step else nanoseconds)
