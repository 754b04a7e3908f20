"""Asks a running server for its settings, and takes a base backup of it, where it allows that."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.engines.account import Account, choose_account
from steelyard.engines.cache import free_bytes, require_room
from steelyard.engines.intake import Report
from steelyard.engines.local.owned_files import replace_text
from steelyard.engines.own_backup import DATA, mark_backup
from steelyard.engines.postgres.guarded.connection import (
    GuardedConnection,
    Info,
    guarded,
    timeout_s,
)
from steelyard.engines.postgres.intake.base_backup import run_backup
from steelyard.engines.postgres.intake.client_programs import newest_client
from steelyard.engines.postgres.intake.configuration import LEFT_OUT, neutralise, printable
from steelyard.engines.postgres.intake.copying import CopyProgress
from steelyard.engines.postgres.libpq.connection_words import (
    connection_words,
    file_of,
    without_password,
)
from steelyard.engines.postgres.life.command_line import (
    POSTMASTER_OPTIONS,
    options_of,
    parse_arguments,
)
from steelyard.engines.postgres.life.control import read_beginning
from steelyard.model.errors import ServerError, UsageError
from steelyard.model.files.small_file import read_small
from steelyard.model.secrets.redaction import is_secret_setting
from steelyard.model.secrets.secret import Secret
from steelyard.model.units import format_bytes

_NO_DATABASE = re.compile(r'FATAL:\s+database "[^"]*" does not exist')
_CLIENTS_CERTIFICATE = re.compile(
    r"client certificate|certificate authentication|certificate file|private key"
)
"""In words of a server or libpq: it needs one that was not sent, or that could not be read."""
_ANSWER_S = 60.0
"""The size of every tablespace: the server looks at each of its files."""


@dataclass(frozen=True)
class RunningServer:
    """A server that can be copied."""

    target: str  # a connection string that leads to it from anywhere, without a password
    password: Secret | None
    version: str
    bytes: int | None  # None: the role may not read the size
    tablespaces: tuple[str, ...]  # their directories
    databases: tuple[tuple[str, int | None], ...]  # name, bytes; None: not shown
    connected: str  # the database that string, service or environment name; "postgres": they do not
    settings: Mapping[str, str] = field(repr=False)  # as its files and its command line have them
    partial: str = ""  # why these are not all, with what to type; "": they are
    slots: tuple[tuple[str, bool], ...] = ()  # replication slots: name, whether logical
    identifier: int | None = None  # of the cluster; None: the role may not read it
    database: str = ""  # the one that was asked in
    overlaid: str = ""  # why what that one sets itself is not all of the server's, likewise

    def partial_for(self, database: str | None) -> str:
        """`partial` where a database is weighed: what the one that was asked in sets itself counts
        in its copy too; of another, it is in place of what the files say."""
        overlaid = self.overlaid if database != self.database else ""
        return "; ".join(why for why in (self.partial, overlaid) if why)

    def require_database(self, name: str | None) -> str | None:
        """The database to be weighed: the one that is named, else that of the connection string;
        None: the only one there is. UsageError lists them."""
        databases = dict(self.databases)
        chosen = name or (self.connected if self.connected != "postgres" else None)
        others = [database for database in databases if database != "postgres"]
        listed = ", ".join(
            database if size is None else f"{database} ({format_bytes(size)})"
            for database, size in databases.items()
        )
        if chosen is None and len(others) > 1:
            raise UsageError(
                "cannot choose among several databases", detail=f"There are {listed}.",
                hint="Name one: --database NAME",
            )  # fmt: skip
        if chosen is not None and chosen not in databases:
            raise UsageError(
                f'there is no database "{chosen}" on it', detail=f"There are {listed}."
            )
        return chosen


_SERVER = (
    "SELECT current_setting('server_version'), current_user::text,"
    " pg_catalog.pg_has_role(current_user, 'pg_read_all_settings', 'USAGE'),"
    " (SELECT coalesce(array_agg(place), '{}') FROM (SELECT"
    " pg_catalog.pg_tablespace_location(oid) AS place FROM pg_catalog.pg_tablespace)"
    " AS known WHERE place <> ''), pg_catalog.current_database()::text"
)
_SIZE = "SELECT sum(pg_catalog.pg_tablespace_size(oid))::bigint FROM pg_catalog.pg_tablespace"
_DATABASES = (
    "SELECT datname::text, CASE WHEN pg_catalog.has_database_privilege(oid, 'CONNECT')"
    " THEN pg_catalog.pg_database_size(oid) END"
    " FROM pg_catalog.pg_database WHERE NOT datistemplate AND datallowconn ORDER BY datname"
)
# What the role, the database or the session itself sets lies over what the files say.
_SETTINGS = (
    "SELECT name, reset_val FROM pg_catalog.pg_settings"
    " WHERE source IN ('configuration file', 'command line') AND reset_val IS NOT NULL"
)
_SLOTS = (
    "SELECT slot_name::text, slot_type = 'logical' FROM pg_catalog.pg_replication_slots"
    " WHERE NOT temporary ORDER BY slot_name"
)
_IDENTIFIER = "SELECT system_identifier FROM pg_catalog.pg_control_system()"
_FILES = (
    "SELECT name, setting FROM pg_catalog.pg_file_settings WHERE applied AND name NOT IN"
    " (SELECT name FROM pg_catalog.pg_settings WHERE source IN ('configuration file',"
    " 'command line')) AND setting IS NOT NULL"
)
_COMMAND_LINE = f"SELECT pg_catalog.pg_read_file('{POSTMASTER_OPTIONS}', 0, 1000000, true)"
# What ALTER ROLE ALL sets counts in the copy too; the two are of every session.
_OVERLAID = (
    "SELECT name, source = 'database' FROM pg_catalog.pg_settings WHERE source IN"
    " ('database', 'user', 'database user', 'client', 'session')"
    " AND name NOT IN ('application_name', 'client_encoding') ORDER BY name"
)


def ask_running(target: str) -> RunningServer:
    """What a running server reports of itself, as far as its role may see it. ServerError: it is
    not reached, or does not let us in; UsageError: it has no such database, and which there are.

    REPLICATION is enough: what else a role may not read is left open.
    """
    parameters = connection_words(target)
    with _session(target, parameters) as session:
        row = session.execute(_SERVER.encode()).fetchone()
        assert row is not None  # one row, always
        version, role, all_settings, tablespaces, database = row
        databases = session.execute(_DATABASES.encode()).fetchall()
        settings: dict[str, str] = dict(session.execute(_SETTINGS.encode()).fetchall())
        files, started = _allowed(session, _FILES), _allowed(session, _COMMAND_LINE)
        settings = {**dict(files or ()), **_only_started_with(started, settings), **settings}
        size = _allowed(session, _SIZE)
        slots = _allowed(session, _SLOTS) or []
        identifier = _allowed(session, _IDENTIFIER)
        overlaid: list[tuple[str, bool]] = []
        if files is None or started is None:
            overlaid += session.execute(_OVERLAID.encode()).fetchall()
        own = _overlaid(f'role "{role}" or its session', [n for n, by in overlaid if not by])
        partial = [*([] if all_settings else [_partial(str(role))]), *([own] if own else [])]
        return RunningServer(
            target=_leading_to(target, session.info),
            password=Secret.of(parameters.get("password", session.info.password or None)),
            version=str(version).split()[0],
            bytes=int(size[0][0]) if size and size[0][0] is not None else None,
            tablespaces=tuple(tablespaces),
            databases=tuple((str(name), database_bytes) for name, database_bytes in databases),
            connected=parameters.get("dbname") or session.info.configured_database or "postgres",
            settings={str(name).lower(): str(value) for name, value in settings.items()},
            partial="; ".join(partial),
            slots=tuple((str(name), bool(logical)) for name, logical in slots),
            identifier=int(identifier[0][0]) if identifier else None,
            database=str(database),
            overlaid=_overlaid(f'database "{database}"', [n for n, by in overlaid if by]),
        )


_CHOOSING = frozenset(
    {
        *("host", "hostaddr", "port", "service", "servicefile"),
        *("target_session_attrs", "load_balance_hosts"),
    }
)
"""Words by which a server is chosen: it is, by now."""
_OF_SESSIONS = frozenset(
    {
        *("dbname", "options", "application_name", "fallback_application_name"),
        *("client_encoding", "connect_timeout", "passfile", "replication"),
    }
)
"""Words about a session, which a service or the environment may add for others than a backup's."""


def _leading_to(target: str, info: Info) -> str:
    """A connection string for the server that answered, at its address, as the same role and as
    safely: for a program that has neither our environment nor our services, nor a choice of its
    own among several hosts. UsageError: it holds a secret other than a password."""
    from psycopg.conninfo import make_conninfo

    in_string = connection_words(without_password(target))
    elsewhere = {word: value for word, value in info.words.items() if word not in _OF_SESSIONS}
    secrets = {word for word, value in elsewhere.items() if is_secret_setting(word, value)}
    choosing = _CHOOSING - {"service"} if secrets else _CHOOSING  # the service has them
    address = {"host": info.host, "hostaddr": info.hostaddr, "port": info.port}
    words = {
        **{word: value for word, value in elsewhere.items() if word not in choosing | secrets},
        **{word: value for word, value in address.items() if value},
        **{word: value for word, value in in_string.items() if word not in choosing},
    }
    return make_conninfo("", **words)


def reported_settings(server: RunningServer) -> dict[str, str]:
    """The settings to be kept for a copy: of what a copy is without only the names, with a mark
    where it is by their values that they are left out."""
    left = {setting.what for setting in neutralise(server.settings).neutralised}
    return {
        name: _without_secret(name, value) if printable(name) in left else value
        for name, value in server.settings.items()
    }


def _without_secret(name: str, value: str) -> str:
    if neutralise({name: ""}).neutralised:
        return ""  # it is left out by its name alone
    return LEFT_OUT if is_secret_setting(name, value) else value


def _partial(role: str) -> str:
    return (
        f'role "{role}" may not read all settings of the server: those that only superusers see, '
        "such as shared_preload_libraries, are not weighed; "
        f'type GRANT pg_read_all_settings TO "{role}" there, or name its file: --config FILE'
    )


def _overlaid(by: str, names: Sequence[str]) -> str:
    """Why the server's own values of settings are not known; "": they are, or a copy has none."""
    names = [name for name in names if neutralise({name.lower(): ""}).settings]
    if not names:
        return ""
    return (
        f"{by} sets {', '.join(names)} in place of the server: what its files say of that cannot "
        "be seen, and is not weighed; name its file: --config FILE, or ask as a superuser"
    )


def _only_started_with(
    rows: Sequence[tuple[Any, ...]] | None, reported: Mapping[str, str]
) -> dict[str, str]:
    """What a command line says that the server does not report, since a role or a database sets
    another value, or no library knows it yet."""
    started = parse_arguments(options_of(str(rows[0][0] or ""))).settings if rows else {}
    return {name: value for name, value in started.items() if name not in reported}


def _session(target: str, parameters: Mapping[str, str]) -> GuardedConnection:
    """A session of the server; of another database where libpq named one that is not there."""
    import psycopg
    from psycopg.conninfo import make_conninfo

    where = parameters.get("host") or parameters.get("hostaddr") or "the local socket"
    options = parameters.get("options", "")  # even empty, they keep PGOPTIONS out
    try:
        return guarded(target, where=where, answer_s=_ANSWER_S, options=options)
    except psycopg.Error as error:
        failure = error
    message = str(failure).strip()
    if _NO_DATABASE.search(message):
        for other in ("postgres", "template1"):
            try:
                other_target = make_conninfo(target, dbname=other)
                session = guarded(other_target, where=where, answer_s=_ANSWER_S, options=options)
            except psycopg.Error:
                continue
            if "dbname" not in parameters:  # a service or the environment, or the role, names it
                return session
            with session:
                rows = session.execute(_DATABASES.encode()).fetchall()
            raise UsageError(
                f'there is no database "{parameters["dbname"]}" on the server that is to be copied',
                detail=f"There are {', '.join(str(name) for name, _ in rows)}.",
            )
    if "FATAL:" in message:
        raise ServerError(
            "could not log in to the server that is to be copied", detail=message
        ) from failure
    raise ServerError(
        "could not reach the server that is to be copied", detail=message
    ) from failure


def _allowed(session: GuardedConnection, query: str) -> list[tuple[Any, ...]] | None:
    """The rows of a query; None: the role may not read them, or they are no text."""
    import psycopg

    try:
        return session.execute(query.encode()).fetchall()
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.CharacterNotInRepertoire):
        return None


def back_up(
    server: RunningServer,
    directory: Path,
    account: Account | None = None,
    report: Report = lambda _: None,
) -> None:
    """Take a base backup into a directory that does not exist yet, with the log that it needs.

    pg_basebackup unpacks what the server sends under names that the server chooses: it runs as the
    servers' account, and so it needs certificates and keys that this account can read. EngineError:
    there is no room; ServerError: the server does not allow it, or another one was copied.
    """
    from psycopg.conninfo import make_conninfo

    needed = 2 * (server.bytes or 0)  # it, and the copy that is made of it
    require_room("could not copy the server", needed, free_bytes(directory.parent))
    account = account or choose_account()
    program, environment = newest_client("pg_basebackup", account)
    data = directory / DATA
    account.make_directory(directory)
    mark_backup(directory, account)
    moved = [
        part
        for number, location in enumerate(server.tablespaces)
        if os.path.isabs(location)  # one that stands within the data comes with them
        for part in ("-T", f"{location.replace('=', chr(92) + '=')}={directory / f'space{number}'}")
    ]
    target = make_conninfo(
        server.target,
        connect_timeout=timeout_s(server.target) or 0,
        **_verifying_files(server.target, directory, account),
    )
    command = [program, "-d", target, "-D", str(data), "-X", "stream", "-c", "fast"]
    password = {"PGPASSWORD": server.password.reveal()} if server.password else {}
    status, output = run_backup(
        account,
        [*command, "--no-sync", "--no-password", *moved],
        {**environment, **password},
        directory,
        written=CopyProgress(report, server.bytes).reach,
    )
    if status != 0:
        raise ServerError(
            "could not take a base backup of the server",
            detail=output.strip() or None,
            hint=_hint_at_older_program(output, server.version)
            or _hint_at_certificate(account, output)
            + "It needs a role with REPLICATION, a line for it in pg_hba.conf, and two free "
            "max_wal_senders; else stop the server and name its data directory. A managed server "
            "often allows no copy: name a dump of it then, pg_dump -Fc -f FILE DATABASE.",
        )
    _require_same(server, data)


def _verifying_files(target: str, directory: Path, account: Account) -> dict[str, str]:
    """What the server is verified by, for the account: by default it stands in our home, and with
    none in its own libpq may verify nothing. Keys are not handed over."""
    words, files = connection_words(target), dict[str, str]()
    for word, default in (("sslrootcert", "root.crt"), ("sslcrl", "root.crl")):
        path = Path(file_of(words, word, default))
        if words.get(word) == "system" or not path.is_file():
            continue  # as for the session
        replace_text(account, directory / default, read_small(path, errors="replace"))
        files[word] = str(directory / default)
    return files


def _hint_at_older_program(words: str, version: str) -> str:
    """pg_basebackup copies no server of a later major version (BaseBackup of pg_basebackup.c)."""
    if "incompatible server version" not in words:
        return ""
    major = re.split(r"\D", version)[0]
    return f"Bring the programs of its version: steelyard engines add debian-{major}"


def _hint_at_certificate(account: Account, words: str) -> str:
    if not account.switched or _CLIENTS_CERTIFICATE.search(words) is None:
        return ""
    return (
        f'It is taken by account "{account.name}", which has neither the certificate nor the key '
        "of this one: name files that it can read, sslcert=FILE sslkey=FILE. "
    )


def _require_same(server: RunningServer, data: Path) -> None:
    """ServerError: the copy is of another server than the one whose settings are known."""
    try:
        identifier = read_beginning(data).system_identifier
    except (OSError, ValueError):
        return  # said by what opens the copy
    if server.identifier not in (None, identifier):
        raise ServerError(
            "could not take a base backup of the server: another one was copied",
            detail=f"The system identifier of the server is {server.identifier}, "
            f"that of the copy {identifier}.",
            hint="A pooler or balancer may stand between: name the server's own host and port, "
            "--from 'host=... port=...'.",
        )
