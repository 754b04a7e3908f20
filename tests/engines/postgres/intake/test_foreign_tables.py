"""Rows of foreign tables in a dump: nothing is written to the servers that these lead to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.postgres.intake.restore_server import RestoreServer, restore_server
from steelyard.model.errors import UsageError

pytestmark = pytest.mark.postgres

FILLED = "COPY {} (a) FROM stdin;\n1\n\\.\n"


@pytest.fixture(scope="module")
def server() -> Iterator[RestoreServer]:
    with restore_server() as running:
        yield running


FOREIGN = """CREATE FOREIGN DATA WRAPPER w;
CREATE SERVER theirs FOREIGN DATA WRAPPER w;
CREATE FOREIGN TABLE public."their s" (a int) SERVER theirs;
CREATE TABLE public.t (a int);
"""


@pytest.mark.parametrize(
    "rows",
    [FILLED.format('public."their s"'), 'INSERT INTO public."their s" VALUES (1);\n'],
)
def test_rows_of_foreign_tables_are_not_written_to_the_servers_that_these_lead_to(
    server: RestoreServer, tmp_path: Path, rows: str
) -> None:
    """As pg_dump --include-foreign-data has them; this wrapper has no handler, and refuses any."""
    dump = tmp_path / "dump.sql"
    dump.write_text(f"{FOREIGN}{rows}{FILLED.format('public.t')}")
    restored = server.restore(dump)
    assert server.rows("SELECT a FROM public.t") == [(1,)]
    assert [note.what for note in restored.neutralised] == [
        'rows of foreign table public."their s"'
    ]


PARTITIONED = """CREATE TABLE public.root (a int) PARTITION BY LIST (a);
CREATE TABLE public.mid PARTITION OF public.root FOR VALUES IN (1, 2) PARTITION BY LIST (a);
CREATE TABLE public.ours (a int);
"""
ATTACHED = """ALTER TABLE ONLY public.mid ATTACH PARTITION public."their s" FOR VALUES IN (1);
ALTER TABLE ONLY public.mid ATTACH PARTITION public.ours FOR VALUES IN (2);
"""


@pytest.mark.parametrize("table", ["root", "mid"])
@pytest.mark.parametrize("rows", [FILLED, "INSERT INTO {} VALUES (2);\n"])
def test_rows_that_may_go_to_a_foreign_partition_are_refused(
    server: RestoreServer, tmp_path: Path, rows: str, table: str
) -> None:
    """As pg_dump --load-via-partition-root has them."""
    dump = tmp_path / "dump.sql"
    dump.write_text(f"{FOREIGN}{PARTITIONED}{ATTACHED}{rows.format(f'public.{table}')}")
    with pytest.raises(UsageError) as error:
        server.restore(dump)
    assert 'public."their s"' in error.value.primary
    assert "--load-via-partition-root" in str(error.value.hint)


def test_rows_of_a_partition_beside_a_foreign_one_are_restored(
    server: RestoreServer, tmp_path: Path
) -> None:
    dump = tmp_path / "dump.sql"
    rows = "INSERT INTO public.ours VALUES (2);\n"
    dump.write_text(f"{FOREIGN}{PARTITIONED}{rows}{ATTACHED}{rows}")
    server.restore(dump)
    assert server.rows("SELECT a FROM public.mid WHERE a = 2") == [(2,), (2,)]
