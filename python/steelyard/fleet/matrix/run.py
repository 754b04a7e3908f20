"""Runs a matrix: each cell on a host of its kind, one at a time there, every record brought home.

A host that is lost costs its weighing, which waits again for another host of the kind, as a new
record: another machine is another balance. What was brought home stays when this is ended, and is
not weighed again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.fleet.matrix.host_agent import RecordFile
from steelyard.fleet.matrix.matrix import ANY_KIND, MatrixCell, ReadMatrix
from steelyard.fleet.matrix.state import (
    MOST_LOSSES,
    CellState,
    Hosts,
    MatrixState,
    RemoteHost,
    open_state,
)
from steelyard.model.errors import DriverError, RecordError
from steelyard.record.reader import VERDICT

LOOK_S = 1.0
JUDGED = 0
"""Exit status of a weighing that was completed, whatever its verdict: no cell has a condition to
fail by, so that 1 is a program that crashed."""
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
                self._look()
                begun = self._begin()
                self._state.save()
                if not self._running and not begun:
                    return self._state
                pause(LOOK_S)
        finally:
            for one in self._running.values():
                self._end(one.host)
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
            own = self._state.cells[cell.name]
            own.how, own.host, own.machine = "running", host.name, [*host.machine]
            self._says(f"begun  {cell.name} on {host.name}")
        return pending

    def _next_for(self, host: RemoteHost) -> MatrixCell | None:
        """The first cell that waits for its kind, if its machine has not weighed that question."""
        done = {
            self._cells[name].question
            for name, one in self._state.cells.items()
            if one.how in ("done", "running") and not {*one.machine}.isdisjoint(host.machine)
        }
        waiting = (self._cells[name] for name in self._state.of("waiting"))
        fit = (cell for cell in waiting if cell.kind == host.kind and cell.question not in done)
        return next(fit, None)

    def _look(self) -> None:
        for one in list(self._running.values()):
            own = self._state.cells[one.cell.name]
            try:
                seen = one.host.job_status()
                if seen.status is None:
                    continue
                if seen.status == JUDGED:
                    self._bring_home(one)
                    own.how = "done"
                else:
                    told = seen.told.strip().splitlines()
                    own.how, own.why = "failed", "\n".join(told[-3:])
                self._says(f"{own.how:<6} {one.cell.name} on {one.host.name}")
                del self._running[one.host.name]
                self._end(one.host)
            except DriverError as error:
                self._running.pop(one.host.name, None)
                self._lose(one.host, error)
                self._again(one.cell, own, error)

    def _again(self, cell: MatrixCell, own: CellState, error: DriverError) -> None:
        own.losses += 1
        own.how = "waiting" if own.losses < MOST_LOSSES else "failed"
        own.why = f'host "{own.host}" was lost: {error.primary}'
        own.host, own.machine = "", []
        self._says(f"lost   {cell.name}: {own.why}")

    def _lose(self, host: RemoteHost, error: DriverError) -> None:
        self._lost.add(host.name)
        self._says(f"lost   host {host.name}: {error.primary}")

    def _end(self, host: RemoteHost) -> None:
        try:
            host.end()
        except DriverError as error:
            self._lose(host, error)

    def _bring_home(self, one: _Running) -> None:
        """The record of a weighing, each file held to its SHA-256; nothing of it before all is."""
        home = self._state.home(one.cell.name)
        fresh = home.with_name(f".{home.name}")
        shutil.rmtree(fresh, ignore_errors=True)
        files = one.host.manifest()
        if VERDICT not in files:
            raise DriverError("its weighing left no verdict")
        for name, kept in files.items():
            _fetch(one.host, name, kept, _within(fresh, name))
        shutil.rmtree(home, ignore_errors=True)
        fresh.rename(home)


def _within(folder: Path, name: str) -> Path:
    """A file of a record; RecordError where its name leads out of it."""
    path = folder / name
    if name.startswith("/") or ".." in Path(name).parts:
        raise RecordError(f'a host names a file outside its record: "{name}"')
    return path


def _fetch(host: RemoteHost, name: str, kept: RecordFile, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with path.open("wb") as file:
        while file.tell() < kept.size_bytes:
            piece = host.chunk(name, file.tell())
            if not piece:
                break
            digest.update(piece)
            file.write(piece)
    if digest.hexdigest() != kept.sha256:
        raise DriverError(f'file "{name}" of its record did not arrive as it was')
    os.utime(path, ns=(kept.modified_ns, kept.modified_ns))  # a record may be dated by its files


def homes(state: MatrixState, matrix: ReadMatrix) -> Mapping[Path, str]:
    """The folders of the records that were brought home, each with its kind of host; empty: the
    host had no label."""
    kinds = {cell.name: cell.kind for cell in matrix.cells}
    found = {state.home(name): kinds[name] for name in state.of("done")}
    return {
        place: "" if kind == ANY_KIND else kind for place, kind in found.items() if place.is_dir()
    }
