"""Opens a copied cluster up: recovers it, lets us in, names its database, and stops it again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.engines.account import Account
from steelyard.engines.engine import Slot
from steelyard.engines.intake import Neutralised
from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.intake.configuration import AT_REST, SET, printable
from steelyard.engines.postgres.intake.place import LABEL
from steelyard.engines.postgres.intake.role_settings import (
    RESET_BEFORE_LOGIN,
    reset_missing_libraries,
    reset_own_role,
    setting_doubts,
    settings_reset,
)
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.control import (
    SHUT_DOWN,
    SHUT_DOWN_IN_RECOVERY,
    stored_state,
)
from steelyard.engines.postgres.life.data_directory import SUPERUSER
from steelyard.engines.postgres.life.recovery import (
    MAINTENANCE,
    hint_at_build,
    recover,
    recovery_settings,
)
from steelyard.engines.postgres.sql.database import connected
from steelyard.model.errors import ServerError, UsageError
from steelyard.model.units import format_bytes

if TYPE_CHECKING:
    import psycopg

_ASIDE = "steelyard_of_the_original"
_MOST_NAMED = 5
_NOT_STOPPED = (
    "its server had not been stopped, and the copy was recovered as after a crash: where its files "
    "were copied one by one while the server ran, tables and indexes may be of different moments; "
    "a base backup (pg_basebackup -X stream), a snapshot of all files at once, and the directory "
    "of a stopped server have one"
)
_ROLES = (
    f"CREATE ROLE {SUPERUSER} SUPERUSER LOGIN",
    f"ALTER ROLE {SUPERUSER} SUPERUSER LOGIN CONNECTION LIMIT -1 VALID UNTIL 'infinity'",
    f"ALTER DATABASE {MAINTENANCE} ALLOW_CONNECTIONS true",
    *RESET_BEFORE_LOGIN,
)


@dataclass(frozen=True)
class Recovery:
    """What was found and done."""

    database: str  # its name in the original
    bytes: int
    neutralised: tuple[Neutralised, ...]
    doubts: tuple[str, ...]


class Opening:
    """The opening up of one copied cluster, which is stopped and does not admit us yet."""

    def __init__(self, build: Build, account: Account, cluster: Cluster) -> None:
        self._build = build
        self._account = account
        self._cluster = cluster
        self._replayed = self._crashed = False

    def open_up(self, slot: Slot, database: str | None) -> Recovery:
        """Recover, add our superuser, rename the database, stop.

        UsageError: several databases, and none was named; EngineError: half a backup; ServerError:
        the server's words.
        """
        self._replayed, self._crashed = _state_before(self._account, self._cluster.directory)
        output = recover(self._build, self._account, self._cluster, SET, _ROLES)
        self._cluster.start(slot, recovery_settings(self._cluster))
        try:
            with self._session(MAINTENANCE) as session:
                opened = self._open_database(session, database)
            with self._session(DATABASE) as session:  # as this build may not: locale, ICU
                doubts = [*opened.doubts, *self._database_doubts(session)]
        finally:
            self._cluster.stop()
        neutralised = (*settings_reset(output), *opened.neutralised)
        return replace(opened, neutralised=neutralised, doubts=tuple(doubts))

    def _open_database(self, session: psycopg.Connection, database: str | None) -> Recovery:
        """The database in the name that every weighed one has."""
        gone = [*reset_own_role(session), *reset_missing_libraries(session, self._build)]
        for name, datname in session.execute(
            "SELECT gid, database FROM pg_catalog.pg_prepared_xacts"
        ).fetchall():
            with self._session(datname) as other:
                other.execute(f"ROLLBACK PREPARED {_literal(name)}".encode())
            gone.append(Neutralised(f"prepared transaction {name}", "its locks would stay"))
        chosen, size = _select_database(session, database)
        if chosen != DATABASE:
            _rename(session, DATABASE, _ASIDE)
            _rename(session, chosen, DATABASE)
        names = {name for name, _ in _databases(session, every=True)}
        if "postgres" not in names:
            session.execute(b"CREATE DATABASE postgres TEMPLATE template0")
        for name in (DATABASE, "postgres"):
            session.execute(f"ALTER DATABASE {name} CONNECTION LIMIT -1".encode())
            session.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
        doubts = (
            *_collation_doubts(session, self._cluster.identity.version_number),
            *setting_doubts(session),
        )
        return Recovery(chosen, size, tuple(gone), doubts)

    def _database_doubts(self, session: psycopg.Connection) -> Iterator[str]:
        """What may be otherwise in the database, by its own catalogue."""
        if self._crashed:
            yield _NOT_STOPPED
        if self._replayed:
            yield from _unlogged_doubts(session)
        yield from _index_doubts(session, self._cluster.identity.version_number)
        yield from _extension_doubts(session)
        yield from row_security_doubts(session)
        yield from _schema_doubts(session)

    @contextmanager
    def _session(self, database: str) -> Iterator[psycopg.Connection]:
        address = self._cluster.address
        endpoint = replace(address, user=SUPERUSER, database=database)
        try:
            with connected(endpoint) as session:
                yield session
        except ServerError as error:
            version = self._cluster.identity.version_number
            hint = hint_at_build(error.detail or "", build_version=version)
            if hint is None:
                raise
            raise ServerError(error.primary, detail=error.detail, hint=hint) from error


def _databases(session: psycopg.Connection, *, every: bool) -> list[tuple[str, int]]:
    """Names and sizes of the databases; all, or those that may be weighed."""
    rows = session.execute(
        "SELECT datname, pg_catalog.pg_database_size(oid) FROM pg_catalog.pg_database"
        " WHERE NOT datistemplate ORDER BY datname"
    ).fetchall()
    databases = [(str(name), int(size)) for name, size in rows]
    others = [database for database in databases if database[0] != "postgres"]
    return databases if every or not others else others


def _select_database(session: psycopg.Connection, database: str | None) -> tuple[str, int]:
    databases = _databases(session, every=database is not None)
    if database is None and len(databases) == 1:
        return databases[0]
    for name, size in databases:
        if name == database:
            return name, size
    listed = ", ".join(f"{name} ({format_bytes(size)})" for name, size in databases)
    if database is None:
        raise UsageError(
            "cannot choose among several databases", detail=f"There are {listed}.",
            hint="Name one: --database NAME",
        )  # fmt: skip
    raise UsageError(f'there is no database "{database}" in it', detail=f"There are {listed}.")


def _rename(session: psycopg.Connection, name: str, other: str) -> None:
    from psycopg import sql

    there = session.execute(
        "SELECT 1 FROM pg_catalog.pg_database WHERE datname = %s", [name]
    ).fetchone()
    if there is not None:
        statement = sql.SQL("ALTER DATABASE {} RENAME TO {}")
        session.execute(statement.format(sql.Identifier(name), sql.Identifier(other)))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _state_before(account: Account, directory: Path) -> tuple[bool, bool]:
    """Whether a server of a copy replays log before it opens: of a backup, of a standby, after a
    crash (xlogrecovery.c, InitWalRecovery); and whether it is the last of these, or was copied from
    a running server: nothing tells them apart."""
    state = stored_state(directory)
    if state is None:
        return False, False  # said by what recovers it
    labelled: bool = account.call((directory / LABEL).is_file)  # root names nothing in there
    running = state not in (SHUT_DOWN, SHUT_DOWN_IN_RECOVERY)
    return labelled or state != SHUT_DOWN, running and not labelled


def _unlogged_doubts(session: psycopg.Connection) -> Iterator[str]:
    """What a server empties that replays log (reinit.c); a backup does not even bring it."""
    rows = session.execute(
        "SELECT oid::regclass::text, count(*) OVER () FROM pg_catalog.pg_class"
        " WHERE relpersistence = 'u' AND relkind = 'r' ORDER BY 1 LIMIT %s",
        [_MOST_NAMED],
    ).fetchall()
    if rows:
        count = int(rows[0][1])
        yield (
            f"{count} unlogged {'table is' if count == 1 else 'tables are'} empty in the copy, as "
            f"after a crash of the server: {_first_named(rows)}; a dump brings the rows, and so "
            "does the directory of a server that was stopped cleanly"
        )


def _first_named(rows: Sequence[tuple[Any, ...]]) -> str:
    """The names in rows of a name and how many there are in all."""
    names = ", ".join(printable(str(name)) for name, _ in rows)
    return f"{names}, …" if int(rows[0][1]) > len(rows) else names


def row_security_doubts(session: psycopg.Connection) -> Iterator[str]:
    """Which tables have row security, but for those of extensions: a superuser's plans lack it."""
    rows = session.execute(
        "SELECT oid::regclass::text, count(*) OVER () FROM pg_catalog.pg_class AS c"
        " WHERE relrowsecurity AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend WHERE deptype = 'e'"
        " AND classid = 'pg_catalog.pg_class'::regclass AND objid = c.oid) ORDER BY 1 LIMIT %s",
        [_MOST_NAMED],
    ).fetchall()
    if rows:
        yield (
            f"scripts run as {SUPERUSER}, which row security does not hold for: the policies of "
            f"{_first_named(rows)} are not weighed, unless a script says SET ROLE"
        )


def _schema_doubts(session: psycopg.Connection) -> Iterator[str]:
    """Which schemas a role finds by its own name: another role's statements meet other tables."""
    rows = session.execute(
        "SELECT pg_catalog.quote_ident(nspname), count(*) OVER () FROM pg_catalog.pg_namespace AS n"
        " JOIN pg_catalog.pg_roles ON rolname = nspname WHERE rolname <> %s"
        " AND pg_catalog.strpos(pg_catalog.current_setting('search_path'), '$user') > 0"
        " AND EXISTS (SELECT FROM pg_catalog.pg_class WHERE relnamespace = n.oid) ORDER BY 1 LIMIT"
        " %s",
        [SUPERUSER, _MOST_NAMED],
    ).fetchall()
    if rows:
        key = shlex.quote(f"settings.search_path={printable(str(rows[0][0]))},public")
        yield (
            f'roles find schemas of their names before others ("$user" in search_path), and '
            f"scripts run as {SUPERUSER}, which does not: {_first_named(rows)}; --set {key} weighs "
            "as that role would find its tables"
        )


def _extension_doubts(session: psycopg.Connection) -> Iterator[str]:
    rows = session.execute(
        "SELECT extname FROM pg_catalog.pg_extension WHERE extname NOT IN"
        " (SELECT name FROM pg_catalog.pg_available_extensions) ORDER BY extname"
    ).fetchall()
    for (name,) in rows:
        yield f"extension {name} is not in this build: what uses its functions fails"
    rows = session.execute(
        "SELECT extname FROM pg_catalog.pg_extension WHERE extname = ANY(%s) ORDER BY extname",
        [list(AT_REST)],
    ).fetchall()
    for (name,) in rows:
        yield f"extension {name} is at rest in the copy, {AT_REST[name]}"


def _collation_doubts(session: psycopg.Connection, version: int) -> Iterator[str]:
    """Where the order of texts was made by another library than this machine has, or perhaps."""
    columns = "'c', datcollate, NULL, NULL"  # what is recorded since 15
    if version >= 150000:
        locale = "datlocale" if version >= 170000 else "daticulocale"
        columns = (
            f"datlocprovider::text, coalesce({locale}, datcollate), datcollversion,"
            " pg_catalog.pg_database_collation_actual_version(oid)"
        )
    rows = session.execute(
        f"SELECT {columns} FROM pg_catalog.pg_database WHERE datname = %s".encode(), [DATABASE]
    ).fetchall()
    for provider, locale, recorded, here in rows:
        if _may_differ(provider, locale, recorded, here):
            yield f"its texts were sorted by {locale} of {_versions(recorded, here)}: {_TOO_LITTLE}"


def _index_doubts(session: psycopg.Connection, version: int) -> Iterator[str]:
    """Likewise, of the collations of their own that indexes of a database have."""
    locale = "collcollate::text"
    if version >= 150000:
        locale = f"coalesce({'colllocale' if version >= 170000 else 'colliculocale'}, collcollate)"
    rows = session.execute(
        f"SELECT c.oid, pg_catalog.quote_ident(collname), collprovider::text, {locale}, collversion"
        " FROM pg_catalog.pg_collation AS c WHERE collprovider <> 'd' AND c.oid IN (SELECT"
        " pg_catalog.unnest(indcollation::oid[]) FROM pg_catalog.pg_index) ORDER BY 2".encode()
    ).fetchall()
    for oid, name, provider, own_locale, recorded in rows:
        here = None if recorded is None else _actual_version(session, oid)
        if _may_differ(provider, own_locale, recorded, here):
            yield (
                f"indexes of collation {name} were sorted by {own_locale} of "
                f"{_versions(recorded, here)}: {_TOO_LITTLE}"
            )


def _actual_version(session: psycopg.Connection, oid: int) -> str | None:
    """The version of a collation here; None: this build has none for it, or cannot open it."""
    from psycopg import Error

    try:
        query = "SELECT pg_catalog.pg_collation_actual_version(%s::oid)"
        row = session.execute(query, [oid]).fetchone()
    except Error:
        return None
    return None if row is None else row[0]


_BYTEWISE = re.compile(r"C|POSIX|C\..*", re.IGNORECASE)
"""The libc locales whose order is that of bytes (pg_locale.c: they have no version)."""
_TOO_LITTLE = (
    "searches by an index on text may find too little; what pg_dump makes of it is sorted anew"
)


def _may_differ(provider: str, locale: str, recorded: str | None, here: str | None) -> bool:
    """Whether texts may be sorted otherwise here. Without a version are musl and macOS, libc before
    13, and databases before 15; PostgreSQL itself does not warn of these."""
    if provider == "c" and _BYTEWISE.fullmatch(locale):
        return False
    if recorded is None:
        return provider != "b"  # PostgreSQL's own
    return recorded != here


def _versions(recorded: str | None, here: str | None) -> str:
    if recorded is None:
        return "a library whose version is not recorded (Alpine, macOS, PostgreSQL before 15)"
    return f"version {recorded}, here it is {here or 'unknown'}"
