"""An external server, as the sessions of one arm see it.

What it does not offer (another product behind PostgreSQL's protocol, a pooler, a role without
rights) is left out: no settings, no plans, no counters. It is connected to, and nothing else.

Finds the password of a load machine for a server, and ends the sessions of a lost one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cached_property
from typing import Any

from steelyard.engines.capabilities.external import answers
from steelyard.engines.postgres.guarded.connection import GuardedConnection, guarded
from steelyard.engines.postgres.libpq.connection_string import (
    GivenAddress,
    conninfo_of,
    read_target,
)
from steelyard.engines.postgres.libpq.connection_words import without_password
from steelyard.engines.postgres.settings import SETTING_RULES
from steelyard.engines.postgres.sql.counters import KINDS, read_counters
from steelyard.engines.postgres.sql.database import PostgresDatabase
from steelyard.engines.postgres.sql.plans import plans_in
from steelyard.engines.postgres.sql.session import settings_in
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.identity import Identity
from steelyard.model.readings import Kind, Sample
from steelyard.model.secrets.secret import Secret

ROUND_TRIPS = 20
_SERVER = """
SELECT system_identifier::text, pg_postmaster_start_time()::text FROM pg_control_system()
"""
_LEAVING = """
SELECT count(*) FROM pg_catalog.pg_stat_activity
 WHERE application_name = 'steelyard' AND backend_type = 'client backend'
"""
_LEFT_SECONDS = 5.0
_ENDED = """
SELECT xact_commit + xact_rollback FROM pg_catalog.pg_stat_database
 WHERE datname = current_database() AND current_setting('track_counts')::boolean
"""
_SHARED_STATISTICS, _STATISTICS_SECONDS = 150000, 0.6
"""Before 15 a process of its own collected them, and its file may be half a second old
(PGSTAT_STAT_INTERVAL)."""


class ExternalPostgres:
    """One arm at an address; implements Instance, Reached, CountedTransactions, Tunable, Plans and
    HoldsWorkload."""

    setting_rules = SETTING_RULES

    def __init__(self, address: GivenAddress) -> None:
        self._address = address
        self._server: tuple[str, ...] | None = None
        self._round_trip_ns: int | None = None

    @property
    def address(self) -> GivenAddress:
        """Of its sessions, settings included."""
        return self._address

    @cached_property
    def identity(self) -> Identity:
        """The version as the server reports it; how it was built is not known."""
        with self._session() as session:
            number = session.info.server_version
            version = session.info.parameter_status("server_version") or "unknown"
        return Identity.at_address("postgres", version, number)

    @property
    def running(self) -> bool:
        """Whether it takes a connection now."""
        return answers(self)

    def ping(self) -> None:
        """Open a session and end it. ServerError: the server's own words."""
        with self._session():
            pass

    def server(self) -> tuple[str, ...]:
        """Which server it is: its cluster and its start, or its address where it shows neither."""
        if self._server is None:
            rows = self._rows(_SERVER)
            where = (self._address.host, str(self._address.port))
            self._server = tuple(str(value) for value in rows[0]) if rows else where
        return self._server

    def round_trip_ns(self) -> int:
        """Of the shortest statement, the fastest of 20; measured once."""
        if self._round_trip_ns is None:
            with self._session() as session:
                self._round_trip_ns = session.round_trip_ns("SELECT 1", ROUND_TRIPS)
        return self._round_trip_ns

    def counted_in(self) -> tuple[str, ...]:
        """Its server and the database of its sessions."""
        return *self.server(), self._address.database

    def ended_transactions(self) -> int | None:
        """By pg_stat_database, once our own sessions have flushed theirs and gone; None: they have
        not, as behind a pooler, or the server does not count."""
        if not self.load_has_left():
            return None
        if self.identity.version_number < _SHARED_STATISTICS:
            time.sleep(_STATISTICS_SECONDS)
        rows = self._rows(_ENDED)
        return int(rows[0][0]) if rows else None

    def load_has_left(self) -> bool:
        """Wait until no session of the load is there, for some seconds; whether that is so."""
        limit = time.monotonic() + _LEFT_SECONDS
        while rows := self._rows(_LEAVING):
            if rows[0][0] == 0:
                return True
            if time.monotonic() > limit:
                return False
            time.sleep(0.02)
        return True  # it does not show its sessions

    def settings(self) -> dict[str, str]:
        """As a session of the arm sees them; none where the server does not list them."""
        try:
            with self._session() as session:
                return settings_in(session)
        except ServerError:
            return {}

    def plans(self, database: str, scripts: Mapping[str, str]) -> dict[str, str]:
        """The generic plans of the statements; none where the server does not show them."""
        try:
            with self._session() as session:
                return plans_in(session, scripts)
        except ServerError:
            return {}

    def workload_database(self) -> PostgresDatabase:
        """Database "steelyard" of the server."""
        return PostgresDatabase(self._address)

    def _rows(self, query: str) -> Sequence[tuple[Any, ...]]:
        """Of a query that the server may not offer: none then."""
        try:
            with self._session() as session:
                return session.execute(query.encode()).fetchall()
        except ServerError:
            return ()

    @contextmanager
    def _session(self) -> Iterator[GuardedConnection]:
        """A connection like those of the load; ServerError: the server's own words."""
        import psycopg

        try:
            with guarded(
                conninfo_of(self._address),
                where=self._address.host,
                prepares=False,  # a pooler may hand each statement to another
            ) as session:
                yield session
        except psycopg.Error as error:
            raise ServerError(
                f'could not work on database "{self._address.database}" at "{self._address.host}"',
                detail=str(error).strip(),
                hint=refusal_hint(str(error), self._address.database),
            ) from error


_WEIGH_A_COPY = 'weigh a copy: steelyard weigh settings --from "DSN" with the same --set'


def refusal_hint(message: str, database: str) -> str | None:
    """What to do where a server refuses a session, by its own words in English; None: no more than
    these is known."""
    hints = (
        ("without restarting the server", f"Sessions cannot set it: {_WEIGH_A_COPY}."),
        ("cannot be changed now", f"Sessions cannot set it: {_WEIGH_A_COPY}."),
        (
            "permission denied to set parameter",
            f"A superuser's sessions can, or GRANT SET ON PARAMETER ... TO the role; or "
            f"{_WEIGH_A_COPY}.",
        ),
        ("unrecognized configuration parameter", "Look at its spelling: SHOW ALL lists them."),
        ("no password supplied", "Leave it to PGPASSWORD or ~/.pgpass."),
        (
            f'database "{database}" does not exist',
            'Name it in the address: --address "host=... dbname=..."',
        ),
    )
    return next((hint for phrase, hint in hints if phrase in message), None)


class CountingServer(ExternalPostgres):
    """A server that is reached by one arm only, so that its counters are that arm's: Countable.
    They hold what else was done there too."""

    counter_kinds: Sequence[Kind] = KINDS

    def counters(self, database: str) -> Sample:
        """The counters, once our own sessions have flushed theirs and gone. EngineError: hidden."""
        self.load_has_left()
        try:
            return read_counters(
                conninfo_of(self._address),
                self.identity.version_number,
                lambda conninfo: guarded(conninfo, where=self._address.host),
            )
        except (EngineError, ValueError) as reason:
            return Sample({}, str(reason))


_END = """
SELECT count(pg_catalog.pg_terminate_backend(pid)) FROM pg_catalog.pg_stat_activity
 WHERE pid = ANY (%s) AND usename = current_user AND application_name = %s
"""


def own_password(endpoint: Endpoint) -> Secret | None:
    """That of this machine's environment or password file; None: it has none."""
    return read_target(conninfo_of(endpoint)).password


def crossing(endpoint: Endpoint) -> GivenAddress:
    """Without its password; the other words of the user are kept, and its sessions are named."""
    from psycopg.conninfo import make_conninfo

    passwordless = without_password(conninfo_of(endpoint))
    conninfo = make_conninfo(passwordless, application_name=endpoint.application_name)
    address = {field.name: getattr(endpoint, field.name) for field in fields(Endpoint)}
    return GivenAddress(**{**address, "password": None}, words=conninfo)


def end_sessions(endpoint: Endpoint, backends: Sequence[int]) -> int:
    """Terminate those of the backends that are still there; how many there were. ServerError: the
    server could not be asked.

    Another session that has got one of these numbers since is spared by its application name.
    """
    import psycopg

    try:
        with guarded(
            conninfo_of(endpoint),
            where=endpoint.host,
            password=endpoint.password.reveal() if endpoint.password else None,
        ) as session:
            row = session.execute(_END, [list(backends), endpoint.application_name]).fetchone()
    except psycopg.Error as error:
        raise ServerError(
            f'could not end sessions of a lost machine at "{endpoint.host}"',
            detail=str(error).strip(),
            hint="What they had begun may still be committed, and their locks stand.",
        ) from error
    return 0 if row is None else int(row[0])
