"""Turns lines that name what they hold into columns: "Execution Time: 81.2 ms", "real 1m23.4s".

The lines of several quantities come in turn, once for every execution. Read as one column they
would be a mixture of what was measured and what was not.
"""

from __future__ import annotations

from steelyard.foreign.source import TextPosition
from steelyard.foreign.tables.table import Table
from steelyard.foreign.vocabulary.heading import Role, heading_of
from steelyard.foreign.vocabulary.units import unit_of

_TIMES = {"real": "real time", "user": "user CPU", "sys": "system CPU"}
"""Words of the shell's `time` and of time(1), as headings say them."""


def spread_names(table: Table) -> Table:
    """A column a quantity, where the words of each line name a known quantity or one that comes in
    turn with it; else the table as it is."""
    if table.header is not None:
        return table
    numbers = [c for c in range(len(table.columns)) if not table.is_text(c)]
    text_columns = [table.columns[c] for c in range(len(table.columns)) if c not in numbers]
    if (
        len(numbers) != 1
        or not text_columns
        or any(all(map(unit_of, cells)) for cells in text_columns)
    ):
        return table
    names = [" ".join(cells).strip(" :=") for cells in zip(*text_columns, strict=True)]
    width = len(set(names))
    if width < 2 or names != names[:width] * (table.rows // width):
        return table
    header = tuple(_TIMES.get(name, name) for name in names[:width])
    if not any(heading_of(name).role in (Role.METRIC, Role.STATISTIC) for name in header):
        return table
    (number,) = numbers
    cells = table.columns[number]

    def spot(row: int, column: int) -> TextPosition:
        return table.spot(row * width + column, number)

    columns = tuple(cells[column::width] for column in range(width))
    return Table(table.source, header, columns, spot, table.lines[::width])
