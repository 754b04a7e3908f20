"""Splits the URI of a server, and shows one in messages without its user and password."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from steelyard.model.errors import UsageError
from steelyard.model.secrets.secret import Secret
from steelyard.model.units import NS_PER_S, whole_number

_HOST = re.compile(r"[\w.:%\\-]*\w[\w.:%\\-]*|")
"""A name, or an address, or none: no list of them, and no port behind a comma."""
MOST_SECONDS = 1 << 31
ENCODED = "In a user, a password and a database / ? # [ ] @ are written %2F %3F %23 %5B %5D %40."
_WORDS_AT = (
    "Words stand behind a question mark, not a semicolon: user@host:port/database?word=value. "
)


@dataclass(frozen=True)
class ServerUri:
    """SCHEME://USER:PASSWORD@HOST:PORT/DATABASE?WORD=VALUE, decoded."""

    target: Secret
    user: str
    password: Secret | None
    host: str
    port: int
    database: str
    words: Sequence[tuple[str, str]]
    nested: bool = False  # a path behind the database: a / of a name is written %2F

    @property
    def shown(self) -> str:
        """As messages show it."""
        return hidden(self.target.reveal())

    @property
    def bare(self) -> str:
        """As it may be kept: without its password."""
        target = self.target.reveal()
        netloc = urlsplit(target).netloc
        access, at, where = netloc.rpartition("@")
        return target.replace(netloc, access.partition(":")[0] + at + where, 1)

    def unknown_word(self, word: str, known: Sequence[str]) -> UsageError:
        """An error about a word behind the question mark."""
        if any("@" in value for _, value in self.words):  # it may be the rest of a password
            return _invalid(self.target.reveal())
        return UsageError(
            f'invalid word in the URI of a server: "{word}"', hint=f"Known: {', '.join(known)}."
        )

    def parameters(self, word_of: Callable[[str], str], known: Sequence[str]) -> dict[str, str]:
        """The words behind the question mark by their known spelling, which `word_of` gives.
        UsageError: one is not known, or two values are given to one."""
        parameters: dict[str, str] = {}
        for name, value in self.words:
            word = word_of(name)
            if word not in known:
                raise self.unknown_word(name, known)
            if parameters.setdefault(word, value) != value:
                raise UsageError(
                    f'two values of {word} in the URI of a server: "{self.shown}"',
                    hint="Give one.",
                )
        return parameters


def split_uri(target: str, port: int) -> ServerUri:
    """The parts of a URI, with this port where it has none. UsageError: it is none, or it cannot be
    seen where its password ends; neither that nor any part of it is in the message."""
    try:
        parts = urlsplit(target)
        parameters = parse_qsl(parts.query, keep_blank_values=True)
        # What comes after a / ? or # in a password would be taken for a path or words.
        unclear = parts.fragment or "@" in parts.path or any("@" in word for word, _ in parameters)
        if ":" in parts.netloc and "@" not in parts.netloc:
            unclear = unclear or "@" in parts.query
        given_port, host = parts.port, unquote(parts.hostname or "")
    except ValueError:  # its text quotes a part of the URI
        raise _invalid(target) from None
    if unclear:
        raise _invalid(target)
    if given_port == 0 or _HOST.fullmatch(host) is None:
        raise UsageError(
            f'no host and port: "{hidden(target)}"',
            hint=f"Name one host, and its port behind a colon: host:{port}",
        )
    return ServerUri(
        target=Secret(target),
        user=unquote(parts.username or ""),
        password=None if parts.password is None else Secret(unquote(parts.password)),
        host=host,
        port=given_port or port,
        database=unquote(parts.path.removeprefix("/")),
        words=parameters,
        nested="/" in parts.path.removeprefix("/"),
    )


def seconds_ns(parameters: dict[str, str], word: str) -> int | None:
    """Whole seconds that a word gives, in ns; None: it is not there. UsageError."""
    seconds = parameters.get(word)
    if seconds is None:
        return None
    if not 0 < (whole_number(seconds) or 0) < MOST_SECONDS:
        raise UsageError(
            f'invalid {word}: "{seconds}"; accepted: whole seconds, fewer than {MOST_SECONDS}'
        )
    return int(seconds) * NS_PER_S


def hidden(target: str) -> str:
    """A URI without what is between its scheme and the last @; without one, without what may be a
    password whose host is missing."""
    scheme, mark, rest = target.partition("://")
    if not mark:
        return target
    _, at, after = rest.rpartition("@")
    if at:
        return f"{scheme}://…@{after}"
    name, colon, _ = rest.partition(":")
    return f"{scheme}://{name}:…" if colon else target


def _invalid(target: str) -> UsageError:
    hint = f"{_WORDS_AT}{ENCODED}" if ";" in target else ENCODED
    return UsageError(f'invalid URI of a server: "{hidden(target)}"', hint=hint)
