"""Writes rows as INSERTs of T-SQL. They come as lines, as `crates/datagen/src/text.rs` makes them,
no row in two chunks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from steelyard.engines.sqlserver.session import literal

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
        field = _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), field)
    return literal(field)
