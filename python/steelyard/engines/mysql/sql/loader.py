"""Loads and checks a workload's tables on MySQL and MariaDB: SQL, rows, statistics, the marker.

Rows go by LOAD DATA of a stream, or by INSERT of several at a time; they come as
`crates/datagen/src/text.rs` writes them, no row in two chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from steelyard.engines.loading import LoadedData
from steelyard.engines.mysql.sql.session import connected, rows_of, variables_of, words_of
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError

if TYPE_CHECKING:
    from pymysql.connections import Connection

MARKER = "steelyard_marker"
"""A database with this table was made by Steelyard; no other one is ever written to."""
_QUOTED = 200
"""Characters of a statement that are quoted."""

# No tinyint: it is what a bool is kept as, and those are not summed.
_INTEGERS = """
    SELECT column_name FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name = '{}'
       AND data_type IN ('smallint', 'mediumint', 'int', 'bigint')
     ORDER BY ordinal_position"""

_PIECE = 1 << 16
"""Bytes of one packet of rows."""
_INSERT = 1 << 20
"""Bytes of one INSERT, about."""
_QUOTED_WARNINGS = 3
_AS_WRITTEN = (
    r"CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n'"
)


class MysqlChecker:
    """A connection to the loaded database; implements Checker."""

    def __init__(self, connection: Connection[Any], address: Endpoint) -> None:
        self._connection, self._address = connection, address

    def execute(self, statements: Sequence[str], source: str) -> list[int]:
        """Rows that each statement returned or changed; of a CALL, those of its first result.

        ServerError begins with `source`, which names workload and file, and quotes the statement.
        """
        rows = []
        for statement in statements:
            with _attributed(source, statement), self._connection.cursor() as cursor:
                cursor.execute(statement)
                rows.append(cursor.rowcount)
                while cursor.nextset():  # an error may be in a later one
                    pass
        return rows

    def rows(self, query: str, source: str) -> list[tuple[Any, ...]]:
        """The rows of a query; ServerError as of `execute`."""
        with _attributed(source, query):
            return rows_of(self._connection, query)

    def loaded(self) -> LoadedData | None:
        """What the marker holds; None: there is none, or it is still empty."""
        if not self._holds(MARKER):
            return None
        for row in rows_of(self._connection, f"SELECT * FROM {MARKER}"):
            return LoadedData.read([*row[1:5], *row[6:]])  # an older one has no options
        return None

    def _holds(self, table: str) -> bool:
        query = (
            "SELECT COUNT(*) FROM information_schema.tables "
            f"WHERE table_schema = DATABASE() AND table_name = '{table}'"
        )
        return self._number(query) > 0

    def _number(self, query: str) -> int:
        """The one number that a query of aggregates answers with."""
        return int(rows_of(self._connection, query)[0][0])


class MysqlLoader(MysqlChecker):
    """A connection that fills the database; implements Loader."""

    @property
    def session(self) -> int:
        """Its connection id."""
        wire: Any = self._connection  # its attributes have no types
        return int(wire.thread_id())

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is done within is committed together, or not at all; a CREATE or ALTER commits what
        was done before it."""
        import pymysql

        self._connection.autocommit(False)
        try:
            yield
            self._connection.commit()
        except BaseException:
            with suppress(pymysql.Error):  # a lost connection has nothing to take back
                self._connection.rollback()
                self._connection.autocommit(True)
            raise
        self._connection.autocommit(True)

    def has_table(self, table: str) -> bool:
        """Whether there is a table of this name."""
        return self._holds(table)

    def copy(self, table: str, columns: Sequence[str], chunks: Iterable[bytes]) -> int:
        """Append rows, written as LOAD DATA reads them: by LOAD DATA LOCAL, or by INSERT where the
        server's `local_infile` is off.

        A warning is an error: LOAD DATA LOCAL truncates what does not fit, and continues.
        """
        source = f'could not fill table "{table}"'
        variables = variables_of(self._connection, "local_infile", "max_allowed_packet")
        packet = int(variables["max_allowed_packet"]) - 1  # the server counts its own byte
        statement = load_statement(table, columns)
        if variables.get("local_infile") != "ON":
            statement = f"INSERT INTO {table}"
        with _attributed(source, statement):
            if variables.get("local_infile") == "ON":
                return load_lines(self._connection, statement, chunks, packet)
            return insert_lines(self._connection, table, columns, chunks, packet)

    def append(self, table: str, columns: Sequence[str], chunks: Iterable[bytes]) -> int:
        """As `copy` does."""
        return self.copy(table, columns, chunks)

    def count_and_sum(self, table: str) -> tuple[int, int]:
        """Rows of a table, and the sum of its integer columns as a signed 64-bit number wraps."""
        names = [name for (name,) in rows_of(self._connection, _INTEGERS.format(table))]
        sums = " + ".join(f"COALESCE(SUM(`{name}`), 0)" for name in names) or "0"  # exact decimals
        [(rows, total)] = rows_of(self._connection, f"SELECT COUNT(*), {sums} FROM `{table}`")
        return int(rows), (int(total) + 2**63) % 2**64 - 2**63

    def count(self, table: str) -> int:
        """Rows of a table."""
        return self._number(f"SELECT COUNT(*) FROM {table}")

    def analyze(self, table: str) -> None:
        """Statistics of a table whose rows were copied."""
        statement = f"ANALYZE LOCAL TABLE {table}"
        for _, _, kind, text in self.rows(statement, f'could not analyze table "{table}"'):
            if kind.lower() == "error":
                raise ServerError(f'could not analyze table "{table}": {text}')

    def freeze(self, table: str) -> None:
        """The same: rows that were inserted leave nothing behind, which a purge would remove."""
        self.analyze(table)

    def begin_mark(self) -> None:
        """Make the marker: empty until everything is loaded."""
        columns = (
            "id INT PRIMARY KEY, workload VARCHAR(255) NOT NULL, scale BIGINT NOT NULL, "
            "`rows` BIGINT NOT NULL, digest VARCHAR(255) NOT NULL, "
            "loaded TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, "
            "options TEXT"
        )
        self.execute([f"CREATE TABLE {MARKER} ({columns})"], "could not mark the database")

    def mark(self, loaded: LoadedData) -> None:
        """Write into the marker what was loaded. Before that, statistics of all tables: of one
        that a constraint has rebuilt the server makes them at any time later, by itself."""
        tables = "SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'"  # a view has none
        for table, _ in rows_of(self._connection, tables):
            self.analyze(table)
        with self._connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {MARKER} (id, workload, scale, `rows`, digest, options) "
                "VALUES (1, %s, %s, %s, %s, %s)",
                (loaded.workload, loaded.scale, loaded.rows, loaded.digest, loaded.options),
            )

    def size_bytes(self) -> int:
        """Size of the tables and their indexes, as the statistics have it."""
        return database_bytes(self._connection, "DATABASE()")

    def cancel(self) -> None:
        """Stop the statement under way; called from another thread."""
        with suppress(ServerError), connected(self._address) as other, other.cursor() as cursor:
            cursor.execute(f"KILL QUERY {self.session}")


def database_bytes(connection: Connection[Any], name: str) -> int:
    """Size of a database, which an expression names; 0: there is none."""
    query = (
        "SELECT COALESCE(SUM(data_length + index_length), 0) FROM information_schema.tables "
        f"WHERE table_schema = {name}"
    )
    return int(rows_of(connection, query)[0][0])


@contextmanager
def _attributed(source: str, statement: str) -> Iterator[None]:
    """An error about a statement becomes a ServerError that says which it was."""
    import pymysql

    excerpt = " ".join(statement.split())
    excerpt = excerpt if len(excerpt) <= _QUOTED else f"{excerpt[:_QUOTED]} ..."
    try:
        yield
    except pymysql.MySQLError as error:
        raise ServerError(f"{source}: {words_of(error)}", detail=f"In: {excerpt}") from error
    except RuntimeError as error:
        if "LOAD_LOCAL" not in str(error):  # PyMySQL's answer to a server that wants a file
            raise
        why = "a file of this machine is asked for, and no server gets one"
        raise ServerError(f"{source}: {why}", detail=f"In: {excerpt}") from error
    except ServerError as error:
        more = f"{error.detail} In: {excerpt}" if error.detail else f"In: {excerpt}"
        raise ServerError(f"{source}: {error.primary}", detail=more) from error


def load_statement(table: str, columns: Sequence[str]) -> str:
    """The statement that asks for the rows of a table. What it names is no file of any machine."""
    column_list = f" ({', '.join(columns)})" if columns else ""
    return f"LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} {_AS_WRITTEN}{column_list}"


def load_lines(
    connection: Connection[Any], statement: str, chunks: Iterable[bytes], packet: int
) -> int:
    """Execute a `load_statement` and send the chunks, in packets of `packet` bytes at most; rows
    that arrived. pymysql's errors; a ServerError says what the server has made otherwise.

    PyMySQL itself opens whichever file the server names: here the server gets these rows only.
    """
    from pymysql.constants import COMMAND
    from pymysql.protocol import OKPacketWrapper

    wire: Any = connection  # its packets have no types
    wire._execute_command(COMMAND.COM_QUERY, statement)
    if not wire._read_packet().is_load_local_packet():
        raise ServerError("the server asked for no rows")
    size = min(_PIECE, packet)
    try:
        for chunk in chunks:
            for start in range(0, len(chunk), size):
                wire.write_packet(chunk[start : start + size])
    except BaseException:
        if connection.open:  # without an end and its answer it could not be worked with
            _end(wire)
        raise
    answer: Any = OKPacketWrapper(_end(wire))
    _refuse_warnings(connection, answer.warning_count)
    return int(answer.affected_rows)


def _end(wire: Any) -> Any:
    """End the rows; the server's answer to them."""
    wire.write_packet(b"")
    return wire._read_packet()


def insert_lines(
    connection: Connection[Any],
    table: str,
    columns: Sequence[str],
    chunks: Iterable[bytes],
    packet: int,
) -> int:
    """Insert the rows of the chunks by statements of `packet` bytes at most, where one row is no
    longer; rows that arrived. Errors as of `load_lines`."""
    column_list = f" ({', '.join(columns)})" if columns else ""
    head = f"INSERT INTO {table}{column_list} VALUES ".encode()
    arrived = 0
    with connection.cursor() as cursor:
        for statement in inserts(head, chunks, min(_INSERT, packet)):
            arrived += cursor.execute(statement)
            _refuse_warnings(connection, int(getattr(cursor, "warning_count", 0) or 0))
    return arrived


def inserts(head: bytes, chunks: Iterable[bytes], most: int) -> Iterator[bytes]:
    """Statements with as many rows as fit."""
    for chunk in chunks:
        rows: list[bytes] = []
        size = len(head)
        for line in chunk.split(b"\n")[:-1]:
            row = _row(line)
            if rows and size + len(row) + 1 > most:
                yield head + b",".join(rows)
                rows, size = [], len(head)
            rows.append(row)
            size += len(row) + 1
        if rows:
            yield head + b",".join(rows)


def _row(line: bytes) -> bytes:
    """A line as a row of VALUES: its escapes mean the same between quotes."""
    fields = (
        b"NULL" if field == b"\\N" else b"'" + field.replace(b"'", b"''") + b"'"
        for field in line.split(b"\t")
    )
    return b"(" + b",".join(fields) + b")"


def _refuse_warnings(connection: Connection[Any], count: int) -> None:
    """ServerError where a statement had warnings: LOAD DATA LOCAL makes them of all errors."""
    if count:
        warnings = rows_of(connection, f"SHOW WARNINGS LIMIT {_QUOTED_WARNINGS}")
        raise ServerError(
            f"the server took the rows with {count} warnings",
            detail="; ".join(f"{code}: {text}" for _, code, text in warnings),
        )
