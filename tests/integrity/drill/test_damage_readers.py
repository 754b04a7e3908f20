"""A dump is compared with the true rows."""

from __future__ import annotations

from steelyard.engines.postgres.sql.drill_tables import expected_rows
from steelyard.integrity.drill.consequences import dumped_rows


def test_a_dump_is_compared_row_by_row() -> None:
    rows = expected_rows(0)
    lines = ["--", "COPY public.drill_0 (id, tag, filler, long) FROM stdin;"]
    lines += ["\t".join(row) for row in reversed(rows)]
    assert dumped_rows("\n".join([*lines, "\\.", "-- done"])) == rows
    lines[-1] = lines[-1].replace("c", "b", 1)
    assert dumped_rows("\n".join([*lines, "\\."])) != rows
