"""Reads libpq's TLS parameters, with its defaults, for the driver's plan."""

from __future__ import annotations

import os
from collections.abc import Mapping

from steelyard.model.endpoint import Tls
from steelyard.model.errors import UsageError

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
