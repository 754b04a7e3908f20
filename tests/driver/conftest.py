"""Starts one PostgreSQL 18 with small pgbench tables for the tests of the driver."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from driver.served import PASSWORD, Server
from steelyard.engines.engine import Slot
from steelyard.engines.find import find_engine

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
    home = Path(tempfile.mkdtemp(prefix="sy-"))
    home.chmod(0o711)  # the server's account passes through, and sees nothing else
    engine = find_engine("postgres", "18")
    try:
        instance = engine.create(home / "data", checksums=True)
        (home / "data" / "pg_hba.conf").write_text(HBA)
        instance.start(Slot(0, home, home / "socket", _free_port()), SETTINGS)
        try:
            made = Server(instance.address)
            _fill(made, Path(engine.identity.bindir))
            yield made
        finally:
            instance.stop()
    finally:
        shutil.rmtree(home)


def _fill(server: Server, bindir: Path) -> None:
    address = server.address
    target = ["-h", address.host, "-p", str(address.port), "-U", address.user, address.database]
    command = [bindir / "pgbench", "-i", "-q", "-s", "1", *target]
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
