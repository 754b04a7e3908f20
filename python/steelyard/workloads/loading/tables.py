"""Fills the tables of a workload: each made and copied in one transaction, then counted and summed;
or by several machines, each making and copying shares of their rows.

The rows of several machines are those of one, and so are their digests. Shares are handed out in
the order of the rows, so that on the disk only neighbouring shares are mixed. A frozen copy belongs
to the transaction that made its table; here VACUUM freezes a table when all its shares are there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from steelyard._core import RowStream, digest_of_chunks
from steelyard.engines.loading import (
    CopiedShare,
    Loader,
    RowEncoding,
    RowShare,
    WorkloadDatabase,
    begin_shares,
    copied_shares,
    end_shares,
)
from steelyard.model.errors import ServerError, UsageError
from steelyard.workloads.loading.disk_space import LoadProgress, Report
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


FEWEST_CHUNKS = 32
"""Of a share, each about a megabyte, unless the table has fewer. A COPY lengthens its table by up
to 64 pages at a time (MAX_BUFFERS_TO_EXTEND_BY of hio.c) and leaves the last ones empty: VACUUM
cuts them off at the end of the table, but not between two shares, where they are to be few."""
MOST_CHUNKS = 128
"""What is made again when a machine is lost."""
SHARES_A_SESSION = 8
"""At least, of a table that is large enough: so all sessions are done at about the same time, and
rows lie on the disk nearly in their order."""


class Copiers(Protocol):
    """Machines that copy shares into a database."""

    @property
    def sessions(self) -> int:
        """How many of them copy at a time."""

    def copy(
        self,
        shares: Sequence[RowShare],
        there: Callable[[], Iterable[tuple[str, int]]],
        done: Callable[[int], None],
    ) -> None:
        """Have every share copied, handed out in this order; a machine that is lost has its share
        made again by another. `there`: table and first chunk of those that the server has. `done`
        is called with the rows of each.

        DriverError: all machines are lost, or one says an error; nothing is copied any more then.
        """


def fill_together(
    loader: Loader,
    database: WorkloadDatabase,
    workload: Workload,
    scale: int,
    groups: Mapping[str, Sequence[str]],
    copiers: Copiers,
    report: Report,
) -> dict[str, FilledTable]:
    """Make every table by its own statements and have its rows copied; what each was filled with.

    ServerError: a table does not hold what was to be sent. Errors of the copiers go on.
    """
    for table in workload.tables:
        source = workload.part("schema.sql")
        loader.execute(groups.get(table.name, ()), source)
        if not loader.has_table(table.name):
            raise UsageError(f'{source}: it makes no table "{table.name}"')
    begin_shares(loader)
    cut = {t.name: _cut(workload, t, scale, database.encoding, copiers) for t in workload.tables}
    progress = LoadProgress(report)
    progress.expect(sum(rows for rows, _ in cut.values()))
    with database.loader() as asking:

        def there() -> Iterable[tuple[str, int]]:
            return {(share.table, share.first) for share in copied_shares(asking)}

        copiers.copy([share for _, shares in cut.values() for share in shares], there, progress.add)
    copied = copied_shares(loader)
    filled: dict[str, FilledTable] = {}

    def settle(table: WorkloadTable, loader: Loader) -> None:
        shares = [share for share in copied if share.table == table.name]
        filled[table.name] = _settled(loader, workload, table, scale, *cut[table.name], shares)

    report("vacuum")
    run_parallel(database, [partial(settle, table) for table in workload.tables], 2, Halt())
    end_shares(loader)
    return filled


def _cut(
    workload: Workload, table: WorkloadTable, scale: int, encoding: RowEncoding, copiers: Copiers
) -> tuple[int, list[RowShare]]:
    """Rows that are generated for a table, and its shares; none where it starts empty."""
    stream = rows_of(workload, table, scale, encoding)
    if stream is None or table.generator is None:
        return 0, []
    even = stream.chunks // (SHARES_A_SESSION * copiers.sessions)
    each = min(MOST_CHUNKS, max(FEWEST_CHUNKS, even))
    shares = [
        RowShare(
            table=table.name,
            columns=table.columns,
            generator=table.generator,
            scale=scale,
            options={name: str(value) for name, value in workload.loading.items()},
            seed=workload.seed,
            encoding=encoding,
            first=first,
            chunks=min(each, stream.chunks - first),
        )
        for first in range(0, stream.chunks, each)
    ]
    return stream.rows, shares


def _settled(
    loader: Loader,
    workload: Workload,
    table: WorkloadTable,
    scale: int,
    expected: int,
    shares: Sequence[RowShare],
    copied: Sequence[CopiedShare],
) -> FilledTable:
    """Hold a table to what its shares add up to, and leave it as one transaction would have."""
    if not shares:
        loader.analyze(table.name)
        return FilledTable(0, "")
    source = f'could not fill table "{table.name}"'
    missing = {share.first for share in shares} ^ {share.first for share in copied}
    if missing:
        raise ServerError(f"{source}: {len(missing)} of {len(shares)} shares are not there")
    declared = workload.rows_at(table, scale)
    expected = expected if declared is None else declared
    rows = sum(share.rows for share in copied)
    if rows != expected:
        raise ServerError(f"{source}: {rows} rows arrived, not {expected}")
    loader.freeze(table.name)
    loader.analyze(table.name)  # of frozen pages it reads none, and so cuts empty ones off the end
    total = (sum(share.control_sum for share in copied) + 2**63) % 2**64 - 2**63
    totals = loader.count_and_sum(table.name)
    if totals != (rows, total):
        raise ServerError(
            f"{source}: it does not hold what was sent",
            detail=f"Rows and sum of its integers are {totals}, but {(rows, total)} were sent.",
        )
    digest = digest_of_chunks([chunk for share in copied for chunk in share.digests])
    return FilledTable(rows, digest)
