"""A dump is refused by its text, before a server is made, where it is more than one database."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from steelyard.engines.postgres.intake.place import inspect_source
from steelyard.model.errors import UsageError

ENTERED = (
    "SET x = 1;\nSELECT 1;\nCREATE DATABASE {0};\nALTER DATABASE {0} SET a = 1;\n\\connect {0}\n"
)
MADE = "CREATE TABLE t (a text);\nCOPY t FROM stdin;\n\\\\c b\n\\.\n"
FIRST, SECOND = ENTERED.format("a") + MADE, ENTERED.format('"b c"')
PADDING = " " * ((1 << 20) - 1 - len(FIRST) - SECOND.index("\n\\connect"))
"""Behind it the line begins where a read ends."""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (FIRST + SECOND, 14),  # cat of pg_dump -C
        (FIRST + PADDING + SECOND, 14),
        (MADE + ENTERED.format("b"), 9),
        ("CREATE ROLE a;\n\\connect template1\n" + ENTERED.format("b"), 2),  # without comments
        ("CREATE ROLE a;\r\n\\c template1\r\nSELECT 1;\r\n", 2),
        (ENTERED.format("a") + "\\connect a\n" + MADE, None),  # its properties were set between
        (FIRST + "INSERT INTO t VALUES ('\n\\connect b\n');\n", None),
        (MADE + "CREATE FUNCTION f() RETURNS text AS $$\n\\c b\n$$ LANGUAGE sql;\n", None),
        (MADE + "-- and so on\n\\connect", None),  # it is refused where it is restored
        (MADE, None),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_dump_that_goes_on_in_another_database_is_refused_before_it_is_restored(
    tmp_path: Path, text: str, line: int | None, packed: bool
) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    if line is None:
        assert inspect_source(dump).kind == "dump"
        return
    with pytest.raises(UsageError, match=f"line {line} goes on in another database") as refused:
        inspect_source(dump)
    assert refused.value.hint == (
        "Dump the one that is to be weighed: pg_dump -Fc -f FILE DATABASE"
    )
