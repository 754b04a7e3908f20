"""A PgBouncer in front of a server of the tests."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from own_cache import open_directory
from steelyard.engines.account import choose_account
from steelyard.model.endpoint import Endpoint

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


@contextmanager
def pooling(server: Endpoint, *, statements: int = 20) -> Iterator[Pooler]:
    """In transaction mode, as the account that servers run under; skips where there is none.

    `statements`: how many prepared ones it keeps a connection, where it can keep any.
    """
    program = _program()
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    version = tuple(map(int, re.findall(r"\d+", said)[:2]))
    with open_directory() as home:
        yield from _pooling(server, program, version, home, statements)


def _pooling(
    server: Endpoint, program: str, version: tuple[int, ...], home: Path, statements: int
) -> Iterator[Pooler]:
    account = choose_account()
    account.own(home)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    user = server.user
    config = CONFIG.format(server=server, port=port, home=home)
    if version >= KEEPS_STATEMENTS:
        config += f"max_prepared_statements = {statements}\n"
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
