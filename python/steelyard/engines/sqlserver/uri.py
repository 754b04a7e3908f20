"""Reads the URI of a SQL Server, in the words of Microsoft's own drivers.

sqlserver://USER:PASSWORD@HOST:PORT/DATABASE?encrypt=strict&certificate=FILE
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from steelyard.engines.server_uri import ServerUri, seconds_ns, split_uri
from steelyard.model.endpoint import SQLSERVER, Endpoint, Tls
from steelyard.model.errors import UsageError
from steelyard.model.secrets.secret import Secret

SCHEME = "sqlserver://"
PORT = 1433
_ENCRYPT = {
    "strict": "strict",
    "mandatory": "mandatory",
    "true": "mandatory",
    "yes": "mandatory",
    "disable": "disable",
}
"""`encrypt` as drivers of Microsoft's take it → as it is meant here."""
_OF_CERTIFICATES = ("certificate", "host-name-in-certificate")
_LOGIN_ALONE = ("optional", "false", "no")
_YES: Mapping[str, bool] = {"yes": True, "true": True, "no": False, "false": False}
_WORDS = (
    "encrypt",
    "trust-server-certificate",
    "certificate",
    "host-name-in-certificate",
    "connect-timeout",
)


def is_sqlserver(target: str) -> bool:
    """Whether a target is such a URI."""
    return target.lower().startswith(SCHEME)


def read_uri(target: str) -> Endpoint:
    """Where a URI leads. UsageError: it is wrong, or requests what is not supported.

    A password that is not in it is taken from SQLCMDPASSWORD, as sqlcmd does.
    """
    uri = split_uri(target, PORT)
    parameters = _parameters(uri)
    if not uri.host:
        raise UsageError(
            f'no address: "{uri.shown}"', hint="Name a host: sqlserver://user@host/database"
        )
    if "\\" in uri.host or uri.nested:
        raise UsageError(
            f'instances are not found by their names: "{uri.shown}"',
            hint="Name the port that the instance listens on.",
        )
    if not uri.user:
        raise UsageError(
            f'no user: "{uri.shown}"',
            hint="Only logins of SQL Server's own are known here: sqlserver://user@host/database",
        )
    return Endpoint(
        host=uri.host,
        port=uri.port,
        user=uri.user,
        database=uri.database,
        password=(
            Secret.of(os.environ.get("SQLCMDPASSWORD")) if uri.password is None else uri.password
        ),
        tls=_tls(uri.host, parameters),
        connect_timeout_ns=seconds_ns(parameters, "connect-timeout"),
        protocol=SQLSERVER,
    )


def without_password(target: str) -> tuple[str, Secret | None]:
    """A URI as it may be kept, and its password; None: it has none. UsageError."""
    uri = split_uri(target, PORT)
    return uri.bare, uri.password


def _parameters(uri: ServerUri) -> dict[str, str]:
    """By our spelling; Microsoft's, `TrustServerCertificate`, means the same."""
    spellings = {word.replace("-", ""): word for word in _WORDS}
    return uri.parameters(lambda name: spellings.get(name.lower().replace("-", ""), ""), _WORDS)


def _tls(host: str, parameters: Mapping[str, str]) -> Tls | None:
    encrypt = parameters.get("encrypt", "mandatory").lower()
    if encrypt in _LOGIN_ALONE:
        raise UsageError(
            f"encrypt={encrypt} would encrypt the login alone, and send all else in plain text",
            hint="Use encrypt=mandatory, or encrypt=disable for plain text, the password too.",
        )
    encryption = _ENCRYPT.get(encrypt)
    if encryption is None:
        raise UsageError(f'invalid encrypt: "{encrypt}"', hint="Known: strict, mandatory, disable.")
    roots = parameters.get("certificate", "")
    if roots and not os.path.isfile(roots):
        raise UsageError(f'could not read certificate "{roots}": there is no such file')
    trusted = _trusts_any(parameters)
    if trusted and (roots or encryption == "strict"):
        raise UsageError(
            "trust-server-certificate would leave the certificate unread",
            hint="Strict encryption and a certificate of your own are there to be verified.",
        )
    if encryption == "disable":
        unread = [word for word in _OF_CERTIFICATES if parameters.get(word)]
        if unread:
            raise UsageError(
                f"encrypt=disable would leave {unread[0]} unread: nothing is encrypted",
                hint="Say encrypt=mandatory or strict.",
            )
        return None
    return Tls(
        mode="require" if trusted else "verify-full",
        server_name=parameters.get("host-name-in-certificate") or host,
        tells_name=True,
        direct=encryption == "strict",
        roots=roots,
        system_roots=not roots and not trusted,
        revoked="",
        certificate=None,
        key="",
        least_version="TLSv1.2",
        most_version=None,
    )


def _trusts_any(parameters: Mapping[str, str]) -> bool:
    trust = parameters.get("trust-server-certificate", "no").lower()
    if trust not in _YES:
        raise UsageError(f'invalid trust-server-certificate: "{trust}"; accepted: yes, no')
    return _YES[trust]
