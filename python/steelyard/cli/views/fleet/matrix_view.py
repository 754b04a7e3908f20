"""Shows how far a matrix of weighings has come, as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from steelyard.cli.views.fleet.collected_view import left_lines
from steelyard.fleet.collecting import Collected
from steelyard.fleet.matrix.state import MatrixState


def matrix_lines(state: MatrixState, taken: Collected) -> Iterator[str]:
    """A line a cell, then what became of the records."""
    width = max(len(name) for name in state.cells)
    for name, cell in state.cells.items():
        yield f"{cell.how:<8} {name:<{width}}  {cell.host}".rstrip()
        for line in cell.why.splitlines() if cell.how != "done" else ():
            yield f"         {line}"
    here = len(taken.taken) + len(taken.known)
    if here:
        yield f"{here} records are here: steelyard fleet"
    yield from left_lines(taken)
    left = sum(cell.how == "waiting" for cell in state.cells.values())
    if left:
        yield f"{left} wait for a host of their kind: the same command goes on with them"


def matrix_json(state: MatrixState, taken: Collected) -> str:
    """The object of `fleet run --json`."""
    cells = [{"name": name, **asdict(cell)} for name, cell in state.cells.items()]
    found = {"folder": str(state.folder), "cells": cells, "records": taken.to_json()}
    return json.dumps(found)
