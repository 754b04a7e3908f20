"""Classifies libpq's connection options: used, sent to the server, without effect, or refused.

Reads libpq's TLS parameters, with its defaults, for the driver's plan.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from steelyard.model.endpoint import Tls
from steelyard.model.errors import UsageError

USED = frozenset(
    {
        *("service", "user", "password", "passfile", "dbname", "host", "hostaddr", "port"),
        *("channel_binding", "require_auth", "connect_timeout", "target_session_attrs"),
        *("load_balance_hosts", "sslmode", "sslnegotiation", "sslcert", "sslkey", "sslrootcert"),
        *("sslcrl", "sslsni", "ssl_min_protocol_version", "ssl_max_protocol_version"),
    }
)
"""Options by which a server is found, chosen and connected to."""

SENT = frozenset(
    {"options", "application_name", "fallback_application_name", "client_encoding"},
)
"""Options that the server is sent at the start of a session."""

WITHOUT_EFFECT = frozenset(
    {
        *("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count"),
        *("tcp_user_timeout", "krbsrvname", "gsslib", "sslcompression", "max_protocol_version"),
    }
)
"""Options that change nothing of a load: probes of dead connections, libraries of methods that the
driver does not have, and the highest protocol, for the driver's is the lowest."""

REFUSED: Mapping[str, tuple[str, ...]] = {
    "gssencmode": ("disable", "prefer"),
    "gssdelegation": ("0",),
    "requirepeer": (),
    "sslcertmode": ("allow", "disable"),
    "sslcrldir": (),
    "sslpassword": (),
    "sslkeylogfile": (),
    "min_protocol_version": ("3.0",),
    "replication": ("false", "off", "no", "0"),
    "scram_client_key": (),
    "scram_server_key": (),
    "oauth_issuer": (),
    "oauth_client_id": (),
    "oauth_client_secret": (),
    "oauth_scope": (),
}
"""Options that the driver cannot carry out, and their values that request nothing."""

_SENT_VARIABLES = {"PGDATESTYLE": "datestyle", "PGTZ": "timezone", "PGGEQO": "geqo"}
"""Variables that libpq sends as settings and that no option stands for (fe-connect.c,
EnvironmentOptions)."""


_ENCODING = re.compile(r"(?:-c\s*|--)client[_-]encoding=((?:\\.|\S)*)", re.IGNORECASE | re.DOTALL)


def _encoding_among(options: str) -> str | None:
    """`client_encoding` as the server would read it from `options`, where the last one counts."""
    said = _ENCODING.findall(options)
    return re.sub(r"\\(.)", r"\1", said[-1]) if said else None


def refuse_options(options: Mapping[str, str]) -> None:
    """UsageError: an option that the driver cannot carry out, or one of a newer libpq."""
    for option, value in options.items():
        if not value or option in USED or option in SENT or option in WITHOUT_EFFECT:
            continue
        if value not in REFUSED.get(option, ()):
            raise UsageError(
                f'cannot heed "{option}" of the connection string: it is not supported',
                detail=_accepted(option),
                hint="Leave it out where the connection is safe without it.",
            )


def _accepted(option: str) -> str | None:
    harmless = REFUSED.get(option)
    return f"Accepted: {', '.join(harmless)}." if harmless else None


def session_settings(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Settings that libpq would send beside `options`, in its order: the encoding, and those of the
    environment but for the word "default". The encoding that `options` hold is one of them: the
    driver's own would take its place."""
    encoding = options.get("client_encoding") or _encoding_among(options.get("options", ""))
    sent = [("client_encoding", encoding)] if encoding else []
    for variable, setting in _SENT_VARIABLES.items():
        value = os.environ.get(variable)
        if value and value.lower() != "default":
            sent.append((setting, value))
    return tuple(sent)


VERSIONS = ("TLSv1.2", "TLSv1.3")
_OLD_VERSIONS = ("TLSv1", "TLSv1.1")
_SYSTEM = "system"


def read_tls(words: Mapping[str, str]) -> Tls | None:
    """What libpq's words say about encryption; None: there is none. UsageError: not supported.

    Files without a parameter are looked for where libpq looks, below `~/.postgresql`.
    """
    mode = words.get("sslmode") or ("verify-full" if _is_system(words) else "prefer")
    host = words.get("host") or words.get("hostaddr") or ""
    if mode == "disable" or host.startswith("/"):
        return None
    if mode == "verify-full" and not words.get("host"):
        raise UsageError("host name must be specified for a verified SSL connection")
    certificate = _file(words, "sslcert", "postgresql.crt")
    return Tls(
        mode=mode,
        server_name=host,
        tells_name=words.get("sslsni") != "0",
        direct=words.get("sslnegotiation") == "direct",
        roots="" if _is_system(words) else _file(words, "sslrootcert", "root.crt"),
        system_roots=_is_system(words),
        revoked=_file(words, "sslcrl", "root.crl"),
        certificate=None if words.get("sslcertmode") == "disable" else certificate,
        key=_file(words, "sslkey", "postgresql.key"),
        least_version=_least(words),
        most_version=_most(words),
    )


def _is_system(words: Mapping[str, str]) -> bool:
    return words.get("sslrootcert") == _SYSTEM


def _file(words: Mapping[str, str], word: str, default: str) -> str:
    named = words.get(word) or os.path.join(os.path.expanduser("~"), ".postgresql", default)
    return os.path.abspath(named)


def _least(words: Mapping[str, str]) -> str:
    version = words.get("ssl_min_protocol_version") or VERSIONS[0]
    return VERSIONS[0] if version in _OLD_VERSIONS else version


def _most(words: Mapping[str, str]) -> str | None:
    version = words.get("ssl_max_protocol_version") or None
    if version in _OLD_VERSIONS:
        raise UsageError(
            f'cannot connect by "{version}": it is not safe any more',
            hint=f"ssl_max_protocol_version can be {' or '.join(VERSIONS)}.",
        )
    return version
