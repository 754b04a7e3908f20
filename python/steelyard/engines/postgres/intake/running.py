"""Takes a base backup of a running server, where it allows that."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.cache import free_bytes
from steelyard.engines.postgres.guarded.connection import guarded, timeout_s
from steelyard.engines.postgres.intake.base_backup import run_backup
from steelyard.engines.postgres.intake.client_programs import client_program
from steelyard.engines.postgres.libpq.connection_string import connection_words, without_password
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.units import format_bytes

_ANSWER_S = 60.0
"""The size of every tablespace: the server looks at each of its files."""


@dataclass(frozen=True)
class RunningServer:
    """A server that can be copied."""

    target: str  # its connection string, without a password
    password: str | None
    version: str
    bytes: int
    tablespaces: tuple[str, ...]  # their directories


def ask_running(target: str) -> RunningServer:
    """What a running server reports of itself. ServerError: it cannot be reached."""
    import psycopg

    words = connection_words(target)
    where = words.get("host") or words.get("hostaddr") or "the local socket"
    try:
        with guarded(target, where=where, answer_s=_ANSWER_S) as session:
            row = session.execute(
                "SELECT current_setting('server_version'),"
                " (SELECT sum(pg_catalog.pg_tablespace_size(oid)) FROM pg_catalog.pg_tablespace),"
                " (SELECT coalesce(array_agg(place), '{}') FROM (SELECT"
                " pg_catalog.pg_tablespace_location(oid) AS place FROM pg_catalog.pg_tablespace)"
                " AS known WHERE place <> '')"
            ).fetchone()
            used = session.info.password or None
    except psycopg.Error as error:
        raise ServerError(
            "could not reach the server that is to be copied", detail=str(error).strip()
        ) from error
    assert row is not None  # one row, always
    return RunningServer(
        target=without_password(target),
        password=words.get("password", used),
        version=str(row[0]).split()[0],
        bytes=int(row[1]),
        tablespaces=tuple(row[2]),
    )


def back_up(server: RunningServer, directory: Path) -> None:
    """Take a base backup into a directory that does not exist yet, with the log that it needs.

    EngineError: there is no room; ServerError: the server does not allow it.
    """
    from psycopg.conninfo import make_conninfo

    free = free_bytes(directory.parent)
    if free < 2 * server.bytes:  # it, and the copy that is made of it
        raise EngineError(
            f"could not copy the server: {format_bytes(2 * server.bytes)} are needed, "
            f"{format_bytes(free)} are free",
            hint="Free some room, or move the cache: STEELYARD_CACHE.",
        )
    program, environment = client_program("pg_basebackup")
    data = directory / "data"
    directory.mkdir(mode=0o700)
    moved = [
        part
        for number, place in enumerate(server.tablespaces)
        for part in ("-T", f"{place.replace('=', chr(92) + '=')}={directory / f'space{number}'}")
    ]
    target = make_conninfo(server.target, connect_timeout=timeout_s(server.target) or 0)
    command = [program, "-d", target, "-D", str(data), "-X", "stream", "-c", "fast"]
    password = {"PGPASSWORD": server.password} if server.password else {}
    status, words = run_backup(
        [*command, "--no-sync", "--no-password", *moved], {**environment, **password}, directory
    )
    if status != 0:
        raise ServerError(
            "could not take a base backup of the server",
            detail=words.strip() or None,
            hint="It needs a role with REPLICATION, a line for it in pg_hba.conf, and two free "
            "max_wal_senders; else stop the server and name its data directory.",
        )
