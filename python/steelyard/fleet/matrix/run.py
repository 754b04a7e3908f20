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
