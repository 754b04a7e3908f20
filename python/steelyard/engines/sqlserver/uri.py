"""Reads the URI of a SQL Server, in the words of Microsoft's own drivers.

sqlserver://USER:PASSWORD@HOST:PORT/DATABASE?encrypt=strict&certificate=FILE
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from steelyard.model.endpoint import SQLSERVER, Endpoint, Tls
from steelyard.model.errors import UsageError
from steelyard.model.units import NS_PER_S

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
    parts = urlsplit(target)
    words = _words(parts.query)
    try:
        port = parts.port or PORT
    except ValueError as error:
        raise UsageError(f'invalid URI of a server: "{_hidden(target)}": {error}') from error
    host = unquote(parts.hostname or "")
    if not host:
        raise UsageError(
            f'no address: "{_hidden(target)}"', hint="Name a host: sqlserver://user@host/database"
        )
    if "\\" in host or "/" in parts.path.removeprefix("/"):
        raise UsageError(
            f'instances are not found by their names: "{_hidden(target)}"',
            hint="Name the port that the instance listens on.",
        )
    if not parts.username:
        raise UsageError(
            f'no user: "{_hidden(target)}"',
            hint="Only logins of SQL Server's own are known here: sqlserver://user@host/database",
        )
    password = None if parts.password is None else unquote(parts.password)
    return Endpoint(
        host=host,
        port=port,
        user=unquote(parts.username),
        database=unquote(parts.path.removeprefix("/")),
        password=os.environ.get("SQLCMDPASSWORD") if password is None else password,
        tls=_tls(host, words),
        connect_timeout_ns=_timeout_ns(words),
        protocol=SQLSERVER,
    )


def without_password(target: str) -> tuple[str, str | None]:
    """A URI as it may be kept, and its password; None: it has none."""
    parts = urlsplit(target)
    if parts.password is None:
        return target, None
    return target.replace(f":{parts.password}@", "@", 1), unquote(parts.password)


def _words(query: str) -> dict[str, str]:
    """By our spelling; Microsoft's, `TrustServerCertificate`, means the same."""
    known = {word.replace("-", ""): word for word in _WORDS}
    words = {}
    for given, value in parse_qsl(query, keep_blank_values=True):
        word = known.get(given.lower().replace("-", ""))
        if word is None:
            raise UsageError(
                f'invalid word in the URI of a server: "{given}"',
                hint=f"Known: {', '.join(_WORDS)}.",
            )
        words[word] = value
    return words


def _tls(host: str, words: Mapping[str, str]) -> Tls | None:
    given = words.get("encrypt", "mandatory").lower()
    if given in _LOGIN_ALONE:
        raise UsageError(
            f"encrypt={given} would encrypt the login alone, and send all else in plain text",
            hint="Use encrypt=mandatory, or encrypt=disable for plain text, the password too.",
        )
    asked = _ENCRYPT.get(given)
    if asked is None:
        raise UsageError(f'invalid encrypt: "{given}"', hint="Known: strict, mandatory, disable.")
    roots = words.get("certificate", "")
    if roots and not os.path.isfile(roots):
        raise UsageError(f'could not read certificate "{roots}": there is no such file')
    trusted = _trusts_any(words)
    if trusted and (roots or asked == "strict"):
        raise UsageError(
            "trust-server-certificate would leave the certificate unread",
            hint="Strict encryption and a certificate of your own are there to be verified.",
        )
    if asked == "disable":
        return None
    return Tls(
        mode="require" if trusted else "verify-full",
        server_name=words.get("host-name-in-certificate", host),
        tells_name=True,
        direct=asked == "strict",
        roots=roots,
        system_roots=not roots and not trusted,
        revoked="",
        certificate=None,
        key="",
        least_version="TLSv1.2",
        most_version=None,
    )


def _trusts_any(words: Mapping[str, str]) -> bool:
    given = words.get("trust-server-certificate", "no").lower()
    if given not in _YES:
        raise UsageError(f'invalid trust-server-certificate: "{given}"; accepted: yes, no')
    return _YES[given]


def _timeout_ns(words: Mapping[str, str]) -> int | None:
    seconds = words.get("connect-timeout")
    if seconds is None:
        return None
    if not seconds.isdecimal() or int(seconds) == 0:
        raise UsageError(f'invalid connect-timeout: "{seconds}"; accepted: whole seconds')
    return int(seconds) * NS_PER_S


def _hidden(target: str) -> str:
    """The URI without its password."""
    parts = urlsplit(target)
    if not parts.password:
        return target
    return target.replace(f":{parts.password}@", ":…@", 1)
