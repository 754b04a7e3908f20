"""Statistics of what was restored are gathered without a word to another server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engines.postgres.intake.restore_server import RestoreServer, restore_server
from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.intake.table_statistics import gather_statistics
from steelyard.engines.postgres.sql.database import connected

pytestmark = pytest.mark.postgres

ROWS = """CREATE TABLE public.ours (a int, b int);
INSERT INTO public.ours SELECT i, i % 7 FROM generate_series(1, 100) AS i;
CREATE TABLE public.theirs (a int, b int);
INSERT INTO public.theirs SELECT i, i % 7 FROM generate_series(1, 100) AS i;
CREATE EXTENSION dblink WITH SCHEMA public;
CREATE FUNCTION public.reaches(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS
    $$BEGIN PERFORM public.dblink_connect('{conninfo}'); RETURN $1; {handled}END$$;
"""
HANDLED = "EXCEPTION WHEN OTHERS THEN RETURN $1; "
STATISTICS = "CREATE STATISTICS public.s ON (public.reaches(a)), b FROM public.theirs;\n"
INDEX = "CREATE INDEX ON public.theirs (public.reaches(a));\n"
WRAPPER = """CREATE EXTENSION postgres_fdw WITH SCHEMA public;
CREATE SERVER prod FOREIGN DATA WRAPPER postgres_fdw
    OPTIONS (host '127.0.0.1', port '{port}', connect_timeout '2');
CREATE USER MAPPING FOR PUBLIC SERVER prod OPTIONS (user 'app', password 'S3cret');
CREATE FOREIGN TABLE public.part () INHERITS (public.theirs) SERVER prod;
"""


@pytest.fixture(scope="module")
def server() -> Iterator[RestoreServer]:
    with restore_server("15") as running:
        query = "SELECT count(*) FROM pg_available_extensions WHERE name ~ 'postgres_fdw|dblink'"
        if running.ask(query) != [(2,)]:
            pytest.skip("this build has no postgres_fdw and dblink")
        yield running


@pytest.mark.parametrize(
    ("text", "handled", "doubted"),
    [
        ("", "", ""),
        (STATISTICS, "", "an expression of it would be computed"),
        (STATISTICS, HANDLED, ""),
        (INDEX, HANDLED, ""),
        (WRAPPER, "", "a foreign table is a part of it"),
    ],
)
def test_statistics_are_gathered_without_another_server(
    server: RestoreServer, tmp_path: Path, text: str, handled: str, doubted: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as remote:
        remote.setblocking(False)
        port = str(remote.getsockname()[1])
        conninfo = f"host=127.0.0.1 port={port} user=app password=S3cret connect_timeout=2"
        dump = tmp_path / "dump.sql"
        whole = (ROWS + text).replace("{handled}", handled)
        dump.write_text(whole.replace("{port}", port).replace("{conninfo}", conninfo))
        server.restore(dump)
        with connected(replace(server.instance.address, database=DATABASE)) as session:
            doubts = [*gather_statistics(session)]
        with pytest.raises(BlockingIOError):
            remote.accept()
    assert len(doubts) == bool(doubted)
    assert all(f"of public.theirs: {doubted}" in doubt for doubt in doubts)
    known = server.rows(
        "SELECT DISTINCT tablename FROM pg_stats WHERE tablename IN ('ours', 'theirs')"
    )
    assert {name for (name,) in known} == ({"ours"} if doubted else {"ours", "theirs"})
    shut = "SELECT FROM pg_proc WHERE prosrc LIKE '%shut%'"
    assert server.rows(shut) == []
    handlers = server.rows("SELECT FROM pg_foreign_data_wrapper WHERE fdwhandler = 0")
    assert handlers == []
