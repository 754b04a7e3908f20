"""Somebody's server: another superuser, no checksums, a tablespace and a log elsewhere, followers,
an archive, settings of another machine."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from steelyard.engines.account import Account
from steelyard.engines.programs import CLEAN_ENVIRONMENT, run

OWNER = "dba"
PORT = 54399
SETTINGS = """
max_prepared_transactions = 5
wal_level = logical
work_mem = '7MB'
archive_mode = on
archive_command = 'false'
shared_preload_libraries = 'no_such_library'   # of their build
ssl = on
ssl_cert_file = '/etc/ssl/theirs.pem'
synchronous_standby_names = 'theirs'
no_such.setting = 'kept: an extension may know it'
include_dir = 'conf.d'
"""


@dataclass
class Original:
    """A data directory of somebody, and its server while it runs."""

    bindir: Path
    library_path: dict[str, str]
    account: Account
    directory: Path
    sockets: Path
    configuration: str = ""
    """What its postgresql.conf says, which stands outside of its data while it runs."""

    def program(self, name: str, *arguments: str, timeout_s: float = 120) -> str:
        """Run one of the build's programs; what it said."""
        status, words = run(
            self.account,
            [str(self.bindir / name), *arguments],
            directory=self.sockets,
            environment=self.library_path,
            timeout_s=timeout_s,
        )
        assert status == 0, words
        return words

    def make(self, *options: str) -> None:
        """Initdb by another superuser."""
        self.program(
            "initdb", "-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync",
            *options, "-D", str(self.directory),
        )  # fmt: skip

    @contextmanager
    def running(self, *settings: str) -> Iterator[Original]:
        """Its server, started and stopped."""
        plain = self.sockets / "plain.conf"  # not their machine's, which this build refuses
        plain.write_text(self.configuration, encoding="utf-8")
        plain.chmod(0o644)
        given = [f"-k {self.sockets}", f"-p {PORT}", "-c listen_addresses=", "-F"]
        given += [f"-c config_file={plain}", "-c max_prepared_transactions=5"]
        given += [f"-c {shlex.quote(one)}" for one in settings]  # pg_ctl asks a shell
        log = str(self.sockets / "theirs.log")
        # Not by `run`: the server would hold the pipe that pg_ctl's words come through.
        started = subprocess.run(
            [
                str(self.bindir / "pg_ctl"), "-D", str(self.directory), "-w", "-l", log,
                "-o", " ".join(given), "start",
            ],
            user=self.account.uid if self.account.switched else None,
            group=self.account.gid if self.account.switched else None,
            cwd=self.sockets,
            env={**CLEAN_ENVIRONMENT, **self.library_path},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )  # fmt: skip
        assert started.returncode == 0, Path(log).read_text(errors="replace")
        try:
            yield self
        finally:
            self.program("pg_ctl", "-D", str(self.directory), "-w", "-m", "fast", "stop")

    @property
    def target(self) -> str:
        """Its connection string."""
        return f"host={self.sockets} port={PORT} user={OWNER} dbname=postgres"

    def ask(self, query: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """The rows of a query; none of a statement without."""
        place = f"host={self.sockets} port={PORT} user={OWNER} dbname={database}"
        with psycopg.connect(place, autocommit=True) as session:
            answer = session.execute(query.encode())
            return answer.fetchall() if answer.description else []

    def fill(self, space: Path, rows: int = 20000) -> None:
        """Database "shop" with a table, half of it in a tablespace elsewhere; a replication slot
        and a prepared transaction."""
        self.ask(f"CREATE TABLESPACE elsewhere LOCATION '{space}'")
        self.ask("CREATE DATABASE shop")
        self.ask("CREATE DATABASE empty")
        self.ask("ALTER DATABASE shop SET geqo_seed = 0.5")
        self.ask("CREATE ROLE customer LOGIN PASSWORD 'secret'")
        for table, place in (("orders", "pg_default"), ("lines", "elsewhere")):
            self.ask(
                f"CREATE TABLE {table} (id int PRIMARY KEY, words text) TABLESPACE {place}", "shop"
            )
            self.ask(
                f"INSERT INTO {table} SELECT n, repeat('x', 100) || n FROM generate_series(1,"
                f" {rows}) AS n",
                "shop",
            )
            self.ask(f"ALTER TABLE {table} OWNER TO customer", "shop")
        self.ask("SELECT pg_create_physical_replication_slot('theirs')")
        self.ask("CHECKPOINT")

    def prepare_transaction(self) -> None:
        """Leave a prepared transaction behind, which locks a row."""
        place = f"host={self.sockets} port={PORT} user={OWNER} dbname=shop"
        with psycopg.connect(place, autocommit=True) as session:
            session.execute("BEGIN")
            session.execute("UPDATE orders SET words = 'locked' WHERE id = 7")
            session.execute("PREPARE TRANSACTION 'theirs'")

    def configure(self) -> None:
        """Settings of the machine that it came from, where it was started otherwise than here."""
        (self.directory / "postmaster.opts").unlink()
        for name, text in (("postgresql.conf", SETTINGS), ("conf.d/more.conf", "jit = off\n")):
            file = self.directory / name
            if file.parent != self.directory:
                self.account.make_directory(file.parent)
            with file.open("a", encoding="utf-8") as opened:
                opened.write(text)
            self.account.own(file)
