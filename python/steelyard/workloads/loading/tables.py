"""Fills one table of a workload: made and copied in one transaction, then counted and summed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard._core import RowStream
from steelyard.engines.loading import Loader
from steelyard.model.errors import ServerError, UsageError
from steelyard.workloads.loading.parallel import Halt
from steelyard.workloads.loading.progress import LoadProgress
from steelyard.workloads.reading.workload import Table, Workload


@dataclass(frozen=True)
class FilledTable:
    """A table as it was filled."""

    rows: int
    digest: str
    """Of the bytes that were sent; "" where none were."""


def rows_of(workload: Workload, table: Table, scale: int) -> RowStream | None:
    """The rows that are generated for a table; None where it starts empty or SQL fills it."""
    if table.generator is None or table.rows_per_scale == 0:
        return None
    options = {name: str(value) for name, value in workload.loading.items()}
    try:
        return RowStream(table.generator, table.name, scale, options, workload.seed)
    except ValueError as error:
        raise UsageError(f'workload "{workload.name}" is wrong', detail=str(error)) from error


def require_generators(workload: Workload) -> None:
    """UsageError unless every generator that the tables name exists."""
    for table in workload.tables:
        rows_of(workload, table, 1)


def fill(
    loader: Loader,
    workload: Workload,
    table: Table,
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
    found = loader.count_and_sum(table.name)
    if found != (stream.sent, stream.control_sum):
        raise ServerError(
            f'could not fill table "{table.name}": it does not hold what was sent',
            detail=f"Rows and sum of its integers are {found}, "
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
