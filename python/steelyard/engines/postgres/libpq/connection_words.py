"""Takes a connection string apart into libpq's words, and shows it without what is secret."""

from __future__ import annotations

import re

from steelyard.engines.access.server_uri import ENCODED, hidden
from steelyard.model.errors import UsageError
from steelyard.model.secrets.redaction import is_secret_setting, redacted


def connection_words(target: str) -> dict[str, str]:
    """The keywords of a connection string or URI with their values. UsageError: it is neither, or a
    URI in which a password may end elsewhere; the password is not in the message."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    require_clear(target)
    try:
        return {word: str(value) for word, value in conninfo_to_dict(target).items()}
    except psycopg.Error as error:
        quotable = without_secrets(target)
        why = str(error).strip() if quotable == target else _NOT_QUOTED
        raise UsageError(f'invalid connection string: "{quotable}"', detail=why) from None


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
    return redacted(_SECRET.sub(r"\1\2…", hidden(target)))


def is_miswritten(text: str) -> bool:
    """Whether it is a URI or a line of .pgpass that was not written as libpq reads them, with what
    may be a password: `postgresql:/u:p@h/d`, `u:p@h/d`, `h:5432:d:u:p`."""
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
_MISWRITTEN = re.compile(
    r"(?!/|\.{1,2}/|~|[^\s:=]*://)(?:postgres(?:ql)?(?::|//)|\w+:/|[^=\s]*?:.*(?:@|//)"
    r"|[^/=\s]*?:(?:\d+|\*):.*:|[^/=:\s]+/.*@//)",
    re.IGNORECASE | re.DOTALL,
)
_BEHIND_FIRST = re.compile(r"(?<=[:/]).*", re.DOTALL)
_SECRET = re.compile(
    r"((?:pass(?!file)|pwd|\bpw\b|secret|token|_key\b)\w*|\buser(?:name)?\s*=[^\s:=]*)([\s={:]).*",
    re.DOTALL | re.IGNORECASE,
)
"""A word that names a secret, whatever is behind it; a user with a colon."""


_NOT_QUOTED = "What libpq says of it is not shown: it may quote the password."


OTHER_URI = re.compile(r"(?!postgres(?:ql)?://)\s*[A-Za-z][\w+.-]*://")


UNCLEAR_URI = re.compile(
    r"postgres(?:ql)?://(?:[^/]*:[^/]*/[^?]*@|[^/?]*@[^/?]*@"
    r"|(?:\[[^\]]*\]|[^/?@:\[])*:(?!\d*(?:[/?,]|$))[^@]*$)"
)
"""libpq would take a part of the password, or all of it, for a host, a port or a database."""


def require_clear(target: str) -> None:
    """UsageError: the URI of another kind of server, or not clear."""
    for wrong, hint in (
        (OTHER_URI, "A URI of PostgreSQL begins with postgresql://."),
        (UNCLEAR_URI, ENCODED),
    ):
        if wrong.match(target):
            quotable = without_secrets(target)
            raise UsageError(f'invalid connection string: "{quotable}"', hint=hint)
