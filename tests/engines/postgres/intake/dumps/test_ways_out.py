"""No statement of a dump reaches another server while it is restored, and afterwards all can."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.postgres.intake.restore_server import RestoreServer, restore_server
from steelyard.model.errors import ServerError

pytestmark = pytest.mark.postgres

WRAPPER = """CREATE EXTENSION postgres_fdw WITH SCHEMA public;
CREATE SERVER prod FOREIGN DATA WRAPPER postgres_fdw
    OPTIONS (host '127.0.0.1', port '{port}', dbname 'shop', connect_timeout '2');
CREATE USER MAPPING FOR {user} SERVER prod OPTIONS (user 'app', password 'S3cret');
CREATE FOREIGN TABLE public.orders (id integer) SERVER prod;
"""
FOREIGN = WRAPPER.replace("{user}", "CURRENT_USER")
DBLINK = """CREATE EXTENSION dblink WITH SCHEMA public;
CREATE VIEW public.orders AS SELECT id FROM public.dblink('{conninfo}', 'SELECT 1') AS t(id int);
"""
FILES = """CREATE EXTENSION file_fdw WITH SCHEMA public;
CREATE SERVER prod FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE public.orders (id integer) SERVER prod OPTIONS (program 'echo {port}');
"""
VIEWS = """CREATE MATERIALIZED VIEW public.sums AS SELECT count(*) FROM public.orders WITH NO DATA;
CREATE MATERIALIZED VIEW public.above AS SELECT * FROM public.sums WITH NO DATA;
CREATE UNIQUE INDEX i ON public.sums (count);
REFRESH MATERIALIZED VIEW public.sums;
REFRESH MATERIALIZED VIEW public.above;
"""
OURS = """CREATE TABLE public.ours (a int);
COPY public.ours (a) FROM stdin;
1
\\.
CREATE MATERIALIZED VIEW public.mine AS SELECT a FROM public.ours WITH NO DATA;
REFRESH MATERIALIZED VIEW public.mine;
"""


@pytest.fixture(scope="module")
def server() -> Iterator[RestoreServer]:
    with restore_server("15") as running:
        query = "SELECT count(*) FROM pg_available_extensions WHERE name ~ '_fdw|dblink'"
        if running.ask(query) != [(3,)]:
            pytest.skip("this build has no postgres_fdw, file_fdw and dblink")
        yield running


@pytest.fixture
def remote() -> Iterator[socket.socket]:
    """Where the foreign server would be, which no connection may reach."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


def written(text: str, remote: socket.socket, tmp_path: Path) -> Path:
    port = str(remote.getsockname()[1])
    conninfo = f"host=127.0.0.1 port={port} user=app password=S3cret connect_timeout=2"
    dump = tmp_path / "dump.sql"
    dump.write_text(text.replace("{port}", port).replace("{conninfo}", conninfo))
    return dump


def came(remote: socket.socket) -> bool:
    try:
        remote.accept()[0].close()
    except BlockingIOError:
        return False
    return True


@pytest.mark.parametrize("transaction", [False, True])
@pytest.mark.parametrize(
    "source", [FOREIGN, WRAPPER.replace("{user}", "PUBLIC"), DBLINK, FILES], ids=range(4)
)
def test_materialized_views_over_other_servers_stay_empty(
    server: RestoreServer, remote: socket.socket, tmp_path: Path, source: str, *, transaction: bool
) -> None:
    text = f"BEGIN;\n{source}{VIEWS}{OURS}COMMIT;\n" if transaction else source + VIEWS + OURS
    restored = server.restore(written(text, remote, tmp_path))
    assert not came(remote)
    assert [note.what for note in restored.neutralised] == [
        "rows of materialized view public.sums",
        "rows of materialized view public.above",
    ]
    populated = "SELECT relname, relispopulated FROM pg_class WHERE relkind = 'm' ORDER BY 1"
    assert server.rows(populated) == [("above", False), ("mine", True), ("sums", False)]
    assert server.rows("SELECT a FROM public.mine") == [(1,)]


@pytest.mark.parametrize(
    "rows",
    [
        'INSERT INTO "public"."orders" VALUES (1);\n',
        "insert into Public.ORDERS values (1), (2);\n",
        "SET search_path = public;\nINSERT INTO orders VALUES (1);\n",
        'SET search_path = public;\nCOPY "orders" FROM stdin;\n1\n\\.\n',
        'COPY "public".orders (id) FROM stdin;\n1\n\\.\n',
        "CREATE TABLE public.o (id int);\nINSERT INTO public.o VALUES (1);\nDROP TABLE public.o;\n"
        "ALTER FOREIGN TABLE public.orders RENAME TO o;\nINSERT INTO public.o VALUES (1);\n"
        "ALTER FOREIGN TABLE public.o RENAME TO orders;\n",
    ],
)
def test_rows_of_foreign_tables_are_left_out_whatever_a_dump_calls_them(
    server: RestoreServer, remote: socket.socket, tmp_path: Path, rows: str
) -> None:
    name = "o" if "RENAME" in rows else "orders"
    restored = server.restore(written(FOREIGN + rows + OURS, remote, tmp_path))
    assert not came(remote)
    assert [note.what for note in restored.neutralised] == [f"rows of foreign table public.{name}"]
    assert server.rows("SELECT a FROM public.ours") == [(1,)]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE VIEW public.v AS SELECT id FROM public.orders;\nINSERT INTO public.v VALUES (1);",
        "CREATE TABLE public.t (a int);\nCREATE RULE r AS ON INSERT TO public.t DO ALSO INSERT INTO"
        " public.orders VALUES (NEW.a);\nINSERT INTO public.t VALUES (1);",
        "CREATE TABLE public.t AS SELECT * FROM public.orders;",
        "INSERT INTO /* there */ public.orders VALUES (1);",
        'INSERT INTO public . "orders" VALUES (1);',
        "WITH w AS (SELECT 1) INSERT INTO public.orders SELECT * FROM w;",
        "DELETE FROM public.orders;",
        "TRUNCATE public.orders;",
        "IMPORT FOREIGN SCHEMA public FROM SERVER prod INTO public;",
        "DO $$BEGIN PERFORM * FROM public.orders; END$$;",
        "CREATE EXTENSION dblink;\nSELECT dblink_connect('c', '{conninfo}');",
        "CREATE EXTENSION dblink;\nSELECT dblink_exec('{conninfo}', 'DELETE FROM t');",
        "CREATE FUNCTION f(text) RETURNS text LANGUAGE c AS '$libdir/dblink', 'dblink_connect';\n"
        "SELECT f('{conninfo}');",
        "DO $$BEGIN CREATE EXTENSION dblink; END$$;\nSELECT dblink_connect('c', '{conninfo}');",
    ],
)
def test_what_needs_another_server_is_refused_and_not_sent_there(
    server: RestoreServer, remote: socket.socket, tmp_path: Path, text: str
) -> None:
    with pytest.raises(ServerError) as refused:
        server.restore(written(f"{FOREIGN}{text}\n", remote, tmp_path))
    assert not came(remote)
    assert "no restore reaches another server" in refused.value.primary
    assert "Line " in str(refused.value.detail)
    assert "Leave this statement out" in str(refused.value.hint)
    assert "S3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("source", "query"),
    [
        (FOREIGN, "SELECT * FROM public.orders"),
        (DBLINK, "SELECT * FROM public.orders"),
        ("CREATE EXTENSION dblink;", "SELECT dblink_connect('c', '{conninfo}')"),
    ],
)
def test_what_was_restored_reaches_other_servers_as_the_original_does(
    server: RestoreServer, remote: socket.socket, tmp_path: Path, source: str, query: str
) -> None:
    server.restore(written(source, remote, tmp_path))
    assert not came(remote)
    port = remote.getsockname()[1]
    remote.close()
    conninfo = f"host=127.0.0.1 port={port} connect_timeout=2"
    with pytest.raises(Exception, match=r"(?s)could not (connect|establish).*refused"):
        server.rows(query.replace("{conninfo}", conninfo))


def test_a_wrapper_without_a_handler_stays_without(
    server: RestoreServer, remote: socket.socket, tmp_path: Path
) -> None:
    server.restore(written(f"CREATE FOREIGN DATA WRAPPER w;\n{FOREIGN}", remote, tmp_path))
    query = "SELECT fdwname, fdwhandler::regproc::text FROM pg_foreign_data_wrapper ORDER BY 1"
    assert server.rows(query) == [("postgres_fdw", "postgres_fdw_handler"), ("w", "-")]


def test_a_view_that_another_reason_leaves_empty_is_refused(
    server: RestoreServer, remote: socket.socket, tmp_path: Path
) -> None:
    text = VIEWS.replace("REFRESH MATERIALIZED VIEW public.sums;\n", "")
    with pytest.raises(ServerError, match="has not been populated"):
        server.restore(written(FOREIGN + text, remote, tmp_path))
