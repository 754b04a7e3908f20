"""A database of ours on an external server: made with a marker, recognised by it, dropped.

Its name and its marker are drawn at random, and when it was created is kept. All three and the
server's number of it are read again before anything is done to it: what is not exactly the database
that was made here is left as it is, and reported.

Lists the options of a database that an arm may set, and writes the statements that set them.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from steelyard.engines.sqlserver.session import (
    RefusedError,
    Session,
    bracketed,
    connected,
    literal,
)
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError, UsageError

PREFIX = "steelyard_"
MARKER = "steelyard_marker"
"""The extended property of a database that holds its token."""
_IN_USE = 3702
"""DROP DATABASE while a session is in it: the server notices late that the last one has gone."""
_IN_USE_S = 20.0
_CREATED = "CONVERT(nvarchar(23), create_date, 121)"
_NEVER_RAN = frozenset({916, 2520, 2560, 2571, 5030, 7926, 7983, 8920})
"""Errors with which DBCC CHECKDB ends before it has read anything: no right, no database of that
name, a wrong parameter, no lock, a transaction that is open. Any other may be of damage: dozens of
numbers are ("Database Engine events and errors"), and with corrupt pages it also ends by 8921
("tempdb out of space or a system table is inconsistent") or 8967 ("internal error")."""


@dataclass(frozen=True)
class Listed:
    """What a server lists of a database beside its name; no other one ever has the same."""

    number: int  # database_id
    created: str  # create_date, to the millisecond


@dataclass
class OwnedDatabase:
    """A database of this process; implements OwnDatabase."""

    server: Endpoint
    """As the user gave it: the database that its sessions begin in is theirs."""
    name: str
    token: str
    listed: Listed | None = None
    """None: it was not made yet, or what became of that was never said."""

    @classmethod
    def draw(cls, server: Endpoint) -> OwnedDatabase:
        """A name and a token at random; nothing is sent."""
        return cls(server, PREFIX + secrets.token_hex(8), secrets.token_hex(16))

    def make(self) -> None:
        """Make it, empty and with its marker, in one call.

        EngineError: the server refused, or was lost: then it may be there. `drop` removes it if it
        has its marker; without one it is never touched again.
        """
        try:
            with connected(self.server) as session:
                rows = session.rows(_making(self.name, self.token))
        except RefusedError as error:
            hint = f'If the server has a database "{self.name}" now, it is empty; drop it by hand.'
            raise ServerError(
                f'could not make a database at "{self.server.host}"', detail=error.detail, hint=hint
            ) from error
        if len(rows) != 1 or None in rows[0]:
            raise EngineError(
                f'the server at "{self.server.host}" does not list database "{self.name}"'
            )
        self.listed = _listed(rows[0])

    @property
    def address(self) -> Endpoint:
        """Of its sessions."""
        return replace(self.server, database=self.name)

    def verify(self, session: Session) -> None:
        """EngineError unless the server's database of this name is the one that was made here."""
        listed = self._find(session)
        if listed is None:
            raise self._refused("it is not listed: another session renamed or dropped it")
        if self.listed is not None and listed != self.listed:
            raise self._refused(
                f"database {listed.number}, created at {listed.created}, has its name; "
                f"ours was database {self.listed.number}, created at {self.listed.created}"
            )
        marked = session.rows(
            f"SELECT CONVERT(nvarchar(64), value) FROM {bracketed(self.name)}"
            f".sys.extended_properties WHERE class = 0 AND name = {literal(MARKER)};"
        )
        if not marked:
            raise self._refused("its marker is gone" if self.listed else "it has no marker")
        if marked[0] != (self.token,):
            raise self._refused("its marker is another one")
        self.listed = listed

    def _find(self, session: Session) -> Listed | None:
        """What the server lists under its name."""
        rows = session.rows(
            f"SELECT CONVERT(nvarchar(11), database_id), {_CREATED} FROM sys.databases"
            f" WHERE name = {literal(self.name)};"
        )
        return _listed(rows[0]) if rows else None

    @contextmanager
    def opened(self) -> Iterator[Session]:
        """A session in it, once it was found to be ours; EngineError."""
        with connected(self.server) as session:
            self.verify(session)
        with connected(self.address) as session:
            yield session

    def check(self) -> None:
        """Read all of it (DBCC CHECKDB). ServerError: the server did not begin to check it;
        EngineError: it is damaged, or may be, with the server's words."""
        with connected(self.server) as session:
            try:
                self.verify(session)
                session.execute(f"DBCC CHECKDB ({literal(self.name)}) WITH NO_INFOMSGS;")
            except RefusedError as error:
                if error.number in _NEVER_RAN:
                    raise ServerError(
                        f'could not check database "{self.name}" at "{self.server.host}"',
                        detail=error.detail,
                        hint="Whether its pages are sound is not known.",
                    ) from error
                raise EngineError(
                    f'DBCC CHECKDB of database "{self.name}" at "{self.server.host}" failed',
                    detail=error.detail,
                    hint="It may be damaged, and is left for you to look at; drop it by hand.",
                ) from error

    def drop(self) -> None:
        """Drop it where it is still the one that was made; nothing where it never was. EngineError:
        it is another one, or it stays, or the server takes too long: signals are deferred
        meanwhile."""
        longest_s = 3 * _IN_USE_S
        with connected(self.server) as session, _limited(session, longest_s) as over:
            try:
                self._drop(session)
            except RefusedError as error:
                if not over.is_set():
                    raise
                raise ServerError(
                    f'could not drop database "{self.name}" at "{self.server.host}": it took more '
                    f"than {longest_s:g} s",
                    hint="Drop it by hand if it is still there.",
                ) from error

    def _drop(self, session: Session) -> None:
        end = time.monotonic() + _IN_USE_S
        if self.listed is None and self._find(session) is None:
            return
        while True:
            self.verify(session)
            try:
                rows = session.rows(self._dropping())
                break
            except RefusedError as error:
                if error.number != _IN_USE or time.monotonic() > end:
                    raise
            time.sleep(0.2)
        if rows != ((None,),):
            raise self._refused("it changed while it was to be dropped, and is there still")

    def _dropping(self) -> str:
        """The server compares number and creation once more in the same batch, so that no other
        database of the name can come between; then its number again, NULL.

        The marker was read in the batch before. This one reads nothing in the database itself, so
        that no lock of its own on it can keep it from being dropped.
        """
        assert self.listed is not None  # it was verified
        listed = (
            f"SELECT 1 FROM sys.databases WHERE name = {literal(self.name)}"
            f" AND database_id = {self.listed.number}"
            f" AND {_CREATED} = {literal(self.listed.created)}"
        )
        return (
            f"IF EXISTS ({listed})\n"
            f"DROP DATABASE {bracketed(self.name)};\n"
            f"SELECT CONVERT(nvarchar(11), DB_ID({literal(self.name)}));"
        )

    def _refused(self, why: str) -> EngineError:
        return EngineError(
            f'database "{self.name}" at "{self.server.host}" is not the one that Steelyard made: '
            f"{why}",
            detail="Nothing was done to it.",
            hint="Look at it, and drop it by hand if it is not in use.",
        )


@contextmanager
def _limited(session: Session, seconds: float) -> Iterator[threading.Event]:
    """Cancels what the session executes once this time is over, which the event says."""
    over = threading.Event()

    def end() -> None:
        over.set()
        session.cancel()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield over
    finally:
        timer.cancel()


def _listed(row: tuple[str | None, ...]) -> Listed:
    number, created = (str(value) for value in row)
    return Listed(int(number), created)


def _making(name: str, token: str) -> str:
    """Bytes are compared in it, as PostgreSQL does for equality."""
    return (
        f"CREATE DATABASE {bracketed(name)} COLLATE Latin1_General_BIN2;\n"
        f"EXEC {bracketed(name)}.sys.sp_addextendedproperty"
        f" @name = {literal(MARKER)}, @value = {literal(token)};\n"
        f"SELECT CONVERT(nvarchar(11), database_id), {_CREATED} FROM sys.databases"
        f" WHERE name = {literal(name)};"
    )


@dataclass(frozen=True)
class _Option:
    """Values, the first one the default, and how it is set."""

    values: Sequence[str]
    clause: str


_OPTIONS: Mapping[str, _Option] = {
    "page_verify": _Option(("CHECKSUM", "TORN_PAGE_DETECTION", "NONE"), "PAGE_VERIFY {}"),
    "delayed_durability": _Option(("DISABLED", "ALLOWED", "FORCED"), "DELAYED_DURABILITY = {}"),
    "recovery": _Option(("FULL", "BULK_LOGGED", "SIMPLE"), "RECOVERY {}"),
}
"""Source: "ALTER DATABASE SET options (Transact-SQL)". None of them needs a restart, or a right
over anything but the database."""

READ = """
SELECT page_verify_option_desc AS page_verify,
       delayed_durability_desc AS delayed_durability, recovery_model_desc AS recovery,
       compatibility_level, collation_name, is_read_committed_snapshot_on,
       snapshot_isolation_state_desc AS snapshot_isolation, target_recovery_time_in_seconds,
       is_auto_create_stats_on, is_auto_update_stats_on, is_parameterization_forced, is_encrypted
  FROM sys.databases WHERE name = {};
"""
"""The options of a database by the names that arms give them, and others beside them."""


def complete_options(settings: Mapping[str, str]) -> dict[str, str]:
    """Every option with its value, in capital letters: an arm's own, else the default. UsageError:
    no option of a database, or no value of it."""
    for name in settings:
        if name not in _OPTIONS:
            raise UsageError(
                f'cannot set "{name}" on SQL Server: it is no option of a database that is known',
                detail="The server and its other databases are never set.",
                hint=f"Known: {', '.join(_OPTIONS)}.",
            )
    options = {
        name: settings.get(name, option.values[0]).upper() for name, option in _OPTIONS.items()
    }
    for name, value in options.items():
        if value not in _OPTIONS[name].values:
            accepted = ", ".join(_OPTIONS[name].values)
            raise UsageError(f'invalid value for "{name}": "{value}"; accepted: {accepted}')
    return options


def setting(database: str, options: Mapping[str, str]) -> str:
    """The text that sets all options of a database."""
    return "\n".join(
        f"ALTER DATABASE {bracketed(database)} SET {_OPTIONS[name].clause.format(value)};"
        for name, value in options.items()
    )
