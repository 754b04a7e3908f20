"""Names what a matrix reads of hosts, and keeps how far it has come, so that it can be resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from steelyard.fleet.matrix.host_agent import JobStatus, RecordFile
from steelyard.fleet.matrix.matrix import MatrixCell, ReadMatrix
from steelyard.history.index import HOME, MATRIX
from steelyard.model.errors import RecordError
from steelyard.model.files.bounded_json import read_json
from steelyard.model.files.own_directory import OwnDirectory, write_whole

MOST_LOSSES = 3
"""Hosts that a weighing may cost."""
How = Literal["waiting", "running", "done", "failed"]


@dataclass
class CellState:
    """One weighing: where it ran, and how it ended."""

    how: How = "waiting"
    host: str = ""
    machine: list[str] = field(default_factory=list)
    """By what that host is known, whatever it is called."""
    losses: int = 0
    """Hosts that were lost on the way; that the run was interrupted is no loss."""
    why: str = ""


@dataclass
class MatrixState:
    """Every cell by its name."""

    folder: Path
    digest: str
    cells: dict[str, CellState] = field(default_factory=dict)

    def save(self) -> None:
        """Replace the file."""
        OwnDirectory.make(self.folder)
        document = {"digest": self.digest, "cells": {n: asdict(c) for n, c in self.cells.items()}}
        write_whole(self.folder / MATRIX, json.dumps(document, indent=1) + "\n")

    def home(self, name: str) -> Path:
        """Where a cell's record is brought."""
        return self.folder / HOME / name

    def of(self, how: How) -> Iterator[str]:
        """The names of the cells in that state."""
        return (name for name, cell in self.cells.items() if cell.how == how)


def open_state(folder: Path, matrix: ReadMatrix) -> MatrixState:
    """A new state, or the one that is there: what ran when it was written waits again.

    RecordError: the folder holds another matrix, or a state that cannot be read.
    """
    state = MatrixState(folder, matrix.digest, {cell.name: CellState() for cell in matrix.cells})
    file = folder / MATRIX
    if not file.exists():
        if os.path.lexists(folder / HOME):  # whose records would be replaced
            raise RecordError(
                f'"{folder}" holds "{HOME}" of something else than a matrix',
                hint="Name a new or an empty folder, -o DIR.",
            )
        return state
    document = _read(file)
    if document.get("digest") != matrix.digest:
        raise RecordError(
            f'"{folder}" holds another matrix',
            hint="A matrix that was changed is another one: name another folder, -o DIR.",
        )
    try:
        saved = {name: CellState(**cell) for name, cell in document["cells"].items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise RecordError(f'cannot read "{file}": {error}') from error
    for name in state.cells:
        cell = saved.get(name, CellState())
        state.cells[name] = CellState(losses=cell.losses) if cell.how == "running" else cell
    return state


def _read(file: Path) -> dict[str, Any]:
    try:
        document = read_json(file)
    except (OSError, ValueError) as error:
        raise RecordError(f'cannot read "{file}": {error}') from error
    if not isinstance(document, dict):
        raise RecordError(f'cannot read "{file}": it is no object')
    return document


class RemoteHost(Protocol):
    """A host with an agent. DriverError of any call: it is lost."""

    @property
    def name(self) -> str:
        """Unlike that of every other host."""

    @property
    def machine(self) -> Sequence[str]:
        """By what its machine is known whatever agent, cluster or name it has: hosts that have one
        of these words in common are one machine."""

    @property
    def kind(self) -> str:
        """Its kind, by its own label."""

    def begin(self, cell: MatrixCell) -> bool:
        """Start a weighing; False: another one runs there."""

    def job_status(self) -> JobStatus:
        """The state of its weighing."""

    def manifest(self) -> Mapping[str, RecordFile]:
        """The files of its record."""

    def chunk(self, name: str, offset: int) -> bytes:
        """A piece of one."""

    def end(self) -> None:
        """End what runs there, and forget it; of a lost host nothing."""


class Hosts(Protocol):
    """The hosts of a fleet."""

    def hosts(self) -> Sequence[RemoteHost]:
        """Those that are there now."""
