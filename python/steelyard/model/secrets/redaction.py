"""Takes secrets out of text and of settings before they are printed or kept.

A text is what a server, libpq, a user or a log wrote: connection strings and URIs, SQL, lines of a
configuration, variables before a command, JSON. What stands at a secret name is replaced, and what
may be the rest of it too: rather too much is left out than a part is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from steelyard.model.secrets.secret import HIDDEN, is_secret

_MOST_PASSES = 8
"""Where a quote was taken out, another may begin elsewhere: nearly always the second pass, which
finds nothing, is the last."""
_HINT = re.compile(
    r"pass|pwd|secret|token|key|cred|conn|command|dsn|jwt|cookie|://|bearer|basic|identified|scram-"
    r"|\bpw\b|%[0-9a-f]{2}|LINE \d|row contains|copy ",
    re.IGNORECASE,
)
"""Of a text without any of these nothing can be left out: most texts end here."""
_HISTOGRAM = re.compile(r"HISTFA[A-Za-z0-9+/]*={0,2}")
"""HdrHistogram V2, deflated, in base64, with the cookie that all begin with: chance puts names of
secrets into such texts, before the "=" at their ends too."""
_SWITCH = frozenset({"on", "off", "true", "false", "yes", "no", "0", "1"})


def redacted(text: str) -> str:
    """The text without what stands at secret names, in URIs before the host, in PASSWORD and
    IDENTIFIED BY clauses. Applied twice it is the same. A histogram of latencies is left whole."""
    if _HISTOGRAM.fullmatch(text) and len(text) % 4 == 0:
        return text
    for _ in range(_MOST_PASSES):
        before, text = text, _redacted_once(text)
        if text == before:
            break
    return text


def _redacted_once(text: str) -> str:
    if _HINT.search(text) is None:
        return text
    # Its patterns take longer to compile than a short command may take, and are rarely needed.
    from steelyard.model.secrets.forms import redact_forms

    return redact_forms(text)


def holds_secret(text: str) -> bool:
    """Whether `redacted` would leave something out."""
    return redacted(text) != text


def redacted_json(value: Any) -> Any:
    """The same value of JSON, its texts redacted."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        return {_at_key(key): redacted_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_json(inner) for inner in value]
    return value


def is_secret_setting(name: str, value: str) -> bool:
    """Whether the value of a setting must not be shown: by its name, or by what it says."""
    if not value or value.lower() in _SWITCH:
        return False
    return is_secret(name) or holds_secret(value)


def hidden_settings(arms: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Arm → its settings, secret values replaced by a mark. Equal values of a setting have equal
    marks and others another, so that arms differ in the marks exactly where their values do."""
    marks: dict[str, dict[str, str]] = {}
    for settings in arms.values():
        for name, value in settings.items():
            if is_secret_setting(name, value):
                known = marks.setdefault(name, {})
                number = len(known) + 1
                known.setdefault(value, HIDDEN if number == 1 else f"{HIDDEN} {number}")
    return {
        arm: {name: marks.get(name, {}).get(value, value) for name, value in settings.items()}
        for arm, settings in arms.items()
    }


def _at_key(key: Any) -> Any:
    return redacted(key) if isinstance(key, str) else key
