"""Servers that others wrote, started for a test on loopback and stopped at its end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pymysql

from driver.mysql_servers import started
from driver.pooling import pooling
from interop.places import free_port, installed, program
from own_cache import open_directory, own_server
from steelyard.engines.account import choose_account
from steelyard.engines.mysql.uri import read_uri
from steelyard.model.endpoint import Endpoint

_READY_S = 120.0
Modes = tuple[str, ...]
EVERY_MODE: Modes = ("simple", "extended", "prepared")


@dataclass(frozen=True)
class Foreign:
    """A running server, and how its own clients reach it."""

    name: str
    target: str
    """As `drive` takes it."""
    modes: Modes = EVERY_MODE
    most_clients: int = 4
    environment: Mapping[str, str] = field(default_factory=dict)
    refusals: frozenset[str] = frozenset()
    """SQLSTATEs of its own doing, with which some transactions fail on any client."""

    @property
    def is_mysql(self) -> bool:
        return self.target.startswith("mysql://")

    def ask(self, query: str) -> str:
        """What psql or PyMySQL says of a query; its last line."""
        if self.is_mysql:
            return self._ask_by_mysql(query)
        words = [program("psql"), "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", query]
        done = subprocess.run(
            [*words, self.target],
            capture_output=True, text=True, check=False, env={**os.environ, **self.environment},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return (done.stdout.strip().splitlines() or [""])[-1]

    def _ask_by_mysql(self, query: str) -> str:
        place = read_uri(self.target)
        way = {"unix_socket": place.host} if place.host.startswith("/") else {"host": place.host}
        try:
            connection = pymysql.connect(
                **way,
                port=place.port,
                user=place.user,
                database=place.database or None,
                autocommit=True,
            )
        except pymysql.err.OperationalError as refused:
            raise AssertionError(str(refused)) from refused
        with connection, connection.cursor() as cursor:
            cursor.execute(query)
            return "".join(str(value) for row in cursor.fetchall()[-1:] for value in row[:1])


@contextmanager
def process(
    words: Sequence[str], home: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A program in a process group of its own, under the account of servers, ended at the end."""
    account = choose_account()
    account.own(home)
    who = {"user": account.uid, "group": account.gid, "extra_groups": []}
    with (home / "said").open("wb") as said:
        started_process = subprocess.Popen(
            words,
            stdout=said,
            stderr=said,
            cwd=home,
            env={**os.environ, "HOME": str(home), **(environment or {})},
            start_new_session=True,
            **(who if account.switched else {}),  # type: ignore[arg-type]
        )
    try:
        yield started_process
    finally:
        started_process.send_signal(signal.SIGTERM)
        try:
            started_process.wait(20)
        except subprocess.TimeoutExpired:
            started_process.kill()
            started_process.wait()


def ready(server: Foreign, running: subprocess.Popen[bytes], home: Path) -> Foreign:
    """The server once it answers."""
    deadline = time.monotonic() + _READY_S
    while not _answers(server):
        text = (home / "said").read_text(errors="replace")[-2000:]
        assert running.poll() is None, text
        assert time.monotonic() < deadline, text
        time.sleep(0.3)
    return server


def _answers(server: Foreign) -> bool:
    try:
        server.ask("SELECT 1")
    except AssertionError:
        return False
    return True


@contextmanager
def postgres() -> Iterator[Endpoint]:
    """A PostgreSQL for what stands in front of one."""
    with own_server("18", {"listen_addresses": ""}) as instance:
        yield instance.address


@contextmanager
def pgbouncer(*, statements: int = 20) -> Iterator[Foreign]:
    with postgres() as behind, pooling(behind, statements=statements) as pooler:
        modes = EVERY_MODE if pooler.version >= (1, 21) else EVERY_MODE[:2]
        yield Foreign("PgBouncer", pooler.conninfo, modes)


PGPOOL = """\
backend_clustering_mode = 'raw'
listen_addresses = '127.0.0.1'
port = {port}
socket_dir = '{home}'
pcp_socket_dir = '{home}'
pcp_port = {pcp}
pid_file_name = '{home}/pgpool.pid'
logdir = '{home}'
backend_hostname0 = '{server.host}'
backend_port0 = {server.port}
backend_weight0 = 1
enable_pool_hba = off
num_init_children = 8
max_pool = 2
sr_check_period = 0
health_check_period = 0
"""


@contextmanager
def pgpool() -> Iterator[Foreign]:
    binary = installed("pgpool", "usr", "sbin", "pgpool")
    root = binary.parents[2]
    libraries = sorted({str(path.parent) for path in root.rglob("lib*.so*")})
    with postgres() as behind, open_directory() as home:
        port = free_port()
        (home / "pgpool.conf").write_text(
            PGPOOL.format(port=port, pcp=free_port(), home=home, server=behind)
        )
        (home / "pcp.conf").write_text("")
        words = [str(binary), "-n", "-f", str(home / "pgpool.conf"), "-F", str(home / "pcp.conf")]
        path = {"LD_LIBRARY_PATH": ":".join(libraries)}
        target = f"host=127.0.0.1 port={port} user={behind.user} dbname=postgres sslmode=disable"
        with process(words, home, path) as running:
            # It begins a transaction by itself before a session's first write by Bind: pgbench ends
            # there ("end of script reached without completing the last transaction").
            server = Foreign("pgpool", target, refusals=frozenset({"25000"}))
            yield ready(server, running, home)


@contextmanager
def pglite() -> Iterator[Foreign]:
    """PostgreSQL in WebAssembly: one backend for all connections."""
    package = installed("npm", "node_modules", "@electric-sql", "pglite-socket")
    script = package / "dist" / "scripts" / "server.js"
    with open_directory() as home:
        port = free_port()
        words = [program("node"), str(script), "--port", str(port), "--max-connections", "4"]
        target = f"host=127.0.0.1 port={port} user=postgres dbname=postgres sslmode=disable"
        with process(words, home) as running:
            yield ready(Foreign("PGlite", target, most_clients=1), running, home)


@contextmanager
def h2() -> Iterator[Foreign]:
    jar = installed("jars", "h2.jar")
    with open_directory() as home:
        port = free_port()
        words = [
            program("java"), "-Dh2.bindAddress=127.0.0.1", "-cp", str(jar), "org.h2.tools.Server",
            "-pg", "-pgPort", str(port), "-ifNotExists", "-baseDir", str(home / "data"),
        ]  # fmt: skip
        target = f"host=127.0.0.1 port={port} user=sa password=sa dbname=bench sslmode=disable"
        with process(words, home) as running:
            yield ready(Foreign("H2", target), running, home)


@contextmanager
def questdb() -> Iterator[Foreign]:
    jar = installed("jars", "questdb.jar")
    with open_directory() as home:
        port = free_port()
        environment = {
            "QDB_PG_NET_BIND_TO": f"127.0.0.1:{port}",
            "QDB_HTTP_NET_BIND_TO": f"127.0.0.1:{free_port()}",
            "QDB_HTTP_BIND_TO": f"127.0.0.1:{free_port()}",
            "QDB_HTTP_MIN_ENABLED": "false",
            "QDB_LINE_TCP_ENABLED": "false",
            "QDB_TELEMETRY_ENABLED": "false",
        }
        (home / "data").mkdir()
        choose_account().own(home / "data")
        words = [
            program("java"), "-Xmx1g", "-p", str(jar), "-m", "io.questdb/io.questdb.ServerMain",
            "-d", str(home / "data"),
        ]  # fmt: skip
        target = f"host=127.0.0.1 port={port} user=admin password=quest dbname=qdb sslmode=disable"
        with process(words, home, environment) as running:
            # "table busy": one session writes into a table at a time.
            server = Foreign("QuestDB", target, refusals=frozenset({"00000"}))
            yield ready(server, running, home)


@contextmanager
def mariadb() -> Iterator[Foreign]:
    with started("mariadb") as server:
        Foreign("MariaDB", server.uri()).ask("CREATE DATABASE bench")
        yield Foreign("MariaDB", server.uri(database="bench"), ("simple", "prepared"))


@contextmanager
def go_mysql_server() -> Iterator[Foreign]:
    """The engine of Dolt."""
    binary = installed("go", "go-mysql-server")
    with open_directory() as home:
        port = free_port()
        target = f"mysql://root@127.0.0.1:{port}/bench"
        with process([str(binary), str(port)], home) as running:
            server = Foreign("go-mysql-server", target, ("simple", "prepared"), most_clients=1)
            yield ready(server, running, home)


SERVERS = {
    "pgbouncer": pgbouncer,
    "pgpool": pgpool,
    "pglite": pglite,
    "h2": h2,
    "questdb": questdb,
    "mariadb": mariadb,
    "go-mysql-server": go_mysql_server,
}
