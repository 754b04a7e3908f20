"""The section on load machines that are killed: what was lost, and what was left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from validation.kills import MOMENTS, WHAT, holds
from validation.pages.table import paragraph, table
from validation.results import Results
from validation.schedule import NODES

_WORDS = """
    Equal sessions of a running server are weighed through three of four nodes of a Ray cluster on
    this machine, and at a time drawn from a seed a load driver, its actor, its node or the weighing
    itself is ended by SIGKILL; a killed weighing is resumed (`python -m validation.kills`). A time
    at which there was nothing to end is drawn anew. It *holds* where the weighing comes to its
    verdict, every slice that was on disk is there at the end, every epoch is complete with all
    slices by all machines or is lost by the machine's name, the record gives its verdict again, and
    no driver, on any node, and no session on the server is left.
"""


def section(results: Results) -> str:
    """Every kind of kill, and what did not hold."""
    lines = list(results)
    every = [moment for moment in lines if moment["struck"]]
    parts = ["## Load machines that are killed", paragraph(_WORDS)]
    expected = MOMENTS * len(WHAT)
    if len(every) < expected:
        parts.append(f"Not yet tried: {expected - len(every)} of {expected} moments.")
    if not every:
        return "\n\n".join(parts)
    rows = []
    for what in WHAT:
        moments = [moment for moment in every if moment["what"] == what]
        lost = Counter(len(moment["lost"]) for moment in moments)
        on_disk = sum(moment["slices_on_disk"] for moment in moments)
        rows.append(
            [
                what,
                f"{len(moments)} of {MOMENTS}",
                ", ".join(f"{n} in {count}" for n, count in sorted(lost.items())) or "–",
                f"{sum(moment['slices_gone'] for moment in moments)} of {on_disk}",
                str(sum(_left(moment) for moment in moments)),
                f"{sum(map(holds, moments))} of {len(moments)}",
            ]
        )
    head = ["killed", "moments", "epochs lost", "slices lost", "left behind", "holds"]
    parts.append(table(head, rows))
    bad = [moment["key"] for moment in every if not holds(moment)]
    parts.append(
        f"Does not hold: {', '.join(bad)}."
        if bad
        else f"In all {len(every)}, over {NODES} load nodes each: no slice lost, nothing left."
    )
    return "\n\n".join(parts)


def _left(line: Mapping[str, Any]) -> int:
    """Drivers and sessions that outlived the kill or the weighing."""
    after = int(line.get("sessions after the kill", 0))
    return max(int(line["drivers"]), int(line["survivors"])) + int(line["sessions"]) + after
