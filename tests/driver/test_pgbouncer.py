"""Through PgBouncer in transaction mode: the same work, whoever's connection does it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from driver.served import Server
from driver.stuck import interrupt_stuck_load
from own_cache import open_directory
from steelyard.engines.account import choose_account

pytestmark = pytest.mark.postgres

START = "from steelyard.cli.app import main; main()"
KEEPS_STATEMENTS = (1, 21)
"""The first PgBouncer that keeps prepared statements in transaction mode."""

CONFIG = """\
[databases]
* = host={server.host} port={server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir = {home}
auth_type = trust
auth_file = {home}/users
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
"""


@dataclass(frozen=True)
class Pooler:
    """A PgBouncer with two connections to the server of the tests."""

    port: int
    home: Path
    user: str
    version: tuple[int, ...]

    @property
    def conninfo(self) -> str:
        return f"host=127.0.0.1 port={self.port} user={self.user} dbname=postgres"


def _program() -> str:
    found = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if found is None:
        pytest.skip("PgBouncer is not installed (Debian: apt-get install pgbouncer)")
    return found


@pytest.fixture(scope="module")
def pooler(server: Server) -> Iterator[Pooler]:
    program = _program()
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    version = tuple(map(int, re.findall(r"\d+", said)[:2]))
    with open_directory() as home:
        yield from _pooling(server, program, version, home)


def _pooling(
    server: Server, program: str, version: tuple[int, ...], home: Path
) -> Iterator[Pooler]:
    account = choose_account()
    account.own(home)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    user = server.address.user
    config = CONFIG.format(server=server.address, port=port, home=home)
    if version >= KEEPS_STATEMENTS:
        config += "max_prepared_statements = 20\n"
    (home / "pgbouncer.ini").write_text(config)
    (home / "users").write_text(f'"{user}" ""\n')
    who = {"user": account.uid, "group": account.gid, "extra_groups": []}
    process = subprocess.Popen(
        [program, "-q", home / "pgbouncer.ini"],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **(who if account.switched else {}),  # type: ignore[arg-type]
    )
    try:
        made = Pooler(port, home, user, version)
        _await(made, process)
        yield made
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def _await(pooler: Pooler, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(pooler.conninfo).close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _drive(pooler: Pooler, *words: str) -> tuple[dict[str, Any], str]:
    command = [sys.executable, "-c", START, "drive", pooler.conninfo, *words]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("mode", ["simple", "extended"])
def test_more_clients_than_connections_do_all_the_work(
    server: Server, pooler: Pooler, mode: str
) -> None:
    before = server.one("SELECT count(*) FROM pgbench_history")
    summary, _ = _drive(pooler, "-c", "20", "-j", "2", "-t", "5", "-M", mode)
    assert (summary["transactions"], summary["errors"], summary["lost"]) == (100, {}, 0)
    assert summary["wrong_rows"] == 0
    assert server.one("SELECT count(*) FROM pgbench_history") - before == 100


def test_prepared_statements_are_kept_or_their_loss_is_said(server: Server, pooler: Pooler) -> None:
    before = server.one("SELECT count(*) FROM pgbench_history")
    summary, said = _drive(pooler, "-c", "20", "-j", "2", "-t", "10", "-M", "prepared")
    done = server.one("SELECT count(*) FROM pgbench_history") - before
    assert summary["transactions"] == done
    if pooler.version >= KEEPS_STATEMENTS:
        assert (done, summary["errors"], said) == (200, {}, "")
    else:
        assert done + summary["failed"] == 200
        assert set(summary["errors"]) <= {"26000", "42P05"}
        assert "HINT:  Prepared statements are lost between transactions" in said


def test_pipelines_go_through(pooler: Pooler, tmp_path: Path) -> None:
    script = tmp_path / "pipeline.sql"
    lines = "\n".join(f"SELECT {number};" for number in range(10))
    script.write_text(f"\\startpipeline\n{lines}\n\\endpipeline\n")
    summary, _ = _drive(pooler, "-f", str(script), "-c", "8", "-t", "20", "-M", "extended")
    assert (summary["transactions"], summary["errors"]) == (160, {})


def test_a_connection_for_each_transaction_costs_the_server_none(
    server: Server, pooler: Pooler
) -> None:
    summary, _ = _drive(pooler, "-S", "-C", "-c", "4", "-t", "20")
    assert (summary["transactions"], summary["connections"]) == (80, 76)
    own = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    assert server.one(f"{own} AND pid <> pg_backend_pid()") <= 2


def test_a_load_that_is_given_up_is_cancelled_through_it(
    server: Server, pooler: Pooler, tmp_path: Path
) -> None:
    interrupt_stuck_load(server, pooler.conninfo, tmp_path)
