"""Settings that a copy's catalogue holds for roles and databases (pg_db_role_setting): they count
more than those of a study or an arm. Those of our own role are cleared, and libraries that the
build has not; the others are named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from steelyard.engines.intake import Neutralised
from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.intake.accepting import without_missing_libraries
from steelyard.engines.postgres.intake.configuration import (
    PRELOADING,
    listed,
    neutralise,
    printable,
)
from steelyard.engines.postgres.life.data_directory import SUPERUSER
from steelyard.engines.postgres.life.recovery import MAINTENANCE

if TYPE_CHECKING:
    import psycopg

RESET_BEFORE_LOGIN = (
    "SELECT 'steelyard resets ' || split_part(setting, '=', 1) AS what"
    " FROM pg_catalog.pg_db_role_setting, unnest(setconfig) AS setting"
    f" WHERE setrole = '{SUPERUSER}'::regrole AND setdatabase = 0",
    f"ALTER ROLE {SUPERUSER} RESET ALL",
    f"ALTER ROLE {SUPERUSER} IN DATABASE {MAINTENANCE} RESET ALL",
)
"""Statements for a server in single-user mode: with some settings no session can begin."""
_RESET = re.compile(r'what = "steelyard resets (.*)"\t\(typeid')
_WHY = "it would count more than what a study or an arm says"
_MOST_ROLES = 5


def settings_reset(output: str) -> list[Neutralised]:
    """What RESET_BEFORE_LOGIN cleared, by the words of the server that executed it."""
    return [_neutralised(None, name) for name in _RESET.findall(output)]


def reset_own_role(session: psycopg.Connection) -> list[Neutralised]:
    """Clear what our superuser's sessions would have, in all databases or in one."""
    from psycopg import sql

    rows = session.execute(
        "SELECT datname, split_part(unnest(setconfig), '=', 1) FROM pg_catalog.pg_db_role_setting"
        " LEFT JOIN pg_catalog.pg_database AS d ON d.oid = setdatabase"
        " WHERE setrole = %s::regrole ORDER BY 1 NULLS FIRST, 2",
        [SUPERUSER],
    ).fetchall()
    role = sql.Identifier(SUPERUSER)
    for database in dict.fromkeys(datname for datname, _ in rows):
        statement = sql.SQL("ALTER ROLE {} RESET ALL").format(role)
        if database is not None:
            in_one = sql.SQL("ALTER ROLE {} IN DATABASE {} RESET ALL")
            statement = in_one.format(role, sql.Identifier(database))
        session.execute(statement)
    return [_neutralised(datname, str(name)) for datname, name in rows]


def reset_missing_libraries(session: psycopg.Connection, build: Build) -> list[Neutralised]:
    """Take out of what databases preload for their sessions (ALTER DATABASE … SET
    session_preload_libraries) what the build has not: no session of such a database begins; and
    libraries at a path of their own, which the data may have brought."""
    from psycopg import sql

    rows = session.execute(
        "SELECT datname, split_part(setting, '=', 1), substr(setting, strpos(setting, '=') + 1)"
        " FROM pg_catalog.pg_db_role_setting JOIN pg_catalog.pg_database AS d ON d.oid ="
        " setdatabase, unnest(setconfig) AS setting WHERE setrole = 0 ORDER BY 1, 2"
    ).fetchall()
    gone = []
    for database, name, value in rows:
        if name not in PRELOADING:
            continue
        rest = without_missing_libraries(build, neutralise({name: value}))
        if not rest.neutralised:
            continue
        libraries = listed(rest.settings.get(name, ""))
        altered = sql.SQL("ALTER DATABASE {} ").format(sql.Identifier(database))
        reset = sql.SQL("RESET {}").format(sql.Identifier(name))
        values = sql.SQL(", ").join(map(sql.Literal, libraries))
        changed = sql.SQL("SET {} TO {}").format(sql.Identifier(name), values)
        session.execute(altered + (changed if libraries else reset))
        gone += [
            Neutralised(printable(f"{omitted.what} of database {database}"), omitted.why)
            for omitted in rest.neutralised
        ]
    return gone


def _neutralised(database: str | None, name: str) -> Neutralised:
    where = "" if database is None else f" IN DATABASE {database}"
    return Neutralised(printable(f"ALTER ROLE {SUPERUSER}{where} SET {name}"), _WHY)


def setting_doubts(session: psycopg.Connection) -> Iterator[str]:
    """Where the database itself sets what a study or an arm may set, and where roles set what their
    own sessions would have."""
    rows = session.execute(
        "SELECT DISTINCT split_part(unnest(setconfig), '=', 1) FROM pg_catalog.pg_db_role_setting"
        " WHERE setrole = 0 AND setdatabase IN"
        " (0, (SELECT oid FROM pg_catalog.pg_database WHERE datname = %s)) ORDER BY 1",
        [DATABASE],
    ).fetchall()
    if rows:
        names = ", ".join(str(name) for (name,) in rows)
        yield (
            f"the database itself sets {names} (ALTER DATABASE, ALTER ROLE ALL): "
            "that counts more than what a study or an arm says"
        )
    yield from _role_doubts(session)


def _role_doubts(session: psycopg.Connection) -> Iterator[str]:
    """Of roles that log in: what a role sets is no other's that SET ROLE makes of it."""
    rows = session.execute(
        "SELECT rolname, string_agg(DISTINCT split_part(setting, '=', 1), ', ')"
        " FROM pg_catalog.pg_db_role_setting JOIN pg_catalog.pg_roles AS r ON r.oid = setrole,"
        " unnest(setconfig) AS setting WHERE rolcanlogin AND rolname <> %s AND setdatabase IN"
        " (0, (SELECT oid FROM pg_catalog.pg_database WHERE datname = %s))"
        " GROUP BY rolname ORDER BY rolname",
        [SUPERUSER, DATABASE],
    ).fetchall()
    if rows:
        roles = ", ".join(f"{printable(str(role))} ({names})" for role, names in rows[:_MOST_ROLES])
        more = len(rows) - _MOST_ROLES
        roles += f", and {more} more" if more > 0 else ""
        yield (
            f"scripts run as {SUPERUSER}, without what roles set for their own sessions (ALTER "
            f"ROLE): {roles}; --set settings.NAME=VALUE weighs with a value"
        )
