"""Rows of foreign tables in a dump: nothing is written to the servers that these lead to."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engines.postgres.intake.restore_server import RestoreServer, restore_server
from engines.postgres.intake.test_taking import rows as rows_of
from engines.postgres.intake.test_taking import take
from steelyard.engines.engine import Slot
from steelyard.model.errors import UsageError
from thinned import thinned

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


@thinned(
    "rows",
    [FILLED.format('public."their s"'), 'INSERT INTO public."their s" VALUES (1);\n'],
    1,
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


@pytest.mark.long
def test_statistics_are_not_gathered_where_they_would_be_read_from_other_servers(
    made_of: Callable[..., object], slot: Slot, tmp_path: Path
) -> None:
    """ANALYZE of a partitioned table samples its foreign partitions; this wrapper refuses that."""
    engine = made_of("18").engine  # type: ignore[attr-defined]
    dump = tmp_path / "dump.sql"
    filled = "INSERT INTO public.ours VALUES (2);\n"
    dump.write_text(f"{FOREIGN}{PARTITIONED}{ATTACHED}{filled}{FILLED.format('public.t')}")
    imported, copy = take(engine, dump, slot, None)
    [doubt] = [doubt for doubt in imported.doubts if "no statistics" in doubt]
    assert "gathered of public.mid, public.root: a foreign table is a part of it" in doubt
    copy.start(slot, {})
    try:
        analysed = "SELECT DISTINCT tablename FROM pg_stats WHERE schemaname = 'public' ORDER BY 1"
        assert rows_of(copy, analysed) == [("ours",), ("t",)]
    finally:
        copy.stop()


@pytest.mark.long
def test_a_subscription_of_a_block_is_dropped_before_it_fetches(
    made_of: Callable[..., object], slot: Slot, tmp_path: Path
) -> None:
    engine = made_of("18").engine  # type: ignore[attr-defined]
    with socket.create_server(("127.0.0.1", 0)) as publisher:
        publisher.setblocking(False)
        port = publisher.getsockname()[1]
        dump = tmp_path / "dump.sql"
        dump.write_text(
            f"DO $$BEGIN CREATE SUBSCRIPTION s CONNECTION 'host=127.0.0.1 port={port}' "
            "PUBLICATION p WITH (connect = false); ALTER SUBSCRIPTION s ENABLE; END$$;\n"
            "SELECT pg_sleep(1);\n"
        )
        imported, copy = take(engine, dump, slot, None)
        copy.start(slot, {})
        try:
            assert rows_of(copy, "SELECT count(*) FROM pg_subscription") == [(0,)]
        finally:
            copy.stop()
        with pytest.raises(BlockingIOError):
            publisher.accept()
    assert "CREATE SUBSCRIPTION s" in {left.what for left in imported.neutralised}
