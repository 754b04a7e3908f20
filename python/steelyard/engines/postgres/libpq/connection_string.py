"""Writes and reads connection strings, and the like options of PostgreSQL's client programs."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import UsageError


@dataclass(frozen=True)
class GivenAddress(Endpoint):
    """An address that a user gave: what else the connection string says is kept."""

    words: str = ""


def conninfo_of(endpoint: Endpoint) -> str:
    """A connection string without a password; of an address that a user gave, the string as it was
    given, but for the database."""
    if isinstance(endpoint, GivenAddress):
        from psycopg.conninfo import make_conninfo

        return make_conninfo(endpoint.words, dbname=endpoint.database)
    return (
        f"host={endpoint.host} port={endpoint.port} user={endpoint.user} dbname={endpoint.database}"
    )


def client_flags(endpoint: Endpoint) -> list[str]:
    """Command-line options of PostgreSQL's client programs for the server, not the database."""
    return ["-h", endpoint.host, "-p", str(endpoint.port), "-U", endpoint.user]


def connection_words(target: str) -> dict[str, str]:
    """The keywords of a connection string or URI with their values; UsageError: it is neither."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        return {word: str(value) for word, value in conninfo_to_dict(target).items()}
    except psycopg.Error as error:
        raise UsageError(
            f'invalid connection string: "{target}"', detail=str(error).strip()
        ) from error


def on_this_machine(host: str) -> bool:
    """Whether a host of a connection string is this machine, or a socket on it."""
    return host in ("", "localhost", "127.0.0.1", "::1") or host.startswith("/")
