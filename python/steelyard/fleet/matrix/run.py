"""Runs a matrix: each cell on a host of its kind, one at a time there, every record brought home;
and keeps how far it has come, so that it can be resumed.

A host that is lost costs its weighing, which waits again for another host of the kind, as a new
record: another machine is another balance. What was brought home stays when this is ended, and is
not weighed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from steelyard.fleet.matrix.host_agent import JobStatus, RecordFile
from steelyard.fleet.matrix.matrix import ANY_KIND, MatrixCell, ReadMatrix
from steelyard.history.index import HOME, MATRIX
from steelyard.model.errors import DriverError, RecordError
from steelyard.model.files.bounded_json import read_json
from steelyard.model.files.own_directory import OwnDirectory, write_whole
from steelyard.record.reader import VERDICT

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


LOOK_S = 1.0
JUDGED = 0
"""Exit status of a weighing that was completed, whatever its verdict: no cell has a condition to
fail by."""
Says = Callable[[str], None]


@dataclass
class _Running:
    host: RemoteHost
    cell: MatrixCell


class MatrixRun:
    """One run over a matrix. `says` gets a line for every weighing that begins or ends."""

    def __init__(self, matrix: ReadMatrix, folder: Path, hosts: Hosts, says: Says) -> None:
        """RecordError: the folder holds another matrix."""
        self._cells = {cell.name: cell for cell in matrix.cells}
        self._state = open_state(folder, matrix)
        self._hosts = hosts
        self._says = says
        self._running: dict[str, _Running] = {}
        self._lost: set[str] = set()

    def run(self, pause: Callable[[float], None] = time.sleep) -> MatrixState:
        """Weigh what is left; what no host can weigh is left waiting."""
        try:
            while True:
                self._poll_jobs()
                begun = self._begin()
                self._state.save()
                if not self._running and not begun:
                    return self._state
                pause(LOOK_S)
        finally:
            for weighing in self._running.values():
                self._end(weighing.host)
            self._state.save()

    def _begin(self) -> bool:
        """Give every idle host a cell; whether one was given or a host may take one later."""
        pending = False
        for host in self._hosts.hosts():
            if host.name in self._running or host.name in self._lost:
                continue
            cell = self._next_for(host)
            if cell is None:
                continue
            pending = True
            try:
                if not host.begin(cell):
                    continue  # another weighing runs there
            except DriverError as error:
                self._lose(host, error)
                continue
            self._running[host.name] = _Running(host, cell)
            state = self._state.cells[cell.name]
            state.how, state.host, state.machine = "running", host.name, [*host.machine]
            self._says(f"begun  {cell.name} on {host.name}")
        return pending

    def _next_for(self, host: RemoteHost) -> MatrixCell | None:
        """The first cell that waits for its kind, if its machine has not weighed that question."""
        done = {
            self._cells[name].question
            for name, state in self._state.cells.items()
            if state.how in ("done", "running") and not {*state.machine}.isdisjoint(host.machine)
        }
        waiting = (self._cells[name] for name in self._state.of("waiting"))
        fit = (cell for cell in waiting if cell.kind == host.kind and cell.question not in done)
        return next(fit, None)

    def _poll_jobs(self) -> None:
        for weighing in list(self._running.values()):
            state = self._state.cells[weighing.cell.name]
            try:
                job = weighing.host.job_status()
                if job.status is None:
                    continue
                if job.status == JUDGED:
                    self._fetch_record(weighing)
                    state.how = "done"
                else:
                    lines = job.output_end.strip().splitlines()
                    state.how, state.why = "failed", "\n".join(lines[-3:])
                self._says(f"{state.how:<6} {weighing.cell.name} on {weighing.host.name}")
                del self._running[weighing.host.name]
                self._end(weighing.host)
            except DriverError as error:
                self._running.pop(weighing.host.name, None)
                self._lose(weighing.host, error)
                self._again(weighing.cell, state, error)

    def _again(self, cell: MatrixCell, state: CellState, error: DriverError) -> None:
        state.losses += 1
        state.how = "waiting" if state.losses < MOST_LOSSES else "failed"
        state.why = f'host "{state.host}" was lost: {error.primary}'
        state.host, state.machine = "", []
        self._says(f"lost   {cell.name}: {state.why}")

    def _lose(self, host: RemoteHost, error: DriverError) -> None:
        self._lost.add(host.name)
        self._says(f"lost   host {host.name}: {error.primary}")

    def _end(self, host: RemoteHost) -> None:
        try:
            host.end()
        except DriverError as error:
            self._lose(host, error)

    def _fetch_record(self, weighing: _Running) -> None:
        """The record of a weighing, each file held to its SHA-256; nothing of it before all is."""
        home = self._state.home(weighing.cell.name)
        fresh = home.with_name(f".{home.name}")
        shutil.rmtree(fresh, ignore_errors=True)
        files = weighing.host.manifest()
        if VERDICT not in files:
            raise DriverError("its weighing left no verdict")
        for name, expected in files.items():
            _fetch(weighing.host, name, expected, _within(fresh, name))
        shutil.rmtree(home, ignore_errors=True)
        fresh.rename(home)


def _within(folder: Path, name: str) -> Path:
    """A file of a record; RecordError where its name leads out of it."""
    path = folder / name
    if name.startswith("/") or ".." in Path(name).parts:
        raise RecordError(f'a host names a file outside its record: "{name}"')
    return path


def _fetch(host: RemoteHost, name: str, expected: RecordFile, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with path.open("wb") as file:
        while file.tell() < expected.size_bytes:
            piece = host.chunk(name, file.tell())
            if not piece:
                break
            digest.update(piece)
            file.write(piece)
    if digest.hexdigest() != expected.sha256:
        raise DriverError(f'file "{name}" of its record did not arrive as it was')
    # A record may be dated by its files.
    os.utime(path, ns=(expected.modified_ns, expected.modified_ns))


def homes(state: MatrixState, matrix: ReadMatrix) -> Mapping[Path, str]:
    """The folders of the records that were brought home, each with its kind of host; empty: the
    host had no label."""
    kinds = {cell.name: cell.kind for cell in matrix.cells}
    directories = {state.home(name): kinds[name] for name in state.of("done")}
    return {
        directory: "" if kind == ANY_KIND else kind
        for directory, kind in directories.items()
        if directory.is_dir()
    }
