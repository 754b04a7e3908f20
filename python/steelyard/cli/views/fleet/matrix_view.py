"""Shows how far a matrix of weighings has come, as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from steelyard.fleet.collecting import Collected
from steelyard.fleet.matrix.state import MatrixState


def matrix_lines(state: MatrixState, taken: Collected | None) -> Iterator[str]:
    """A line a cell, then what became of the records."""
    width = max(len(name) for name in state.cells)
    for name, cell in state.cells.items():
        yield f"{cell.how:<8} {name:<{width}}  {cell.host}".rstrip()
        for line in cell.why.splitlines() if cell.how != "done" else ():
            yield f"         {line}"
    if taken is not None:
        yield f"{len(taken.taken) + len(taken.known)} records are here: steelyard fleet"
        for one, why in taken.refused:
            yield f"refused  {one}: {why}"
    left = sum(cell.how == "waiting" for cell in state.cells.values())
    if left:
        yield f"{left} wait for a host of their kind: the same command goes on with them"


def matrix_json(state: MatrixState) -> str:
    """The object of `fleet run --json`."""
    cells = [{"name": name, **asdict(cell)} for name, cell in state.cells.items()]
    return json.dumps({"folder": str(state.folder), "cells": cells})
