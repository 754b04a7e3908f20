"""Gives tutorials a reader: a directory, a cache, `steelyard` and a server's programs to call."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.original import OWNER, PORT, Original
from own_cache import open_directory
from steelyard.engines.postgres.builds.build import Build, bundled_builds, parts_of_copy
from tutorial.page import TUTORIALS, Step, run, steps


@dataclass
class Reader:
    """Follows a tutorial in a directory of its own."""

    directory: Path
    environment: dict[str, str] = field(default_factory=dict)

    def follow(self, step: Step) -> str:
        """What the commands of a step say."""
        return run(step, self.directory, self.environment)

    def follow_all(self, name: str) -> list[str]:
        """What each step of a tutorial says."""
        return [self.follow(step) for step in steps((TUTORIALS / name).read_text("utf-8"))]

    def reach(self, server: Original) -> None:
        """Have `PGHOST` and the like name a server."""
        self.environment |= {
            "PGHOST": str(server.sockets), "PGPORT": str(PORT), "PGUSER": OWNER,
            "PGDATABASE": "postgres", **server.library_path,
        }  # fmt: skip

    def copy_build(self, name: str) -> None:
        """A build of PostgreSQL in the directory `name`, as `make install` leaves one there."""
        build = newest()
        site = Path(os.path.commonpath([part.parent for part in parts_of_copy(build)]))
        home = self.directory / f".{name}"
        for part in parts_of_copy(build):
            shutil.copytree(part, home / part.relative_to(site), symlinks=True)
        for directory in (home, *home.iterdir()):
            directory.chmod(0o755)
        (self.directory / name).symlink_to((home / build.bindir.relative_to(site)).parent)


def newest() -> Build:
    """The bundled build of 18."""
    return next(one for one in bundled_builds() if one.bindir.parent.name == "pginstall18")


LOGGED = ("logging_collector=on", "log_destination=csvlog", "log_directory=log")


@pytest.fixture
def shop() -> Iterator[Original]:
    """A server without checksums, with a database of orders, running."""
    home = Path(tempfile.mkdtemp(prefix="syt-", dir="/tmp"))
    home.chmod(0o711)
    try:
        original = original_at(home)
        original.make("--no-data-checksums")
        # As with Debian's packages: no backup holds its configuration.
        (original.directory / "postgresql.conf").unlink()
        original.configuration = (
            "shared_buffers = 48MB\nwork_mem = 5MB\nmax_prepared_transactions = 5\n"
        )
        with original.running(*LOGGED):
            original.ask("CREATE DATABASE shop")
            for table in ("orders", "lines"):
                original.ask(f"CREATE TABLE {table} (id int PRIMARY KEY, words text)", "shop")
                original.ask(
                    f"INSERT INTO {table} SELECT n, repeat('x', 100) || n"
                    " FROM generate_series(1, 20000) AS n",
                    "shop",
                )
            original.ask("VACUUM ANALYZE", "shop")
            yield original
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def reader() -> Iterator[Reader]:
    with ExitStack() as stack:
        home = stack.enter_context(open_directory())
        cache = stack.enter_context(open_directory())
        programs = stack.enter_context(open_directory())
        call = programs / "steelyard"
        call.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m steelyard "$@"\n')
        call.chmod(0o755)
        path = f"{programs}:{newest().bindir}:{os.environ['PATH']}"
        yield Reader(home, {"PATH": path, "STEELYARD_CACHE": str(cache)})
