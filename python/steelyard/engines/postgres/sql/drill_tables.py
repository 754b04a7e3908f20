"""Creates, updates and reads the tables of a drill, and computes the rows they should hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.engines.postgres.sql.drill_queries import run_statements
from steelyard.model.endpoint import Endpoint

Row = tuple[str, ...]
PLACES = ("heap", "index", "TOAST", "FSM", "VM")
_ROWS, _LONG_ROWS = 400, 12
_TABLE = """
CREATE TABLE drill_{n} (id int, tag int, filler text, long text) WITH (fillfactor = 100)
ALTER TABLE drill_{n} ALTER long SET STORAGE EXTERNAL
INSERT INTO drill_{n} SELECT i, i, repeat(md5((i + {n})::text), 4),
 CASE WHEN i <= {long} THEN repeat(md5((i * 7 + {n})::text), 150) END
 FROM generate_series(1, {rows}) i
CREATE INDEX drill_{n}_id ON drill_{n} (id)
VACUUM (ANALYZE) drill_{n}
"""
_PATHS = """
SELECT c.relname, pg_relation_filepath(c.oid), pg_relation_filepath(c.reltoastrelid)
FROM pg_class c WHERE c.relname LIKE 'drill_%'
"""


def create_table(address: Endpoint, number: int) -> None:
    """Create and fill one table, with an index, TOAST and maps."""
    text = _TABLE.format(n=number, rows=_ROWS, long=_LONG_ROWS).replace("\n ", " ")
    run_statements(address, text.strip().splitlines())


def update_tables(address: Endpoint, count: int) -> None:
    """Update every third row of the tables 0 to `count` - 1."""
    statements = [
        f"UPDATE drill_{n} SET tag = tag + 1, long = reverse(long) WHERE mod(id, 3) = 0"
        for n in range(count)
    ]
    run_statements(address, statements)


def update_behind_checkpoint(address: Endpoint, number: int) -> int:
    """Update every fifth row of a table right behind a checkpoint; the LSN behind the commit."""
    update = f"UPDATE drill_{number} SET tag = tag + 1000 WHERE id % 5 = 1"
    end = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
    ((lsn,),) = run_statements(address, ["CHECKPOINT", update, end])
    return int(lsn)


def file_paths(address: Endpoint) -> dict[tuple[int, str], str]:
    """Paths relative to the data directory, by number of the table and place."""
    found: dict[tuple[int, str], str] = {}
    for name, path, toast in run_statements(address, [_PATHS]):
        number = int(name.split("_")[1])
        if name.endswith("_id"):
            found[number, "index"] = path
            continue
        found |= {(number, "heap"): path, (number, "TOAST"): toast}
        found |= {(number, "FSM"): f"{path}_fsm", (number, "VM"): f"{path}_vm"}
    return found


def expected_rows(number: int) -> list[Row]:
    """The rows of a table after `update_tables`, as COPY writes them."""
    rows: list[Row] = []
    for i in range(1, _ROWS + 1):
        changed = i % 3 == 0
        filler = hashlib.md5(str(i + number).encode()).hexdigest() * 4
        long = hashlib.md5(str(i * 7 + number).encode()).hexdigest() * 150
        long = "\\N" if i > _LONG_ROWS else long[::-1] if changed else long
        rows.append((str(i), str(i + changed), filler, long))
    return rows


@dataclass(frozen=True)
class TableCopy:
    """The rows that a reader of a table got, and whether the server warned."""

    rows: list[Row] | None = None  # None: an error
    warned: bool = False


def copy_rows(address: Endpoint) -> TableCopy:
    """All rows of table 0, by a sequential scan."""
    import psycopg

    severities: list[str | None] = []
    try:
        with psycopg.connect(address.conninfo(), autocommit=True) as session:
            session.add_notice_handler(lambda n: severities.append(n.severity_nonlocalized))
            with session.cursor().copy("COPY drill_0 TO STDOUT") as copy:
                content = b"".join(bytes(part) for part in copy)
    except psycopg.Error:
        return TableCopy()
    lines = content.decode(errors="replace").split("\n")[:-1]
    return TableCopy(sorted_rows(lines), "WARNING" in severities)


def sorted_rows(lines: Iterable[str]) -> list[Row]:
    """The rows of COPY's text, sorted by their first column, then the others."""
    rows = [tuple(line.split("\t")) for line in lines]
    return sorted(rows, key=lambda row: (len(row[0]), row))


@dataclass(frozen=True)
class RowUpdate:
    """The result of an UPDATE of one row."""

    rows: int | None = None  # updated; None: an error
    warned: bool = False


def update_row(address: Endpoint, row_id: int) -> RowUpdate:
    """Update one row of table 0, found by the index: it changes the page that holds the row."""
    import psycopg

    severities: list[str | None] = []
    try:
        with psycopg.connect(address.conninfo(), autocommit=True) as session:
            session.add_notice_handler(lambda n: severities.append(n.severity_nonlocalized))
            session.execute("SET enable_seqscan = off")
            cursor = session.execute(
                "UPDATE drill_0 SET tag = tag + 1 WHERE id = %s", (row_id,), prepare=False
            )
    except psycopg.Error:
        return RowUpdate()
    return RowUpdate(cursor.rowcount, "WARNING" in severities)
