"""Keeps which tables a dump makes and which it fills, by the names that its statements have.

pg_dump writes a table's name alike in all of them, and a COPY for each table, of no rows too, but
for those whose rows it was to leave out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.engines.postgres.intake.configuration import printable
from steelyard.engines.postgres.intake.dumps.lexer import SqlStatement

_IDENTIFIER = rb'((?:"[^"]*+"|[^\s"(;])++)'
_NAME = re.compile(
    rb"(?is)(?:CREATE\s+(?:UNLOGGED\s+|FOREIGN\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?"
    rb"|COPY\s+|INSERT\s+INTO\s+)" + _IDENTIFIER
)
_ATTACHED = re.compile(
    rb"(?is)ALTER\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?"
    + _IDENTIFIER
    + rb"\s+ATTACH\s+PARTITION\s+"
    + _IDENTIFIER
)
_PARTITION_OF = re.compile(rb"(?is)\s+PARTITION\s+OF\s+" + _IDENTIFIER)
_LONGEST_NAME_BYTES = 300
"""Of a schema and a table, quoted."""
_MAKES = (("CREATE", "TABLE"), ("CREATE", "UNLOGGED", "TABLE"))
_FOREIGN = ("CREATE", "FOREIGN", "TABLE")
_INDEXES = (("CREATE", "INDEX"), ("CREATE", "UNIQUE", "INDEX"))
_MOST_NAMED = 5


class DumpedTables:
    """The tables of one dump, as far as it was read."""

    def __init__(self) -> None:
        self._made: dict[bytes, None] = {}
        self._partitioned: set[bytes] = set()
        self._foreign: set[bytes] = set()
        self._parents: dict[bytes, bytes] = {}
        self._above_foreign: dict[bytes, bytes] | None = None
        self._copied: set[bytes] = set()
        self._inserts = self._indexed = self._filtered = False

    def add(self, statement: SqlStatement) -> None:
        """Another statement that is executed."""
        if statement.begins("INSERT"):  # of which there may be one a row
            self._inserts = True
            return
        pairs = list(zip(statement.words, statement.words[1:], strict=False))
        self._add_partition(statement)
        if any(statement.begins(*words) for words in _MAKES):
            name = _name(statement)
            self._made[name] = None
            if ("PARTITION", "BY") in pairs:
                self._partitioned.add(name)
        elif statement.begins(*_FOREIGN):
            self._foreign.add(_name(statement))
            self._above_foreign = None
        elif statement.reads_rows:
            self._copied.add(_name(statement))
        self._filtered |= statement.begins("SET", "ROW_SECURITY", "ON")
        adds_key = statement.begins("ALTER", "TABLE") and ("ADD", "CONSTRAINT") in pairs
        self._indexed |= adds_key or any(statement.begins(*words) for words in _INDEXES)

    def foreign_filled(self, statement: SqlStatement) -> str:
        """The foreign table that a statement would write rows to, on the server that it leads to;
        "": none."""
        writes = statement.reads_rows or statement.begins("INSERT")
        name = _name(statement) if writes and self._foreign else b""
        return _text(name) if name in self._foreign else ""

    def foreign_partition(self, statement: SqlStatement) -> str:
        """The foreign table that rows of a statement may go to as to a partition of the table that
        it names (pg_dump --load-via-partition-root); "": none."""
        writes = statement.reads_rows or statement.begins("INSERT")
        if not writes or not self._foreign:
            return ""
        if self._above_foreign is None:
            self._above_foreign = self._with_foreign_partitions()
        return _text(self._above_foreign.get(_name(statement), b""))

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

    def _add_partition(self, statement: SqlStatement) -> None:
        """Which table is a partition of which; a dump attaches them in any order."""
        text = statement.text
        if statement.begins("ALTER", "TABLE") and (attached := _ATTACHED.match(text)):
            parent, child = attached.groups()
        elif (name := _NAME.match(text)) and (of := _PARTITION_OF.match(text, name.end())):
            parent, child = of[1], name[1]
        else:
            return
        self._parents[child[:_LONGEST_NAME_BYTES]] = parent[:_LONGEST_NAME_BYTES]
        self._above_foreign = None

    def _with_foreign_partitions(self) -> dict[bytes, bytes]:
        """A foreign table of each table that has one beneath."""
        above: dict[bytes, bytes] = {}
        for table in self._foreign:
            parent = self._parents.get(table)
            while parent is not None and parent not in above:
                above[parent] = table
                parent = self._parents.get(parent)
        return above

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
