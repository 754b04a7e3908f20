"""Starts one PostgreSQL 18 with small pgbench tables for the tests of the driver."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from driver.served import PASSWORD, Server
from own_cache import own_server
from steelyard.engines.postgres.libpq.connection_string import client_flags

SETTINGS = {
    "autovacuum": "off",
    "listen_addresses": "127.0.0.1, ::1",  # where there is no IPv6, the server goes on without
    "shared_buffers": "16MB",
    "password_encryption": "scram-sha-256",
}
HBA = """\
local all all trust
host all scram_user 127.0.0.1/32 scram-sha-256
host all md5_user 127.0.0.1/32 md5
host all cleartext_user 127.0.0.1/32 password
host all all 127.0.0.1/32 trust
host all all ::1/128 trust
"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with own_server("18", SETTINGS, port=_free_port(), files={"pg_hba.conf": HBA}) as instance:
        made = Server(instance.address)
        _fill(made, Path(instance.identity.bindir))
        yield made


def _fill(server: Server, bindir: Path) -> None:
    address = server.address
    command = [
        bindir / "pgbench",
        "-i",
        "-q",
        "-s",
        "1",
        *client_flags(address),
        address.database,
    ]
    subprocess.run(command, check=True, capture_output=True)
    with server.connect() as connection:
        for user, encryption in (
            ("scram_user", "scram-sha-256"),
            ("md5_user", "md5"),
            ("cleartext_user", "scram-sha-256"),
        ):
            connection.execute(f"SET password_encryption = '{encryption}'")
            quoted = PASSWORD.replace("'", "''")
            connection.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{quoted}'")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC")
