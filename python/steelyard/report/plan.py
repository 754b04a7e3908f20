"""Formats the plan of a weighing as rows."""

from __future__ import annotations

from steelyard.model.latency_goal import metric_words
from steelyard.model.units import format_bytes, format_digits
from steelyard.record.factors import FactorsPlan
from steelyard.record.machine import MemoryPlan
from steelyard.record.plan import LeftOutScript, Plan
from steelyard.report.layouts.plan_words import because
from steelyard.report.layouts.shown_layout import shown_layout
from steelyard.study.arm import shown_sql
from steelyard.wording.factor_sentences import alias_sentences

_COSTS = {
    "foreground": "foreground: what the transactions themselves pay",
    "whole": "whole: each arm also pays the work it leaves to the background",
    "cycles": "cycles: whole checkpoint cycles hold the work that an arm leaves to the background",
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
        ("metric that decides", metric_words(plan.metric)),
        ("margin", f"±{format_digits(100 * plan.margin, 3)} %"),
        *(factor_rows(plan.factors) if plan.factors is not None else ()),
        *shown_layout(plan).plan_rows(plan),
        ("placement", because(plan.placement or "–", plan.placement_why)),
        ("cost", _COSTS.get(plan.cost, plan.cost)),
        ("memory of an arm", _memory(plan.memory)),
        ("disk of an arm", _disk(plan.memory)),
        *((f"data of {arm}", f"as loaded, then {shown_sql(sql)}") for arm, sql in plan.sql.items()),
        *place_rows(plan),
        ("clients reach", ", ".join(f"{arm} by {_WAYS[way]}" for arm, way in plan.connect.items())),
        ("standbys", "; ".join(f"{arm}: {text}" for arm, text in plan.replication.items())),
        ("load", _load(plan)),
        ("processors", ", ".join(map(str, plan.processors)) or "any"),
        ("left out of the mix", "; ".join(map(left_out_text, plan.left_out))),
        ("attempt", _attempt(plan.attempt)),
        ("seed", str(plan.seed)),
    ]
    return [(label, text) for label, text in rows if text not in ("", "–")]


def place_rows(plan: Plan) -> list[tuple[str, str]]:
    """Where the files of each arm are, where the study says so."""
    stated = any(place.log or place.data.directory for place in plan.places.values())
    how = "alike: drawn with the slots" if plan.places_drawn else "each arm's own in every epoch"
    rows = [(f"files of {arm}", place.words) for arm, place in plan.places.items()]
    return [*rows, ("places of files", how)] if stated else []


def factor_rows(factors: FactorsPlan) -> list[tuple[str, str]]:
    """Factors, cells and effects of a factorial as label and text, and what a half cannot tell."""
    control, *others = [cell.arm for cell in factors.cells]
    factor_texts = [
        f"{name} ({second} against {first})" for name, (first, second) in factors.factors.items()
    ]
    joint = "joint 95 % intervals, at the end"
    return [
        ("factors", ", ".join(factor_texts)),
        ("cells", f"{control} (control), {', '.join(others)}"),
        ("effects", f"{', '.join(effect.name for effect in factors.effects)}: {joint}"),
        ("fraction", ": ".join((factors.fraction, *alias_sentences(factors)))),
    ]


def _load(plan: Plan) -> str:
    clients = "1 client" if plan.clients == 1 else f"{plan.clients} clients"
    threads = "1 driver thread" if plan.threads == 1 else f"{plan.threads} driver threads"
    return f"{clients} on {threads}"


def left_out_text(left_out: LeftOutScript) -> str:
    """`"07-insert-orders (3.1 % of the transactions): 5 of 5 tries failed: duplicate key ..."`."""
    share = f"{format_digits(100 * left_out.share, 2)} % of the transactions"
    return (
        f"{left_out.script} ({share}): {left_out.failed} of {left_out.tries} tries failed: "
        f"{left_out.error}"
    )


_RATES = {
    "read_iops": "reads",
    "write_iops": "writes",
    "read_rate": "read",
    "write_rate": "written",
}


def _disk(memory: MemoryPlan | None) -> str:
    """Nothing where its rate is not held."""
    if memory is None or memory.disk is None:
        return ""
    parts = [
        f"{format_bytes(value) if name.endswith('rate') else value} {_RATES[name]} a second"
        for name, value in memory.disk.rates.items()
    ]
    return f"at most {', '.join(parts)} ({', '.join(memory.disk.devices)})"


def _memory(memory: MemoryPlan | None) -> str:
    """Nothing without a cap."""
    if memory is None:
        return ""
    size = format_bytes(memory.cap_bytes)
    return f"{size} at most, shared buffers and page cache included, {_HELD_BY[memory.held_by]}"


def _attempt(attempt: int) -> str:
    if attempt == 1:
        return "first"
    return f"{attempt}: weighed before on this machine; false alarms add up over attempts"
