"""Makes the connection string of an arm's sessions: where they go, and with which settings."""

from __future__ import annotations

import re
from dataclasses import fields

from steelyard.engines.engine import Settings
from steelyard.engines.postgres.libpq.connection_string import (
    GivenAddress,
    connection_words,
    read_target,
)
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import UsageError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


def session_address(
    common: str | None, own: str | None, settings: Settings, database: str | None
) -> GivenAddress:
    """Where the sessions of an arm go: the study's words, then the arm's own, then `database`
    where it is not None; `settings` hold from the first statement on.

    UsageError: not a connection string, or a name that no setting has.
    """
    from psycopg.conninfo import make_conninfo

    words = {**connection_words(common or ""), **connection_words(own or "")}
    if database is not None:
        words["dbname"] = database
    told = [words["options"]] if words.get("options") else []
    told += [_option(name, value) for name, value in settings.items()]
    if told:
        words["options"] = " ".join(told)
    whole = make_conninfo("", **words)
    target = read_target(whole)
    given = {one.name: getattr(target, one.name) for one in fields(Endpoint)}
    # A server lets what comes by the environment (PGGEQO) count before `options`.
    own_names = {name.lower() for name in settings} - {"client_encoding"}
    given["settings"] = tuple(one for one in target.settings if one[0] not in own_names)
    return GivenAddress(**given, words=whole)


def _option(name: str, value: str) -> str:
    """As libpq's `options` have it: a space or a backslash is led by a backslash."""
    if _NAME.fullmatch(name) is None:
        raise UsageError(f'no setting has the name "{name}"')
    escaped = re.sub(r"([\s\\])", r"\\\1", value)
    return f"-c {name}={escaped}"
