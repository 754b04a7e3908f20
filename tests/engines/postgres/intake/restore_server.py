"""A running server that dumps are restored into, one after another."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

from own_cache import open_directory, own_cache, own_server
from steelyard.engines.account import Account, choose_account
from steelyard.engines.engine import Instance
from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.intake.restoring import Restored, restore_dump
from steelyard.engines.postgres.libpq.connection_string import client_flags, conninfo_of
from steelyard.engines.postgres.selection import find_postgres


@dataclass
class RestoreServer:
    """The server, and a directory that what is unpacked may stand in."""

    instance: Instance
    build: Build
    account: Account
    directory: Path

    def restore(self, dump: Path, database: str | None = None) -> Restored:
        """Restore a dump into a new database; `database`: the one that it is to be of."""
        self.ask(f"DROP DATABASE IF EXISTS {DATABASE}", "postgres")
        for (role,) in self.ask("SELECT rolname FROM pg_roles WHERE rolname !~ '^(pg_|postgres$)'"):
            quoted = str(role).replace('"', '""')
            self.ask(f'DROP ROLE "{quoted}"')
        self.ask(f"CREATE DATABASE {DATABASE} TEMPLATE template0", "postgres")
        return restore_dump(self.build, self.account, self.instance, dump, self.directory, database)

    def ask(self, query: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """The rows of a query; none of a statement without."""
        place = conninfo_of(replace(self.instance.address, database=database))
        with psycopg.connect(place, autocommit=True) as session:
            answer = session.execute(query.encode())
            return answer.fetchall() if answer.description else []

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """Of what was restored."""
        return self.ask(query, DATABASE)

    def program(self, name: str, *arguments: str) -> None:
        """Run a client program on it."""
        subprocess.run(
            [self.build.program(name), *client_flags(self.instance.address), *arguments],
            env=self.build.environment,
            check=True,
            capture_output=True,
        )


@contextmanager
def restore_server(version: str = "18") -> Iterator[RestoreServer]:
    """A server of that version without fsync, in a cache and a directory of its own."""
    with own_cache(), open_directory() as home, own_server(version, {"fsync": "off"}) as instance:
        build = find_postgres(version)._build  # its library path is known to it alone
        yield RestoreServer(instance, build, choose_account(), home)
