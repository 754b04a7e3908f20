"""Takes secrets out of text and of settings before they are printed or kept.

A text is what a server, libpq, a user or a log wrote: connection strings and URIs, SQL, lines of a
configuration, variables before a command, JSON. What stands at a secret name is replaced, and what
may be the rest of it too: rather too much is left out than a part is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from steelyard.model.secrets.secret import HIDDEN, LEFT_OUT, is_method, is_secret
from steelyard.model.secrets.shapes import without_shapes

_MOST_PASSES = 8
"""Where a quote was taken out, another may begin elsewhere: nearly always the second pass, which
finds nothing, is the last."""
_HINTS = (
    *("pass", "pw", "pswd", "secret", "token", "key", "cred", "conn", "command", "dsn", "jwt"),
    "cookie",
    *("auth", "sig", "://", "bearer", "basic ", "identified", "scram-", "jdbc:", "\\u00", "%"),
    *("salt", "pepper", "curl ", "row contains", "copy ", "line ", ": $1 = "),
    *("mysql", "maria", "xtrab", "mydump", "myload", "mongo", "redis-", "sqlcmd", "ldap"),
    *("sp_", "bcp ", "osql ", "tsql ", "sqlplus", "sqlldr", "expdp", "impdp", "_s3"),
    *(
        "docker ",
        "podman ",
        "openssl",
        "crypt",
        "hmac",
        "account_add",
        "verify",
        "rds_set_external",
    ),
    *("login", "log_in", "logon", "log_on", "_user", "_account", "isql", "db2"),
    *("openrowset", "cqlsh", "7z", "zip ", "smbclient", "lftp", "mc alias", "mc config"),
    *(
        "insert",
        "replace",
        "at or near",
        "to use near",
        "unclosed quot",
        "duplicate ",
        "incorrect ",
    ),
)
"""Of a text without any of these nothing can be left out: most texts end here."""
_HISTOGRAM = re.compile(r"HISTFA[A-Za-z0-9+/]*={0,2}")
"""HdrHistogram V2, deflated, in base64, with the cookie that all begin with: chance puts names of
secrets into such texts, before the "=" at their ends too."""
_NAME = re.compile(r"[\w.%$-]{1,200}")
_FOLDED = {0x17F: "s", 0x131: "i", 0x307: None}
"""Letters that a pattern which ignores case takes for these, beside their capitals."""
_SWITCH = frozenset({"on", "off", "true", "false", "yes", "no", "0", "1"})


def redacted(text: str) -> str:
    """The text without what stands at secret names, in URIs before the host, in PASSWORD and
    IDENTIFIED BY clauses, and without what looks like a secret. Applied twice it is the same. A
    histogram of latencies is left whole."""
    if _HISTOGRAM.fullmatch(text) and len(text) % 4 == 0:
        return text
    text = without_shapes(text)
    for _ in range(_MOST_PASSES):
        before, text = text, _redacted_text(text)
        if text == before:
            break
    return text


def _redacted_text(text: str) -> str:
    folded = _folded(text)
    for hint in _HINTS:
        if hint in folded:
            break
    else:
        return text
    # Its patterns take longer to compile than a short command may take, and are rarely needed.
    from steelyard.model.secrets.forms import redact_forms

    return redact_forms(text, folded)


def _folded(text: str) -> str:
    """The text as patterns read it that ignore case."""
    lower = text.lower()
    return lower if lower.isascii() else lower.translate(_FOLDED)


def holds_secret(text: str) -> bool:
    """Whether `redacted` would leave something out."""
    return redacted(text) != text


def redacted_json(value: Any) -> Any:
    """The same value of JSON, its texts redacted, and those at secret names left out. No key is
    lost: keys that become alike are numbered."""
    if isinstance(value, str):
        return redacted(value) if len(value) > _SHORT else _redacted_short(value)
    if isinstance(value, Mapping):
        table = dict[Any, Any]()
        for key, inner in value.items():
            hidden, name = _read_key(key) if isinstance(key, str) else (False, key)
            table[_new_key(name, table)] = _left_out(inner) if hidden else redacted_json(inner)
        return table
    if isinstance(value, list | tuple):
        return [redacted_json(inner) for inner in value]
    return value


_SHORT = 40
"""Characters of a text that may well come again: of names, units and words."""
_redacted_short = lru_cache(maxsize=4096)(redacted)


def _left_out(value: Any) -> Any:
    """At a secret name: numbers are counts, and tables may belong to an arm of that name."""
    if isinstance(value, str):
        empty = not value or value.lower() in _SWITCH
        return value if empty or value.startswith((HIDDEN, LEFT_OUT)) else HIDDEN
    if isinstance(value, list | tuple):
        return [_left_out(inner) for inner in value]
    return redacted_json(value)


@lru_cache(maxsize=4096)
def _read_key(key: str) -> tuple[bool, str]:
    """Whether what stands at a key is left out, and the key redacted. Records repeat their keys."""
    return _NAME.fullmatch(key) is not None and is_secret(key), redacted(key)


def _new_key(key: Any, others: Mapping[Any, Any]) -> Any:
    if key not in others or not isinstance(key, str):
        return key
    number = 2
    while (numbered := f"{key} {number}") in others:
        number += 1
    return numbered


def is_secret_setting(name: str, value: str) -> bool:
    """Whether the value of a setting must not be shown: by its name, or by what it says."""
    if not value or value.lower() in _SWITCH or is_method(name, value):
        return False
    return is_secret(name) or holds_secret(value)


def hidden_settings(arms: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Arm → its settings, secret values replaced by a mark. Equal values of a setting have equal
    marks and others another, so that arms differ in the marks exactly where their values do."""
    marks: dict[str, dict[str, str]] = {}
    for settings in arms.values():
        for name, value in settings.items():
            if is_secret_setting(name, value):
                by_value = marks.setdefault(name, {})
                number = len(by_value) + 1
                by_value.setdefault(value, HIDDEN if number == 1 else f"{HIDDEN} {number}")
    return {
        arm: {name: marks.get(name, {}).get(value, value) for name, value in settings.items()}
        for arm, settings in arms.items()
    }
