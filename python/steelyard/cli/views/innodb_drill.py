"""Formats a drill of InnoDB as text: for each checksum algorithm, what noticed which fault."""

from __future__ import annotations

from steelyard.cli.views.drilled import certainty, matrix, not_planted
from steelyard.integrity.drill.matrix import (
    HANGS,
    NO_START,
    QUERY_ERROR,
    SERVER_LOG,
    UNNOTICED,
    WRONG_ANSWER,
)
from steelyard.integrity.innodb.drill.drill import (
    DIED,
    INNOCHECKSUM,
    SCRUB,
    InnodbDrillResult,
)
from steelyard.report.drill.page import table

_TITLES = (
    (QUERY_ERROR, "error"),
    (WRONG_ANSWER, "wrong"),
    (HANGS, "hangs"),
    (DIED, "dies"),
    (NO_START, "no start"),
    (SERVER_LOG, "log"),
    (UNNOTICED, "none"),
    (INNOCHECKSUM, "innochecks."),
    (SCRUB, "scrub"),
)


def render(result: InnodbDrillResult) -> str:
    """The complete text of a drill."""
    lines = [
        f"{result.product}, seed {result.seed}; noticed of 100, by fault and check; error, "
        "wrong, hangs, dies: how the queries of a running server ended; log: its log names the "
        "table; none: neither"
    ]
    if result.ended_by is not None:
        lines += ["", "It ended early: what follows was seen by then."]
    cells = result.files.to_json()
    lines += [certainty(result.copies)] if cells else []
    places = list(dict.fromkeys(cell["place"] for cell in cells))
    for algorithm in result.algorithms:
        columns = [(check, algorithm, title) for check, title in _TITLES]
        of_arm = [cell for cell in cells if cell["arm"] == algorithm]
        for where in ("", *places):
            here = [cell for cell in of_arm if where in ("", cell["place"])]
            if here:
                scope = f"in {where}" if where else "all places together"
                title = f"innodb_checksum_algorithm = {algorithm}, {scope}:"
                lines += ["", title, *matrix(table(here), columns)]
    few = not_planted(cells, result.algorithms[0])
    return "\n".join([*lines, *(["", *few] if few else [])])
