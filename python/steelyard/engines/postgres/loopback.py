"""Lets a server listen on loopback, encrypted where requested, for our own load alone.

Every user of this machine could connect to a port: so there the superuser needs a password, drawn
at each start of the server and written to no file.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.engine import Settings, Slot
from steelyard.engines.local.owned_files import text_below
from steelyard.engines.postgres.libpq.connection_string import OwnAddress
from steelyard.engines.postgres.sql.session import connect
from steelyard.engines.programs import run
from steelyard.model.endpoint import Endpoint, Tls
from steelyard.model.errors import EngineError
from steelyard.model.secrets.secret import Secret

LOOPBACK = "127.0.0.1"
SOCKET_ALONE = "local all all trust\n"
"""The access file of a copy of external data: every role at its socket, none by TCP."""
_ACCESS = f"{SOCKET_ALONE}host all all 127.0.0.1/32 scram-sha-256\n"
_REPLICATES = "local replication all trust\n"
_LISTENS, _ENCRYPTS = "listen_addresses", "ssl"
_INITDBS = "# PostgreSQL Client Authentication Configuration File"
"""How the file begins that initdb makes, which trusts every user of this machine."""
_ON = ("on", "true", "yes", "1")


def listening(*, encrypted: bool) -> dict[str, str]:
    """The settings of a server that is reached by TCP."""
    return {_LISTENS: LOOPBACK, **({_ENCRYPTS: "on"} if encrypted else {})}


def loopback_arguments(
    slot: Slot, directory: Path, settings: Settings, account: Account
) -> list[str]:
    """What a server with these settings is started with besides: who may connect, unless its data
    directory says so itself, and where TLS is on and there is no certificate, one that is made for
    the slot. EngineError: it could not be."""
    additions: dict[str, str] = {}
    if settings.get(_LISTENS) and _is_of_ours(directory):
        additions["hba_file"] = str(_access_file(slot, _ACCESS))
    if settings.get(_ENCRYPTS, "").lower() in _ON and not _has_certificate(directory, settings):
        certificate, key = certificate_of(slot, account)
        additions |= {"ssl_cert_file": str(certificate), "ssl_key_file": str(key)}
    return [part for name, value in additions.items() for part in ("-c", f"{name}={value}")]


def access_arguments(slot: Slot) -> list[str]:
    """Who may connect, whatever the data directory says: everybody at the socket, replication
    too."""
    return ["-c", f"hba_file={_access_file(slot, _ACCESS + _REPLICATES)}"]


def _access_file(slot: Slot, text: str) -> Path:
    access = slot.path / "access.conf"
    access.write_text(text)
    access.chmod(0o644)
    return access


def _is_of_ours(directory: Path) -> bool:
    """Whether its access file is the one that initdb made, or that of a copy."""
    try:
        text = text_below(directory, "pg_hba.conf")
    except FileNotFoundError:
        return True
    return text == SOCKET_ALONE or text.startswith(_INITDBS)


def _has_certificate(directory: Path, settings: Settings) -> bool:
    return "ssl_cert_file" in settings or os.path.lexists(directory / "server.crt")


def set_password(conninfo: str, user: str) -> Secret:
    """A new password of a user, set over the socket."""
    password = secrets.token_urlsafe(24)
    with connect(conninfo) as connection:
        connection.execute("SET log_statement = none")
        connection.execute("SET log_min_duration_statement = -1")
        connection.execute(f"ALTER ROLE \"{user}\" PASSWORD '{password}'".encode())
    return Secret(password)


def loopback_endpoint(
    address: Endpoint, database: str, password: Secret, *, encrypted: bool
) -> Endpoint:
    """Where clients connect, of the address of the socket."""
    return OwnAddress(
        LOOPBACK,
        address.port,
        address.user,
        database,
        password=password,
        tls=_tls(Path(address.host)) if encrypted else None,
    )


def _tls(nowhere: Path) -> Tls:
    """As `sslmode=require`: encrypted, by whatever certificate the server has."""
    return Tls(
        mode="require",
        server_name=LOOPBACK,
        tells_name=False,
        direct=False,
        roots=str(nowhere / "no-roots.crt"),
        system_roots=False,
        revoked=str(nowhere / "none-revoked.crl"),
        certificate=None,
        key=str(nowhere / "no.key"),
        least_version="TLSv1.2",
        most_version=None,
    )


def certificate_of(slot: Slot, account: Account) -> tuple[Path, Path]:
    """A self-signed certificate and its key, made once for a slot. EngineError: they could not
    be."""
    directory = slot.path / "tls"
    certificate, key = directory / "server.crt", directory / "server.key"
    if os.path.lexists(certificate):
        return certificate, key
    account.make_directory(directory)
    command = [
        *("openssl", "req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=steelyard"),
        *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
        *("-keyout", str(key), "-out", str(certificate)),
    ]
    status, output = run(account, command, directory=directory)
    if status != 0:
        raise EngineError("could not make a certificate by openssl", detail=output.strip() or None)
    return certificate, key
