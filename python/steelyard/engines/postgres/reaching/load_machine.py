"""Finds the password of a load machine for a server, and ends the sessions of a lost one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from steelyard.engines.postgres.guarded.connection import guarded
from steelyard.engines.postgres.libpq.connection_string import (
    GivenAddress,
    conninfo_of,
    read_target,
    without_password,
)
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError
from steelyard.model.secrets.secret import Secret

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

    words = without_password(conninfo_of(endpoint))
    named = make_conninfo(words, application_name=endpoint.application_name)
    known = {one.name: getattr(endpoint, one.name) for one in fields(Endpoint)}
    return GivenAddress(**{**known, "password": None}, words=named)


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
