"""A database of ours on an external server: made with a marker, recognised by it, dropped.

Its name and its marker are drawn at random, and when it was created is kept. All three and the
server's number of it are read again before anything is done to it: what is not exactly the database
that was made here is left as it is, and reported.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
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
from steelyard.model.errors import EngineError, ServerError

PREFIX = "steelyard_"
MARKER = "steelyard_marker"
"""The extended property of a database that holds its token."""
_IN_USE = 3702
"""DROP DATABASE while a session is in it: the server notices late that the last one has gone."""
_IN_USE_S = 20.0
_CREATED = "CONVERT(nvarchar(23), create_date, 121)"


@dataclass(frozen=True)
class OwnedDatabase:
    """A database that this process made; implements OwnDatabase."""

    server: Endpoint
    """As the user gave it: the database that its sessions begin in is theirs."""
    name: str
    number: int  # database_id
    created: str  # create_date, to the millisecond
    token: str

    @classmethod
    def make(cls, server: Endpoint) -> OwnedDatabase:
        """A new, empty database with its marker, made and marked in one call.

        EngineError: the server refused, or was lost: then a database without a marker may be left,
        which is named and never touched again.
        """
        name, token = PREFIX + secrets.token_hex(8), secrets.token_hex(16)
        try:
            with connected(server) as session:
                rows = session.rows(_making(name, token))
        except RefusedError as error:
            hint = f'If the server has a database "{name}" now, it is empty; drop it by hand.'
            raise ServerError(
                f'could not make a database at "{server.host}"', detail=error.detail, hint=hint
            ) from error
        if len(rows) != 1 or None in rows[0]:
            raise EngineError(f'the server at "{server.host}" does not list database "{name}"')
        number, created = (str(value) for value in rows[0])
        return cls(server, name, int(number), created, token)

    @property
    def address(self) -> Endpoint:
        """Of its sessions."""
        return replace(self.server, database=self.name)

    def verify(self, session: Session) -> None:
        """EngineError unless the server's database of this name is the one that was made here."""
        listed = session.rows(
            f"SELECT CONVERT(nvarchar(11), database_id), {_CREATED} FROM sys.databases"
            f" WHERE name = {literal(self.name)};"
        )
        if not listed:
            raise self._refused("it is not listed: another session renamed or dropped it")
        if listed[0] != (str(self.number), self.created):
            number, created = listed[0]
            raise self._refused(
                f"database {number}, created at {created}, has its name; "
                f"ours was database {self.number}, created at {self.created}"
            )
        marked = session.rows(
            f"SELECT CONVERT(nvarchar(64), value) FROM {bracketed(self.name)}"
            f".sys.extended_properties WHERE class = 0 AND name = {literal(MARKER)};"
        )
        if not marked:
            raise self._refused("its marker is gone")
        if marked[0] != (self.token,):
            raise self._refused("its marker is another one")

    @contextmanager
    def opened(self) -> Iterator[Session]:
        """A session in it, once it was found to be ours; EngineError."""
        with connected(self.server) as session:
            self.verify(session)
        with connected(self.address) as session:
            yield session

    def check(self) -> None:
        """Read all of it (DBCC CHECKDB); EngineError: it is damaged, with the server's words."""
        with connected(self.server) as session:
            self.verify(session)
            try:
                session.execute(f"DBCC CHECKDB ({literal(self.name)}) WITH NO_INFOMSGS;")
            except RefusedError as error:
                raise EngineError(
                    f'DBCC CHECKDB of database "{self.name}" at "{self.server.host}" failed',
                    detail=error.detail,
                    hint="It is left for you to look at; drop it by hand.",
                ) from error

    def drop(self) -> None:
        """Drop it where it is still the one that was made; EngineError: it is not, or it stays."""
        end = time.monotonic() + _IN_USE_S
        with connected(self.server) as session:
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
        """The server verifies it once more in the same batch, so that nothing can come between;
        then its number again, NULL."""
        listed = (
            f"SELECT 1 FROM sys.databases WHERE name = {literal(self.name)}"
            f" AND database_id = {self.number} AND {_CREATED} = {literal(self.created)}"
        )
        marked = (
            f"SELECT 1 FROM {bracketed(self.name)}.sys.extended_properties WHERE class = 0"
            f" AND name = {literal(MARKER)}"
            f" AND CONVERT(nvarchar(64), value) = {literal(self.token)}"
        )
        return (
            f"IF EXISTS ({listed}) AND EXISTS ({marked})\n"
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


def _making(name: str, token: str) -> str:
    """Bytes are compared in it, as PostgreSQL does for equality."""
    return (
        f"CREATE DATABASE {bracketed(name)} COLLATE Latin1_General_BIN2;\n"
        f"EXEC {bracketed(name)}.sys.sp_addextendedproperty"
        f" @name = {literal(MARKER)}, @value = {literal(token)};\n"
        f"SELECT CONVERT(nvarchar(11), database_id), {_CREATED} FROM sys.databases"
        f" WHERE name = {literal(name)};"
    )
