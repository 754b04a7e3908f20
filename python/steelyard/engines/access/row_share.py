"""Copies a share of a table's rows into a server exactly once, whichever machine generates it.

The share's line in a table of shares and its rows are one transaction: a share is there with its
sums and digests, or nothing of it is. The line's key refuses a second copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard._core import RowStream
from steelyard.engines.loading import Checker, Loader, RowEncoding
from steelyard.model.errors import ServerError

SHARES = "steelyard_shares"
"""The table of shares; dropped when the load is complete."""
_MAKE = (
    f"CREATE TABLE {SHARES} (of_table VARCHAR(64) NOT NULL, first_chunk BIGINT NOT NULL, "
    "row_count BIGINT, control_sum BIGINT, digests TEXT, PRIMARY KEY (of_table, first_chunk))"
)
_READ = (
    f"SELECT of_table, first_chunk, row_count, control_sum, digests FROM {SHARES} "
    "ORDER BY of_table, first_chunk"
)
_SOURCE = "could not keep account of the shares"


@dataclass(frozen=True, slots=True)
class RowShare:
    """Chunks of a table's rows that follow each other: all that is needed to make them anywhere."""

    table: str
    columns: tuple[str, ...]
    generator: str
    scale: int
    options: Mapping[str, str]
    seed: int
    encoding: RowEncoding
    first: int
    """The number of its first chunk."""
    chunks: int

    def rows(self) -> RowStream:
        """Its rows, made as they are read; ValueError: no such generator or table."""
        return RowStream(
            self.generator,
            self.table,
            self.scale,
            dict(self.options),
            self.seed,
            encoding=self.encoding,
            part=(self.first, self.chunks),
        )


@dataclass(frozen=True, slots=True)
class CopiedShare:
    """A share that the server has, as its copier kept account of it."""

    table: str
    first: int
    rows: int
    control_sum: int
    digests: tuple[str, ...]
    """Of its chunks, in order."""


def begin_shares(loader: Loader) -> None:
    """Make the table of shares."""
    loader.execute([_MAKE], _SOURCE)


def end_shares(loader: Loader) -> None:
    """Remove it."""
    loader.execute([f"DROP TABLE {SHARES}"], _SOURCE)


def copied_shares(checker: Checker) -> Sequence[CopiedShare]:
    """Those that were committed, by table and place."""
    found = checker.rows(_READ, _SOURCE)
    return [
        CopiedShare(str(table), int(first), int(rows), int(total), tuple(digests.split()))
        for table, first, rows, total, digests in found
    ]


def copy_share(loader: Loader, share: RowShare) -> int:
    """Make a share and copy it; its rows. ServerError: the server's words, or it has the share."""
    source = f'could not fill table "{share.table}"'
    own = f"of_table = '{share.table}' AND first_chunk = {share.first}"
    begin = f"INSERT INTO {SHARES} (of_table, first_chunk) VALUES ('{share.table}', {share.first})"
    with loader.transaction():
        loader.execute([begin], source)
        stream = share.rows()
        arrived = loader.append(share.table, share.columns, stream)
        if arrived != stream.sent:
            raise ServerError(f"{source}: {arrived} rows arrived, not {stream.sent}")
        told = (
            f"UPDATE {SHARES} SET row_count = {stream.sent}, control_sum = {stream.control_sum}, "
            f"digests = '{' '.join(stream.chunk_digests)}' WHERE {own}"
        )
        loader.execute([told], source)
    return arrived
