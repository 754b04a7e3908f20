"""Gathers the statistics of a database that was taken in, without a word to another server.

ANALYZE reads foreign tables below a table, and computes expressions of indexes and of CREATE
STATISTICS, which may call what connects elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from steelyard.engines.postgres.intake.configuration import printable
from steelyard.engines.postgres.intake.dumps.ways_out import names_shut_way, shut_ways

if TYPE_CHECKING:
    import psycopg

_TABLES = (
    "WITH RECURSIVE above(oid) AS (SELECT inhparent FROM pg_catalog.pg_inherits"
    " JOIN pg_catalog.pg_class AS c ON c.oid = inhrelid WHERE relkind = 'f'"
    " UNION SELECT inhparent FROM pg_catalog.pg_inherits JOIN above ON inhrelid = above.oid)"
    " SELECT pg_catalog.format('%I.%I', nspname, relname), c.oid IN (SELECT oid FROM above)"
    " FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = relnamespace"
    " WHERE relkind IN ('r', 'm', 'p') AND relpersistence <> 't' ORDER BY 1"
)
"""What ANALYZE reads, and whether a foreign table is a part of it: it would read that, too."""
_ANALYZED_AT_ONCE = 500
_MOST_NAMED = 5


def gather_statistics(session: psycopg.Connection) -> Iterator[str]:
    """VACUUM, and ANALYZE but of tables that other servers would be asked for; a doubt that names
    these. Each statement is a transaction of its own."""
    tables = session.execute(_TABLES.encode()).fetchall()
    above = [str(name) for name, is_above in tables if is_above]
    with shut_ways(session):
        if not above and _succeeds(session, "VACUUM (ANALYZE)"):
            return
        session.execute(b"VACUUM")
        reaching = [*_analyze([str(name) for name, is_above in tables if not is_above], session)]
    if above:
        yield _doubt(above, "a foreign table is a part of it, and would be read")
    if reaching:
        yield _doubt(reaching, "an expression of it would be computed")


def _analyze(names: Sequence[str], session: psycopg.Connection) -> Iterator[str]:
    """The tables of which statistics cannot be gathered without another server."""
    for first in range(0, len(names), _ANALYZED_AT_ONCE):
        batch = names[first : first + _ANALYZED_AT_ONCE]
        if not _succeeds(session, f"ANALYZE {', '.join(batch)}"):
            yield from (name for name in batch if not _succeeds(session, f"ANALYZE {name}"))


def _succeeds(session: psycopg.Connection, statement: str) -> bool:
    """False: a way to another server would be taken, and is shut."""
    import psycopg

    try:
        session.execute(statement.encode())
    except psycopg.Error as error:
        if not names_shut_way(error.diag.message_primary or ""):
            raise
        return False
    return True


def _doubt(names: Sequence[str], why: str) -> str:
    more = ", …" if len(names) > _MOST_NAMED else ""
    return (
        f"no statistics were gathered of {printable(', '.join(names[:_MOST_NAMED]))}{more}: {why} "
        "on the server that it leads to; plans of statements on it may be others than there"
    )
