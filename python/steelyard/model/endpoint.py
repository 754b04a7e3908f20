"""Holds where a server listens and how it is reached: address, user, encryption, credentials."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.model.secrets.secret import Secret

POSTGRES, MYSQL, SQLSERVER = "postgres", "mysql", "sqlserver"
"""What a server speaks; MariaDB's protocol is MySQL's."""


@dataclass(frozen=True)
class Tls:
    """How a connection is to be encrypted, as the driver's plan has it."""

    mode: str
    """libpq's `sslmode`, without "disable"."""
    server_name: str
    """The name that the server's certificate must bear."""
    tells_name: bool
    direct: bool
    roots: str
    system_roots: bool
    revoked: str
    certificate: str | None
    key: str
    least_version: str
    most_version: str | None


@dataclass(frozen=True)
class Endpoint:
    """A database on a server that can be reached; a host that begins with `/` is the directory of
    a Unix socket."""

    host: str
    port: int
    user: str
    database: str
    password: Secret | None = None
    options: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    """Settings by name that its sessions begin with."""
    application_name: str = "steelyard"
    tls: Tls | None = None
    channel_binding: str = "prefer"
    require_auth: str | None = None
    connect_timeout_ns: int | None = None
    """None: the driver's own limit."""
    protocol: str = POSTGRES
    """Of MySQL's, a host that begins with `/` is the path of the socket itself."""


def on_this_machine(host: str) -> bool:
    """Whether a host as a user gives it is this machine, or a socket on it."""
    return host in ("", "localhost", "127.0.0.1", "::1") or host.startswith("/")


_SQLSTATE_LETTERS = 5


def error_words(code: str, protocol: str = POSTGRES) -> str:
    """How an error is named by its code: "SQLSTATE 40001", or "error 1205" where the server numbers
    its errors. SQL Server's numbers may be as long as a SQLSTATE: `protocol` tells them apart."""
    as_long = len(code) == _SQLSTATE_LETTERS
    numbered = code.isdigit() and (
        not as_long or (protocol == SQLSERVER and not code.startswith("0"))
    )
    return f"error {code}" if numbered else f"SQLSTATE {code}"
