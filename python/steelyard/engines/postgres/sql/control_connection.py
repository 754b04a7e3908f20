"""Opens control connections: those that load, check and explain, beside the driver's own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError, UsageError

if TYPE_CHECKING:
    import psycopg

# What psycopg ignores in closing a connection that broke is no second message to the user.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


@dataclass(frozen=True)
class GivenAddress(Endpoint):
    """An address that a user gave: what else the connection string says is kept."""

    words: str = ""

    def conninfo(self) -> str:
        """The string as it was given, but for the database."""
        from psycopg.conninfo import make_conninfo

        return make_conninfo(self.words, dbname=self.database)


def on_this_machine(host: str) -> bool:
    """Whether a host of a connection string is this machine, or a socket on it."""
    return host in ("", "localhost", "127.0.0.1", "::1") or host.startswith("/")


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


@contextmanager
def connected(address: Endpoint) -> Iterator[psycopg.Connection]:
    """A control connection in autocommit; errors of the server become a ServerError."""
    import psycopg

    # Even empty, "options" keep PGOPTIONS of the caller out of the session. Checks and probes of a
    # server of ours have all the time they need; on one of a user its own limits hold.
    options = "" if isinstance(address, GivenAddress) else "-c statement_timeout=0"
    try:
        with psycopg.connect(address.conninfo(), options=options, autocommit=True) as connection:
            yield connection
    except psycopg.Error as error:
        raise ServerError(
            f'could not work on database "{address.database}" at "{address.host}"',
            detail=str(error).strip(),
        ) from error
