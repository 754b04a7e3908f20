"""A database of ours as what a workload is loaded into, checked in and counted in.

Writes rows as INSERTs of T-SQL. They come as lines, as `crates/datagen/src/text.rs` makes them,
no row in two chunks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, fields
from typing import Any

from steelyard.engines.loading import LoadedData, Prober, RowEncoding, ServerDisk
from steelyard.engines.sqlserver.owned import OwnedDatabase
from steelyard.engines.sqlserver.session import RefusedError, Session, bracketed, connected, literal
from steelyard.model.errors import ServerError, UsageError
from steelyard.model.files.bounded_json import JsonError, parse_json

MOST_ROWS = 1000
"""Of one VALUES: the server takes no more (error 10738)."""
_CHARACTERS = 1 << 19
"""Of one INSERT, about."""
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "0": "\0"}
"""Any other character after a backslash is itself."""


def inserts(head: str, chunks: Iterable[bytes]) -> Iterator[str]:
    """Statements with as many rows as fit; each begins with `head`."""
    for chunk in chunks:
        rows: list[str] = []
        size = len(head)
        for line in chunk.decode().split("\n")[:-1]:
            row = _row(line)
            if rows and (len(rows) == MOST_ROWS or size + len(row) > _CHARACTERS):
                yield f"{head} {','.join(rows)}"
                rows, size = [], len(head)
            rows.append(row)
            size += len(row) + 1
        if rows:
            yield f"{head} {','.join(rows)}"


def _row(line: str) -> str:
    return "(" + ",".join(map(_field, line.split("\t"))) + ")"


def _field(field: str) -> str:
    if field == "\\N":
        return "NULL"
    if "\\" in field:
        field = _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), field)
    return literal(field)


LOADED = "steelyard_loaded"
"""The extended property that says what it was loaded with."""
_QUOTED = 200
"""Characters of a statement that are quoted."""
_NUMBER = re.compile(r"-?\d{1,18}(\.\d+)?")
_INTEGERS = """
SELECT name FROM sys.columns WHERE object_id = OBJECT_ID({})
   AND TYPE_NAME(system_type_id) IN (N'smallint', N'int', N'bigint') ORDER BY column_id;
"""


class SqlServerDatabase:
    """A WorkloadDatabase; it is made by the arm and not here."""

    kind = "sqlserver"
    encoding: RowEncoding = "lines"
    session: tuple[str, ...] = ()

    def __init__(self, owned: OwnedDatabase) -> None:
        self._owned = owned

    @property
    def host(self) -> str:
        """The server, as messages name it."""
        return self._owned.server.host

    def create(self, *, replacing: bool = False) -> None:
        """Only verifies it: it was made empty. EngineError: it is no longer ours."""
        with connected(self._owned.server) as session:
            self._owned.verify(session)

    def disk(self) -> ServerDisk:
        """Not seen from here."""
        return ServerDisk(None, 0, 0)

    @contextmanager
    def loader(self) -> Iterator[SqlServerLoader]:
        """A connection that fills it; EngineError: it is no longer ours."""
        with self._owned.opened() as session:
            yield SqlServerLoader(session)

    @contextmanager
    def checker(self) -> Iterator[SqlServerChecker]:
        """A connection that reads it; EngineError: it is no longer ours."""
        with self._owned.opened() as session:
            yield SqlServerChecker(session)

    def counter(self) -> AbstractContextManager[SqlServerChecker]:
        """As `checker`: a server that is held still goes on for its question."""
        return self.checker()

    @contextmanager
    def prober(self) -> Iterator[Prober]:
        """UsageError: what a statement costs is counted by PostgreSQL's EXPLAIN alone."""
        raise UsageError(f'cannot explain probes on the server at "{self.host}"')
        yield  # a context manager is a generator


class SqlServerChecker:
    """A connection to the loaded database; implements Checker."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def execute(self, statements: Sequence[str], source: str) -> list[int]:
        """Rows that each statement returned, -1 where it returns none. ServerError begins with
        `source` and quotes the statement."""
        counts = []
        for statement in statements:
            with _attributed(source, statement):
                results = self._session.execute(statement)
            counts.append(sum(len(result.rows) for result in results) if results else -1)
        return counts

    def rows(self, query: str, source: str) -> list[tuple[Any, ...]]:
        """The rows of a query; what is printed as a number is one. ServerError as of `execute`."""
        with _attributed(source, query):
            return [tuple(map(_value, row)) for row in self._session.rows(query)]

    def loaded(self) -> LoadedData | None:
        """What its marker says that it was loaded with."""
        rows = self._session.rows(
            "SELECT CONVERT(nvarchar(3000), value) FROM sys.extended_properties"
            f" WHERE class = 0 AND name = {literal(LOADED)};"
        )
        if not rows or not rows[0][0]:
            return None
        try:
            marker = parse_json(rows[0][0])
        except JsonError:
            marker = None
        values = marker if isinstance(marker, dict) else {}
        return LoadedData.read([values.get(field.name) for field in fields(LoadedData)])


class SqlServerLoader(SqlServerChecker):
    """A connection that fills the database; implements Loader. A load that fails leaves what it
    did: the database is dropped then."""

    def transaction(self) -> AbstractContextManager[object]:
        """Nothing: see the class."""
        return nullcontext()

    def has_table(self, table: str) -> bool:
        """Whether there is a table of this name."""
        return self._number(f"SELECT COUNT(*) FROM sys.tables WHERE name = {literal(table)};") > 0

    def copy(self, table: str, columns: Sequence[str], chunks: Iterable[bytes]) -> int:
        """Append rows, written as LOAD DATA reads them, by INSERTs; how many arrived."""
        source, arrived = f'could not fill table "{table}"', 0
        column_list = f" ({', '.join(map(bracketed, columns))})" if columns else ""
        for statement in inserts(f"INSERT INTO {bracketed(table)}{column_list} VALUES", chunks):
            with _attributed(source, statement):
                arrived += self._number(f"{statement};\nSELECT @@ROWCOUNT;")
        return arrived

    def count_and_sum(self, table: str) -> tuple[int, int]:
        """Rows of a table, and the sum of its integer columns as a signed 64-bit number wraps."""
        names = [bracketed(str(name)) for (name,) in self._session.rows(_integers(table))]
        exact = "COALESCE(SUM(CONVERT(decimal(38, 0), {})), 0)"
        sums = " + ".join(exact.format(name) for name in names) or "0"
        query = f"SELECT COUNT_BIG(*), CONVERT(nvarchar(40), {sums}) FROM {bracketed(table)};"
        [(rows, total)] = self._session.rows(query)
        return int(str(rows)), (int(str(total)) + 2**63) % 2**64 - 2**63

    def count(self, table: str) -> int:
        """Rows of a table."""
        return self._number(f"SELECT COUNT_BIG(*) FROM {bracketed(table)};")

    def analyze(self, table: str) -> None:
        """Statistics of a table whose rows were inserted."""
        self.execute([f"UPDATE STATISTICS {bracketed(table)};"], f'could not analyze "{table}"')

    def freeze(self, table: str) -> None:
        """The same: rows that were inserted leave nothing behind."""
        self.analyze(table)

    def begin_mark(self) -> None:
        """Nothing: it was marked when it was made."""

    def mark(self, loaded: LoadedData) -> None:
        """Write into the database what was loaded."""
        marker = literal(json.dumps(asdict(loaded)))
        statement = f"EXEC sys.sp_addextendedproperty @name = {literal(LOADED)}, @value = {marker};"
        self.execute([statement], "could not mark the database")

    def size_bytes(self) -> int:
        """Of its files."""
        return 8192 * self._number("SELECT SUM(CONVERT(bigint, size)) FROM sys.database_files;")

    def cancel(self) -> None:
        """Stop the statement under way; called from another thread."""
        self._session.cancel()

    def _number(self, query: str) -> int:
        """The one number that a text answers with."""
        [(number,)] = self._session.rows(query)
        return int(str(number))


def _integers(table: str) -> str:
    return _INTEGERS.format(literal(table))


def _value(text: str | None) -> int | float | str | None:
    if text is None or _NUMBER.fullmatch(text) is None:
        return text
    return float(text) if "." in text else int(text)


@contextmanager
def _attributed(source: str, statement: str) -> Iterator[None]:
    """An error about a statement becomes a ServerError that says which it was."""
    excerpt = " ".join(statement[: 4 * _QUOTED].split())
    excerpt = excerpt if len(excerpt) <= _QUOTED else f"{excerpt[:_QUOTED]} ..."
    try:
        yield
    except RefusedError as error:
        why = error.detail or error.primary
        raise ServerError(f"{source}: {why}", detail=f"In: {excerpt}") from error
