"""Fills one table of a workload: made and copied in one transaction, then counted and summed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass

from steelyard._core import RowStream
from steelyard.engines.loading import Loader, RowEncoding, WorkloadDatabase
from steelyard.model.errors import ServerError, UsageError
from steelyard.workloads.loading.disk_space import LoadProgress
from steelyard.workloads.reading.workload import Workload, WorkloadTable


@dataclass(frozen=True)
class FilledTable:
    """A table as it was filled."""

    rows: int
    digest: str
    """Of the bytes that were sent; "" where none were."""


def rows_of(
    workload: Workload, table: WorkloadTable, scale: int, encoding: RowEncoding = "copy"
) -> RowStream | None:
    """The rows that are generated for a table; None where it starts empty or SQL fills it."""
    if table.generator is None or table.rows_per_scale == 0:
        return None
    options = {name: str(value) for name, value in workload.loading.items()}
    try:
        return RowStream(
            table.generator, table.name, scale, options, workload.seed, encoding=encoding
        )
    except ValueError as error:
        raise UsageError(f'workload "{workload.name}" is wrong', detail=str(error)) from error


def require_generators(workload: Workload) -> None:
    """UsageError unless every generator that the tables name exists."""
    for table in workload.tables:
        rows_of(workload, table, 1)


def fill(
    loader: Loader,
    workload: Workload,
    table: WorkloadTable,
    expected: int | None,
    schema: Sequence[str],
    stream: RowStream | None,
    progress: LoadProgress,
    halt: Halt,
) -> FilledTable:
    """Make a table by its statements and send its rows; ServerError when not all of them arrive.

    What the server then counts and sums up must be what was sent. UsageError: the statements make
    another table.
    """
    with loader.transaction():
        source = workload.part("schema.sql")
        loader.execute(schema, source)
        if not loader.has_table(table.name):
            raise UsageError(f'{source}: it makes no table "{table.name}"')
        if stream is None:
            return FilledTable(0, "")
        chunks = _reported(stream, progress, halt)
        arrived = loader.copy(table.name, table.columns, chunks)
        expected = stream.rows if expected is None else expected
        if arrived != expected:
            raise ServerError(
                f'could not fill table "{table.name}": {arrived} rows arrived, not {expected}'
            )
    totals = loader.count_and_sum(table.name)
    if totals != (stream.sent, stream.control_sum):
        raise ServerError(
            f'could not fill table "{table.name}": it does not hold what was sent',
            detail=f"Rows and sum of its integers are {totals}, "
            f"but {(stream.sent, stream.control_sum)} were sent.",
        )
    return FilledTable(arrived, stream.digest)


def _reported(stream: RowStream, progress: LoadProgress, halt: Halt) -> Iterator[bytes]:
    """The chunks of a stream; each is counted once it was sent."""
    before = 0
    for chunk in stream:
        halt.check()
        yield chunk
        progress.add(stream.sent - before)
        before = stream.sent


Piece = Callable[[Loader], None]

_AGAIN_S = 0.2
"""Between two calls to halt: a piece may have been between two statements."""


class Halted(Exception):  # noqa: N818 - it is no error: another piece has the error
    """Another piece failed, or the load was interrupted."""


class Halt:
    """Stops the pieces of a load, and cancels the statements that they are executing."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._working: set[Loader] = set()

    @contextmanager
    def connected(self, database: WorkloadDatabase) -> Iterator[Loader]:
        """A connection whose statements can be cancelled; Halted where they were."""
        try:
            with database.loader() as loader, self._cancellable(loader):
                yield loader
        except ServerError as error:
            if self._event.is_set():
                raise Halted from error
            raise

    @contextmanager
    def _cancellable(self, loader: Loader) -> Iterator[None]:
        with self._lock:
            self._working.add(loader)
        try:
            yield
        finally:
            with self._lock:
                self._working.discard(loader)

    def call(self) -> None:
        """Every piece is to stop. Called again it cancels what has begun meanwhile."""
        self._event.set()
        with self._lock:
            for loader in self._working:
                loader.cancel()

    def check(self) -> None:
        """Halted, where it was called: pieces check between two steps."""
        if self._event.is_set():
            raise Halted


def run_parallel(
    database: WorkloadDatabase, pieces: Sequence[Piece], at_once: int, halt: Halt
) -> None:
    """Run the pieces in order, `at_once` at a time; the first failure halts the others."""

    def run(piece: Piece) -> None:
        halt.check()
        with halt.connected(database) as loader:
            piece(loader)

    with ThreadPoolExecutor(max_workers=max(1, at_once)) as pool:
        futures = [pool.submit(run, piece) for piece in pieces]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            if any(not f.done() or f.exception() is not None for f in futures):
                halt.call()
            while wait(futures, timeout=_AGAIN_S).not_done:
                halt.call()
    failures = [error for future in futures if (error := future.exception()) is not None]
    for failure in sorted(failures, key=lambda error: isinstance(error, Halted)):
        raise failure
