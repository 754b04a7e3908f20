"""A real server of MySQL or MariaDB on a port of loopback, with a certificate of a test's."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from driver.mysqld import READY_S, await_ready
from driver.secured import Certified
from engines.mysql.real_packages import fetch
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.mysql.builds.find import select_builds
from steelyard.engines.mysql.life.data_directory import base_arguments, make_instance
from steelyard.engines.mysql.sql.session import connected, rows_of
from steelyard.engines.mysql.uri import read_uri
from steelyard.engines.programs import launch

PASSWORD = "Pässw0rd"


@dataclass(frozen=True)
class OverTcp:
    """A server that runs, with a user "app" whose password is PASSWORD."""

    port: int
    socket: Path

    def uri(self, words: str = "") -> str:
        """Where "app" reaches it."""
        return f"mysql://app:{PASSWORD}@127.0.0.1:{self.port}/d?{words}"

    def words(self, query: str) -> list[tuple[object, ...]]:
        """The rows of a query of "root", by the socket."""
        with connected(read_uri(f"mysql://root@/?socket={self.socket}")) as connection:
            return rows_of(connection, query)


@contextmanager
def listening(word: str, home: Path, shown: Certified) -> Iterator[OverTcp]:
    """A server of "mysql-5.7" or "mariadb-10.11" below an open directory, until the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(home / "cache"))
        fetch(word)
        [usable] = select_builds([BuildRequest(word)])
    build, account, data = usable.build, usable.account, home / "data"
    make_instance(build, usable.identity, account, data)
    for file in shown.save(data, "server"):
        account.own(file)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log, path = home / "log", data / "s"
    command = [
        *(str(build.server), *base_arguments(build, data), f"--socket={path}"),
        *(f"--port={port}", "--bind-address=127.0.0.1", f"--pid-file={data / 'pid'}"),
        *(f"--ssl-cert={data / 'server.crt'}", f"--ssl-key={data / 'server.key'}"),
    ]
    with log.open("ab") as output:
        server = launch(
            account, command, directory=data, output=output, environment=build.environment
        )
    try:
        await_ready(server, log, account)
        made = OverTcp(port, path)
        made.words("CREATE DATABASE d")
        made.words(f"CREATE USER app@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
        made.words("GRANT ALL ON d.* TO app@'127.0.0.1'")
        yield made
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(READY_S)
