"""Keeps which tables a dump makes and which it fills, by the names that its statements have.

pg_dump writes a table's name alike in all of them, and a COPY for each table, of no rows too, but
for those whose rows it was to leave out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.engines.postgres.intake.configuration import printable
from steelyard.engines.postgres.intake.dumps.lexer import SqlStatement

_IDENTIFIER = rb'((?>(?:"[^"]*+"|[^\s"(;])+))'
_NAME = re.compile(
    rb"(?is)(?:CREATE\s+(?:UNLOGGED\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?"
    rb"|COPY\s+|INSERT\s+INTO\s+)" + _IDENTIFIER
)
_LONGEST_NAME_BYTES = 300
"""Of a schema and a table, quoted."""
_MAKES = (("CREATE", "TABLE"), ("CREATE", "UNLOGGED", "TABLE"))
_INDEXES = (("CREATE", "INDEX"), ("CREATE", "UNIQUE", "INDEX"))
_MOST_NAMED = 5


class DumpedTables:
    """The tables of one dump, as far as it was read."""

    def __init__(self) -> None:
        self._made: dict[bytes, None] = {}
        self._partitioned: set[bytes] = set()
        self._copied: set[bytes] = set()
        self._inserts = self._indexed = self._filtered = False

    def add(self, statement: SqlStatement) -> None:
        """Another statement that is executed."""
        if statement.begins("INSERT"):  # of which there may be one a row
            self._inserts = True
            return
        pairs = list(zip(statement.words, statement.words[1:], strict=False))
        if any(statement.begins(*words) for words in _MAKES):
            name = _name(statement)
            self._made[name] = None
            if ("PARTITION", "BY") in pairs:
                self._partitioned.add(name)
        elif statement.reads_rows:
            self._copied.add(_name(statement))
        self._filtered |= statement.begins("SET", "ROW_SECURITY", "ON")
        adds_key = statement.begins("ALTER", "TABLE") and ("ADD", "CONSTRAINT") in pairs
        self._indexed |= adds_key or any(statement.begins(*words) for words in _INDEXES)

    def doubts(self) -> Iterator[str]:
        """What a database has, and a dump of a part of it lacks."""
        if not self._made:
            return
        if not self._copied and not self._inserts:
            yield "no rows are in the dump, as of pg_dump --schema-only: its tables are empty"
            return
        empty = list(self._left_empty())
        if empty:
            names = ", ".join(map(_text, empty[:_MOST_NAMED]))
            more = ", …" if len(empty) > _MOST_NAMED else ""
            yield (
                f"no rows of {len(empty)} of its {len(self._made)} tables are in the dump, as of "
                "pg_dump --exclude-table-data, or of unlogged tables of a standby: "
                f"{names}{more}"
            )
        if self._filtered:
            yield (
                "only rows that its role could see are in the dump, where tables have row security "
                "(pg_dump --enable-row-security)"
            )
        if len(self._copied) > 1 and not self._indexed:
            yield (
                "no index and no key is in the dump, as of pg_dump --section=pre-data "
                "--section=data: its tables have none"
            )

    def _left_empty(self) -> Iterator[bytes]:
        """The tables without a COPY of their own. Of INSERT, and of partitions whose rows go in by
        their root (--load-via-partition-root), that cannot be seen."""
        if self._inserts or self._partitioned & self._copied:
            return
        filled = self._copied | self._partitioned
        yield from (name for name in self._made if name not in filled)


def _name(statement: SqlStatement) -> bytes:
    match = _NAME.match(statement.text)
    return match[1][:_LONGEST_NAME_BYTES] if match else b""


def _text(name: bytes) -> str:
    return printable(name.decode(errors="replace"))
