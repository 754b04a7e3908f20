"""Takes a connection string apart into libpq's words, classifies its options (used, sent to the
server, without effect, or refused), and shows it without what is secret.

libpq's TLS parameters are read, with its defaults, for the driver's plan.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from steelyard.engines.server_uri import ENCODED, hidden
from steelyard.model.endpoint import Tls
from steelyard.model.errors import UsageError
from steelyard.model.secrets.redaction import is_secret_setting, redacted
from steelyard.model.secrets.secret import is_secret

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


def connection_words(target: str) -> dict[str, str]:
    """The keywords of a connection string or URI with their values. UsageError: it is neither, or a
    URI in which a password may end elsewhere; the password is not in the message."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    require_clear(target)
    try:
        return {word: str(value) for word, value in conninfo_to_dict(target).items()}
    except psycopg.Error as error:
        quotable, why = without_secrets(target), str(error).strip()
        if quotable != target and _NAMES_WORD.fullmatch(why) is None:
            why = _NOT_QUOTED
        raise UsageError(
            f'invalid connection string: "{quotable}"', detail=why, hint=WELL_WRITTEN
        ) from None


def without_password(target: str) -> str:
    """The same connection string without its password. UsageError: it is none, or it has another
    secret, for which there is no variable to leave it to."""
    from psycopg.conninfo import make_conninfo

    parameters = connection_words(target)
    parameters.pop("password", None)
    others = [word for word, value in parameters.items() if is_secret_setting(word, value)]
    if others:
        raise UsageError(
            f'cannot take "{others[0]}" from a connection string: it would be kept, and shown to '
            "other users of this machine",
            hint="Put it into a service file, and name that: service=NAME (PGSERVICEFILE, "
            "~/.pg_service.conf).",
        )
    return make_conninfo("", **parameters)


def without_secrets(target: str) -> str:
    """As messages show a string that libpq does not understand: where a password with spaces ends
    cannot be seen, so all that follows is left out."""
    if is_miswritten(target):
        return _BEHIND_FIRST.sub("…", target, count=1)
    return _without_unknown(redacted(_SECRET.sub(r"\1\2…", hidden(target))))


def _without_unknown(target: str) -> str:
    """Without what is behind a word that libpq does not know, nor nearly any that carries no
    secret: it may be a password, mistyped."""
    import difflib

    for match in _WORD_AT.finditer(target):
        nearest = difflib.get_close_matches(match[1].lower(), _KNOWN_WORDS, 1, _ALIKE)
        if not nearest or is_secret(nearest[0]):
            return f"{target[: match.end()]}…"
    return target


def is_miswritten(text: str) -> bool:
    """Whether it is a URI or a line of .pgpass that was not written as libpq reads them, with what
    may be a password: `postgresql:/u:p@h/d`, `u:p@h/d`, `h:5432:d:u:p`; or as other programs read
    them: `//u:p@h/d`, `u/p@h:5432/d`, `psql -h h -U u`."""
    return _MISWRITTEN.match(text) is not None


def require_well_written(text: str) -> None:
    """UsageError shows such a text without what may be a password, and says what to type."""
    if is_miswritten(text):
        raise UsageError(
            f'this is no connection string and no name of a database: "{without_secrets(text)}"',
            hint=WELL_WRITTEN,
        )


WELL_WRITTEN = (
    "A connection string is written postgresql://USER@HOST/DATABASE, or "
    '"host=HOST user=USER dbname=DATABASE"; leave the password to PGPASSWORD.'
)
_KNOWN_WORDS = sorted(USED | SENT | WITHOUT_EFFECT | REFUSED.keys())
_ALIKE = 0.75
"""Of `hoost` and `host`."""
_WORD_AT = re.compile(r"(?:^|[\s?&])([A-Za-z]\w*)\s*=(?=\s*[^\s…])")
_NAMES_WORD = re.compile(r"invalid (?:connection option|URI query parameter:) \"[a-z_]{1,40}\"")
"""What libpq says of a word alone: no value is in it."""
_MISWRITTEN = re.compile(
    r"//[^/\s:]*:[^/\s]*@|(?:psql|pg_\w+|mysql\w*)\s"
    r"|[^/=:\s]+/[^/\s]+@[^/\s@]+:\d+(?:/|\Z)"
    r"|(?!/|\.{1,2}/|~|[^\s:=]*://)(?:postgres(?:ql)?(?::|//)|\w+:/|[^=\s]*?:.*(?:@|//)"
    r"|[^/=\s]*?:(?:\d+|\*):.*:|[^/=:\s]+/.*@//)",
    re.IGNORECASE | re.DOTALL,
)
_BEHIND_FIRST = re.compile(r"(?<=[:/\s]).*", re.DOTALL)
_SECRET = re.compile(
    r"((?:pass(?!file)|pwd|\bpw\b|secret|token|_key\b)\w*|\buser(?:name)?\s*=[^\s:=]*)([\s={:]).*",
    re.DOTALL | re.IGNORECASE,
)
"""A word that names a secret, whatever is behind it; a user with a colon."""
_NOT_QUOTED = "What libpq says of it is not shown: it may quote the password."
_URI_HINTS = (
    (re.compile(r"\s*(?:mysql|mariadb)[\w+.-]*:", re.I), "A URI of MySQL begins with mysql://."),
    (
        re.compile(r"\s*(?:mssql|sqlserver)[\w+.-]*:", re.I),
        "A URI of SQL Server begins with sqlserver://.",
    ),
)
"""As drivers of other languages write them: mysql+pymysql://, mssql+pyodbc://."""
OTHER_URI = re.compile(r"(?!postgres(?:ql)?://)\s*[A-Za-z][\w+.-]*://")
UNCLEAR_URI = re.compile(
    r"postgres(?:ql)?://(?:[^/]*:[^/]*/[^?]*@|[^/?]*@[^/?]*@"
    r"|(?:\[[^\]]*\]|[^/?@:\[])*:(?!\d*(?:[/?,]|$))[^@]*$)"
)
"""libpq would take a part of the password, or all of it, for a host, a port or a database."""


def require_clear(target: str) -> None:
    """UsageError: the URI of another kind of server, or not clear."""
    begins = "A URI of PostgreSQL begins with postgresql://."
    begins = next((hint for kind, hint in _URI_HINTS if kind.match(target)), begins)
    for wrong, hint in (
        (OTHER_URI, begins),
        (UNCLEAR_URI, ENCODED),
    ):
        if wrong.match(target):
            quotable = without_secrets(target)
            raise UsageError(f'invalid connection string: "{quotable}"', hint=hint)


def _encoding_among(options: str) -> str | None:
    """`client_encoding` as the server would read it from `options`, where the last one counts."""
    encodings = _ENCODING.findall(options)
    return re.sub(r"\\(.)", r"\1", encodings[-1]) if encodings else None


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


def read_tls(parameters: Mapping[str, str]) -> Tls | None:
    """What libpq's words say about encryption; None: there is none. UsageError: not supported.

    Files without a parameter are looked for where libpq looks, below `~/.postgresql`.
    """
    mode = parameters.get("sslmode") or ("verify-full" if _is_system(parameters) else "prefer")
    host = parameters.get("host") or parameters.get("hostaddr") or ""
    if mode == "disable" or host.startswith("/"):
        return None
    if mode == "verify-full" and not parameters.get("host"):
        raise UsageError("host name must be specified for a verified SSL connection")
    certificate = file_of(parameters, "sslcert", "postgresql.crt")
    return Tls(
        mode=mode,
        server_name=host,
        tells_name=parameters.get("sslsni") != "0",
        direct=parameters.get("sslnegotiation") == "direct",
        roots="" if _is_system(parameters) else file_of(parameters, "sslrootcert", "root.crt"),
        system_roots=_is_system(parameters),
        revoked=file_of(parameters, "sslcrl", "root.crl"),
        certificate=None if parameters.get("sslcertmode") == "disable" else certificate,
        key=file_of(parameters, "sslkey", "postgresql.key"),
        least_version=_least(parameters),
        most_version=_most(parameters),
    )


def _is_system(parameters: Mapping[str, str]) -> bool:
    return parameters.get("sslrootcert") == _SYSTEM


def file_of(parameters: Mapping[str, str], word: str, default: str) -> str:
    """The file of a word, else the one of this name in our home, whether it is there or not."""
    path = parameters.get(word) or os.path.join(os.path.expanduser("~"), ".postgresql", default)
    return os.path.abspath(path)


def _least(parameters: Mapping[str, str]) -> str:
    version = parameters.get("ssl_min_protocol_version") or VERSIONS[0]
    return VERSIONS[0] if version in _OLD_VERSIONS else version


def _most(parameters: Mapping[str, str]) -> str | None:
    version = parameters.get("ssl_max_protocol_version") or None
    if version in _OLD_VERSIONS:
        raise UsageError(
            f'cannot connect by "{version}": it is not safe any more',
            hint=f"ssl_max_protocol_version can be {' or '.join(VERSIONS)}.",
        )
    return version
