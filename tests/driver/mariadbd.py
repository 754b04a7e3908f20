"""A real MariaDB 10.11 for tests: Debian's packages, unpacked and never installed."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from driver.mysqld import READY_S, Mysqld, await_ready, fetched
from steelyard.engines.account import choose_account
from steelyard.engines.programs import launch

PACKAGES = ("mariadb-server-core", "libaio1", "liburing2")
SYSTEM_TABLES = (
    "mysql_system_tables",
    "mysql_performance_tables",
    "mysql_system_tables_data",
)
OPEN_TO_ALL = (
    "UPDATE global_priv SET priv = '{\"access\": 18446744073709551615}' WHERE user = 'root';"
)
"""Root needs no password; else only the operating system's root could come in."""


def unpacked(home: Path) -> tuple[Path, list[Path]]:
    """The tree of the server, and the directories of the libraries that it needs beside."""
    for name in PACKAGES:
        package = fetched(home / f"deb-{name}", "apt-get", "download", "-q", name)
        subprocess.run(["dpkg", "-x", package, home / "tree"], check=True)
    subprocess.run(["chmod", "-R", "a+rX", home], check=True)
    libraries = {found.parent for found in (home / "tree").rglob("lib*.so.*")}
    return home / "tree" / "usr", sorted(libraries)


@contextmanager
def running(home: Path, *options: str) -> Iterator[Mysqld]:
    """A server under the account of servers, started with these options, until the end."""
    account = choose_account()
    base, libraries = unpacked(home)
    work = home / "work"
    account.make_directory(work)
    share, log, words = base / "share" / "mysql", home / "log", home / "system.sql"
    tables = "".join((share / f"{name}.sql").read_text() for name in SYSTEM_TABLES)
    words.write_text(f"CREATE DATABASE mysql;\nUSE mysql;\n{tables}\n{OPEN_TO_ALL}\n")
    command = [
        *(str(base / "sbin" / "mariadbd"), "--no-defaults", f"--basedir={base}"),
        *(f"--datadir={work / 'data'}", f"--lc-messages-dir={share}"),
    ]
    environment = {"LD_LIBRARY_PATH": ":".join(str(place) for place in libraries)}

    def start(*more: str) -> subprocess.Popen[bytes]:
        with log.open("ab") as output, words.open("rb") as told:
            return launch(
                account,
                [*command, *more],
                directory=work,
                output=output,
                environment=environment,
                words=told.fileno(),
            )

    account.make_directory(work / "data")
    assert start("--bootstrap").wait(READY_S) == 0, log.read_text()
    socket = work / "s"
    more = (f"--socket={socket}", "--skip-networking", f"--pid-file={work / 'pid'}", *options)
    server = start(*more)
    try:
        await_ready(server, log, account)
        yield Mysqld(socket)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(READY_S)
