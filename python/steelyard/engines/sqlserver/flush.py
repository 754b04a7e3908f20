"""Rewrites the tables of a database of ours, and writes out its pages."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

from steelyard.engines.sqlserver.owned import OwnedDatabase
from steelyard.engines.sqlserver.session import RefusedError, Session, bracketed

CHECKPOINT = "CHECKPOINT;"
_TABLES = """
SELECT s.name, t.name, CONVERT(nvarchar(11), i.index_id)
  FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id
  JOIN sys.indexes i ON i.object_id = t.object_id AND i.index_id IN (0, 1)
 WHERE t.is_ms_shipped = 0 ORDER BY s.name, t.name;
"""
"""With 0 for a heap, whose indexes are rebuilt with it; 1 for a table in its clustered index."""
_HEAP = "0"


def rebuild(session: Session) -> None:
    """Rewrite every table and index of the session's database, and write all of it out: a page
    keeps the protection it has until it is written anew. ServerError."""
    statements = []
    for schema, table, kind in session.rows(_TABLES):
        name = f"{bracketed(str(schema))}.{bracketed(str(table))}"
        what = f"TABLE {name}" if kind == _HEAP else f"INDEX ALL ON {name}"
        statements.append(f"ALTER {what} REBUILD;")
    for statement in (*statements, CHECKPOINT):
        session.execute(statement)


class Checkpoints:
    """A connection that requests checkpoints of a database of ours; a CheckpointSession."""

    def __init__(self, database: OwnedDatabase, answers: Callable[[], bool]) -> None:
        """`answers`: whether the server does, now. EngineError: the database is no longer ours."""
        self._stack = ExitStack()
        self._session = self._stack.enter_context(database.opened())
        self._answers = answers

    def checkpoint(self) -> int:
        """CHECKPOINT; nanoseconds it took, 0 when the server died, which the load reports too.
        RefusedError: it was refused, or the connection alone was lost."""
        began = time.monotonic_ns()
        try:
            self._session.execute(CHECKPOINT)
        except RefusedError as error:
            if error.number is not None or self._answers():
                raise
            return 0
        return time.monotonic_ns() - began

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        self._stack.close()
