"""Refuses settings that a build does not take, before any data is loaded, with what to type; and
what a user mistyped in a configuration file that he named, with the line to write.

Numbers, their units and switches are the same in every build: what one refuses of them no server
ever ran with. So is a name a slip away from one of PostgreSQL's. Other names, words of a list,
locales and libraries differ between versions and machines: these are left out, and named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from steelyard.engines.account import Account
from steelyard.engines.engine import Settings
from steelyard.engines.intake import ServerSettings
from steelyard.engines.postgres.builds.build import Build, answer_of
from steelyard.engines.postgres.life.server import quoted, reason
from steelyard.engines.postgres.settings import refuse_slot_settings, setting_types
from steelyard.model.errors import ServerError, UsageError, nearest_hint

_WORDS = re.compile(r"\bFATAL:  (.*)")
_HINT = re.compile(r"\bHINT:  (.*)")
_PARAMETER = re.compile(r'\bparameter "([^"]+)"')
_UNKNOWN = re.compile(r'unrecognized configuration parameter "(.*)"')
_NO_VALUE = re.compile(r'(invalid value for parameter "[^"]+"): "')
"""Of the text itself: a check by the build or the machine writes the number without quotes."""
_NO_SWITCH = re.compile(r"requires a Boolean value")
_OUTSIDE = re.compile(r"outside the valid range")
_NUMBERS = ("INTEGER", "REAL")
_LISTED = re.compile(r"Available values: (.*)")
_WIDENED = frozenset({"wal_compression", "log_connections"})
"""Switches of earlier versions that later ones give words of a list."""
_PLAIN = re.compile(r"[-+]?[0-9.]+ ?[A-Za-z]{0,10}|on|off|true|false|yes|no", re.I)
"""Any other value may be a password, and is not shown."""
_MEASURE = re.compile(r"([-+]?[0-9.]+) ?([A-Za-z]+)")
_MEMORY = {"b": "B", "k": "kB", "m": "MB", "g": "GB", "t": "TB"}
_TIMES = {
    "us": r"us|usecs?|microseconds?", "ms": r"ms|msecs?|millis|milliseconds?",
    "s": r"s|secs?|seconds?", "min": r"m|mins?|minutes?", "h": r"h|hrs?|hours?", "d": r"d|days?",
}  # fmt: skip
_SWITCHES = {
    **dict.fromkeys(("enable", "enabled", "y", "t"), "on"),
    **dict.fromkeys(("disable", "disabled", "none", "n", "f"), "off"),
}


@dataclass(frozen=True)
class _Mistyped:
    """A setting with PostgreSQL's words, and the line to write; None: no line is near."""

    name: str
    words: str
    line: str | None


def refuse_mistyped(build: Build, account: Account, offered: ServerSettings) -> None:
    """UsageError: what a build refuses of a named file is mistyped there."""
    if offered.named is None:
        return
    rest = {n: value for n, value in offered.settings.items() if n in offered.named.names}
    mistyped = [*_mistyped(build, account, rest)]
    if not mistyped:
        return
    file, names = offered.named.path, [each.name for each in mistyped]
    lines = [each.line for each in mistyped if each.line is not None]
    rest_names = [each.name for each in mistyped if each.line is None]
    advice = [f"Write in {file.name}: {'; '.join(lines)}"] if lines else []
    if rest_names:
        advice.append(f"Correct or remove in {file.name}: {', '.join(rest_names)}")
    raise UsageError(
        f'cannot weigh the settings of "{file}": PostgreSQL refuses {", ".join(names)}',
        detail="; ".join(each.words for each in mistyped),
        hint=". ".join(advice),
    )


def _mistyped(build: Build, account: Account, settings: dict[str, str]) -> Iterator[_Mistyped]:
    types: dict[str, str] = {}
    while settings:
        status, output = answer_of(build, account, "server_version", settings)
        words = _WORDS.search(output)
        parameter = _PARAMETER.search(words[1]) if words is not None else None
        name = parameter[1].lower() if parameter is not None else ""
        if status == 0 or words is None or name not in settings:
            return
        types = types or setting_types(build, account)
        hint = _HINT.search(output)
        value = settings.pop(name)
        mistyped = _judged(name, value, words[1], hint[1].rstrip(".") if hint else "", types)
        if mistyped is not None:
            yield mistyped


def validate_settings(name: str, build: Build, account: Account, settings: Settings) -> None:
    """Raise the error that the server would report at its start; `name` names the server in it.

    `postgres -C` reads its command line as a starting server does and needs no data directory.
    What depends on the machine (memory, other settings) is only found at the start.
    """
    refuse_slot_settings(settings)
    status, output = answer_of(build, account, "server_version", settings)
    if status == 0:
        return
    unknown = _UNKNOWN.search(output)
    if unknown is None:
        why = reason(output) or f"it ended with status {status}"
        raise ServerError(
            f"{name} refuses the settings: {why}",
            detail=quoted(output) or None,
            hint=_instead(build, account, settings, output),
        )
    raise UsageError(
        f'unrecognized setting: "{unknown[1]}"',
        detail=f"{name}: {unknown[0]}",
        hint=nearest_hint(unknown[1], setting_types(build, account)),
    )


_UNCHANGEABLE = re.compile(r'parameter "(\w+)" cannot be changed')
_BY_INITDB = (
    "initdb decides it: weigh two clusters of yours as they stand, steelyard weigh addresses"
)
_WHEN_BUILT = (
    "It was decided when the server was compiled: steelyard weigh builds --control DIR --arm DIR"
)
_OTHERWISE = {
    "data_checksums": "Checksums are a key of an arm: --set arm.checksums=off",
    "wal_segment_size": _BY_INITDB,
    "server_version": "A version is a key of an arm: --set arm.version=17",
    "server_version_num": "A version is a key of an arm: --set arm.version=17",
    **dict.fromkeys(
        ("block_size", "debug_assertions", "segment_size", "wal_block_size"), _WHEN_BUILT
    ),
}
"""What no server lets one set → how it is weighed."""


def _instead(build: Build, account: Account, settings: Settings, output: str) -> str | None:
    """What to type in place of a setting that a build refused."""
    fixed = _UNCHANGEABLE.search(output)
    if fixed is not None:
        return _OTHERWISE.get(fixed[1], "No server lets one set it: leave it out.")
    return _line_instead(build, account, settings, output)


def _line_instead(
    build: Build, account: Account, settings: Mapping[str, str], output: str
) -> str | None:
    """What to write in place of a typed setting that a build refused: the value that was surely
    meant, else what the server says of such values. `output`: of the build."""
    words, hint = _WORDS.search(output), _HINT.search(output)
    parameter = _PARAMETER.search(words[1]) if words is not None else None
    name = parameter[1].lower() if parameter is not None else ""
    if words is None or name not in settings:
        return None
    advice = hint[1].rstrip(".") if hint else ""
    types = setting_types(build, account)
    mistyped = _judged(name, settings[name], words[1], advice, types)
    if mistyped is not None and mistyped.line is not None:
        return f"Perhaps you meant {mistyped.line}."
    return f"{advice}." if advice else None


def _judged(
    name: str, value: str, words: str, hint: str, types: dict[str, str]
) -> _Mistyped | None:
    """None: another version, build or machine may take it."""
    plain = value if _PLAIN.fullmatch(value) else None
    if _UNKNOWN.search(words):
        near = None if "." in name else nearest(name, types)
        line = f"{near} = {plain or '…'}"
        return _Mistyped(name, words, line) if near else None
    listed = _LISTED.search(hint)
    if listed is not None:
        near = nearest(value.lower(), listed[1].split(", "))
        line = f"{name} = {near}"
        return _Mistyped(name, f"{words} ({hint})", line) if near else None
    no_value = _NO_VALUE.match(words)
    is_number = no_value is not None and types.get(name) in _NUMBERS
    is_switch = _NO_SWITCH.search(words) is not None and name not in _WIDENED
    if not (is_number or is_switch or _OUTSIDE.search(words)):
        return None
    if no_value is not None and plain is None:
        words = no_value[1]
    corrected = _corrected(value, hint, is_switch=is_switch)
    words = f"{words} ({hint})" if hint else words
    return _Mistyped(name, words, f"{name} = {corrected}" if corrected else None)


def _corrected(value: str, hint: str, *, is_switch: bool) -> str | None:
    """The value with a unit, or the switch, that was surely meant; None: that cannot be seen."""
    if is_switch:
        word = value.strip().lower()
        return _SWITCHES.get(word) or nearest(word, ("on", "off", "true", "false", "yes", "no"))
    measure = _MEASURE.fullmatch(value.strip())
    if measure is None:
        return None
    number, unit = measure[1], measure[2].lower()
    if '"kB"' in hint and re.fullmatch(r"[kmgt](?:i?b|i)?|b|bytes?", unit):
        return number + _MEMORY[unit[0]]
    if '"ms"' in hint:
        return next(
            (number + right for right, forms in _TIMES.items() if re.fullmatch(forms, unit)), None
        )
    return None


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The word that it is a slip of the keys away from, two in a long one; None: of none. Names of
    other versions are further from one another: wal_keep_segments from wal_keep_size."""
    most = 1 if len(word) < 8 else 2
    near = [(slips, each) for each in words if (slips := _slips(word, each.lower(), most)) <= most]
    return min(near)[1] if near else None


def _slips(word: str, other: str, most: int) -> int:
    """Letters that are too many, missing, wrong or in each other's place; above `most` at least
    that and another."""
    if abs(len(word) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row: list[int] = [*range(len(other) + 1)]
    for i, letter in enumerate(word, 1):
        last = before
        before = row
        row = [i]
        for j, theirs in enumerate(other, 1):
            slips = min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != theirs))
            if i > 1 and j > 1 and letter == other[j - 2] and theirs == word[i - 2]:
                slips = min(slips, last[j - 2] + 1)
            row.append(slips)
    return row[-1]
