"""Writes a sweep as Markdown: a row a value and arm, with the control's throughput and doubts."""

from __future__ import annotations

from steelyard.cli.views.ci.markdown import escaped
from steelyard.evaluation.sweep import reading
from steelyard.model.units import NS_PER_S, format_duration
from steelyard.record.sweep import Swept, SweptContrast

NO_THROUGHPUT = "The control's throughput at each value was not kept with this sweep."


def sweep_table(found: Swept) -> str:
    """The sentences of a sweep, its table, what could not be weighed, and its command.

    Two columns are of newer records only: the control's throughput, by which a plateau is seen, and
    how much longer a point would have to be weighed by itself to be told.
    """
    every = [one for point in found.points for one in point.contrasts]
    known = {
        "control, tps": any(one.control_throughput is not None for one in every),
        "told after, besides": any(one.forecast_seconds is not None for one in every),
    }
    head = [found.key, "", "effect, joint interval", "verdict", "cause", "doubts"]
    head += [name for name, is_known in known.items() if is_known]
    rows = [
        [point.value, *_cells(one, [*known.values()])]
        for point in found.points
        for one in point.contrasts
    ]
    table = [head, ["---"] * len(head), *rows]
    failed = [f"- {point.value}: {escaped(point.failed)}" for point in found.points if point.failed]
    return "\n".join(
        [
            *(f"> {escaped(sentence)}." for sentence in found.sentences),
            "",
            *(f"| {' | '.join(line)} |" for line in table),
            *(["", *failed] if failed else []),
            *(["", NO_THROUGHPUT] if every and not known["control, tps"] else []),
            "",
            "Repeat:",
            "",
            "```",
            found.command,
            "```",
        ]
    )


def _cells(one: SweptContrast, known: list[bool]) -> list[str]:
    tps, more = one.control_throughput, one.forecast_seconds
    newer = [
        "–" if tps is None else f"{tps:,.0f}".replace(",", " "),
        "–" if more is None else format_duration(more * NS_PER_S),
    ]
    return [
        f"{escaped(one.arm)} against {escaped(one.control)}",
        escaped(reading(one)),
        one.verdict,
        one.cause or "none",
        escaped(", ".join(one.threats)) or "none",
        *(cell for cell, is_known in zip(newer, known, strict=True) if is_known),
    ]
