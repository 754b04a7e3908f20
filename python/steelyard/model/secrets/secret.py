"""Decides what is secret: a value that does not print itself, and the names that carry one."""

from __future__ import annotations

import re
from typing import Never

HIDDEN = "(not shown)"


class Secret:
    """A password, key or token. Printing, formatting or copying it into JSON shows no part of it;
    whatever sends it calls `reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    @classmethod
    def of(cls, value: str | None) -> Secret | None:
        """None stays None: there is no secret."""
        return None if value is None else cls(value)

    def reveal(self) -> str:
        """The value itself, for the connection or the pipe that needs it."""
        return self._value

    def __repr__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return format(HIDDEN, spec)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> Never:
        raise TypeError("a secret is not sent to another process")


_CARRIES = re.compile(
    r"passw|passphrase|passcode|secret|credential|conninfo|connstr|connectionstring"
    r"|apikey|accesskey|privatekey|authkey|encryptionkey|accountkey|signingkey|sharedkey"
)
_WORDS = frozenset(
    {"pwd", "pass", "pw", "dsn", "bearer", "token", "tokens", "jwt", "cookie", "cred", "creds"}
)
_ENDS = re.compile(r"(?:token|pwd|(?<!by)(?<!com)pass)$")
_KEY_OF = frozenset(
    re.findall(
        r"\w+",
        "admin aes api access app auth client data db dek encryption hmac http jwt kek kms license "
        "licence master pgp private rsa s3 sas secret server service session shared signing ssh "
        "storage user webhook",
    )
)
"""Before "key": `api_key`, but neither `primary_key` nor `sort_key`."""
_ABOUT = frozenset(
    re.findall(
        r"\w+",
        "age algorithm attempts authentication autogen bits cache check checks count current days "
        "dir directory enabled encryption expiration expire expired file files format history "
        "hours interval len length lifetime limit max method min minimum minutes ms name number "
        "path plugin policy reload required rounds seconds size special strength supports "
        "threshold time timeout ttl type upper users validation version warnings",
    )
)
"""Last words of what is a rule for secrets or the place of one: `password_encryption`,
`ssl_key_file`."""
_RULES_OF = (
    "validate_password",
    "simple_password_check",
    "passwordcheck",
    "cracklib",
    "old_passwords",
)
"""Modules whose settings are rules for passwords."""
_LINES = re.compile(r".command$|conninfo$|passphrase|connstr|connectionstring|dsn$")


def is_secret(name: str) -> bool:
    """Whether a setting, a word of a connection string, a variable of an environment or an option
    of this name carries a secret, whatever extension or program it belongs to."""
    # Of a longer path, as arm.NAME.settings.x.y, what is before a setting's own name says nothing.
    tail = ".".join(_decoded(name).split(".")[-2:])
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", tail).lower()
    parts = [word for word in re.split(r"[^a-z0-9]+", plain) if word]
    if not parts or "_".join(parts).startswith(_RULES_OF) or parts[-1] in _ABOUT:
        return False
    if _CARRIES.search("".join(parts)) or _WORDS & {*parts} or _ENDS.search(parts[-1]):
        return True
    if parts[-1] == "command":
        return len(parts) > 1
    if parts[-1] not in ("key", "keys"):
        return False
    return _KEY_OF.intersection(parts[:-1]) != frozenset() or plain.endswith((".key", ".keys"))


def is_line_of_secrets(name: str) -> bool:
    """Whether what such a name carries may hold blanks: a command, a connection string."""
    return _LINES.search("".join(re.findall(r"[a-z0-9]+", _decoded(name).lower()))) is not None


def _decoded(name: str) -> str:
    """As libpq decodes the words of a URI."""
    if "%" not in name:
        return name
    from urllib.parse import unquote

    return unquote(name)
