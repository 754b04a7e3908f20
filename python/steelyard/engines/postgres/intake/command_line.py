"""Reads the settings of a server's last command line, which postmaster.opts holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from steelyard.engines.postgres.life.control import read_regular
from steelyard.model.errors import EngineError

POSTMASTER_OPTIONS = "postmaster.opts"
_TAKE_VALUES = "BCcDdfhkNprStW"
"""Letters of postmaster.c that a value follows."""
_WITH_VALUE = {
    "B": "shared_buffers", "N": "max_connections", "S": "work_mem", "h": "listen_addresses",
    "k": "unix_socket_directories", "p": "port", "W": "post_auth_delay",
}  # fmt: skip
_ALONE = {
    "F": ("fsync", "off"), "e": ("datestyle", "euro"), "i": ("listen_addresses", "*"),
    "l": ("ssl", "on"), "O": ("allow_system_table_mods", "on"),
    "P": ("ignore_system_indexes", "on"), "s": ("log_statement_stats", "on"),
}  # fmt: skip
_PLANS = {
    "s": "enable_seqscan", "i": "enable_indexscan", "o": "enable_indexonlyscan",
    "b": "enable_bitmapscan", "t": "enable_tidscan", "n": "enable_nestloop",
    "m": "enable_mergejoin", "h": "enable_hashjoin",
}  # fmt: skip
_STATISTICS = {
    "pa": "log_parser_stats", "pl": "log_planner_stats", "pr": "log_parser_stats",
    "ex": "log_executor_stats", "e": "log_executor_stats",
}  # fmt: skip


def command_line_settings(directory: Path) -> dict[str, str]:
    """Settings by name that the last server of a data directory was started with; they count more
    than any file. None where there is no command line: backups hold none.

    EngineError: the file cannot be read, or holds what no server was started with.
    """
    file = directory / POSTMASTER_OPTIONS
    try:
        line = read_regular(file)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise EngineError(f'could not read "{file}": {error.strerror}') from error
    return settings_of_words(_words(line))


def _words(line: str) -> list[str]:
    """The arguments of `program "-c" "name=value" ...`: CreateOptsFile quotes each, and escapes
    nothing."""
    _, begin, rest = line.rstrip("\r\n").partition(' "')
    return rest.removesuffix('"').split('" "') if begin else []


def settings_of_words(words: list[str]) -> dict[str, str]:
    """The settings that arguments of postgres stand for; of two about one the later counts."""
    settings: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word.startswith("--"):
            settings |= _named(word[2:])
        elif word.startswith("-"):
            settings |= _letters(word[1:], rest)
    return settings


def _letters(letters: str, following: Iterator[str]) -> dict[str, str]:
    """Of one word of options: `Fi`, `B32768`, or `c` with its value in the word that follows."""
    settings: dict[str, str] = {}
    for place, letter in enumerate(letters):
        if letter in _TAKE_VALUES:
            value = letters[place + 1 :] or next(following, "")
            return settings | _short(letter, value)
        settings |= _short(letter, "")
    return settings


def _short(option: str, value: str) -> dict[str, str]:
    if option == "c":
        return _named(value)
    if option in _WITH_VALUE:
        return {_WITH_VALUE[option]: value}
    if option in _ALONE:
        name, value = _ALONE[option]
        return {name: value}
    if option == "f" and value in _PLANS:
        return {_PLANS[value]: "off"}
    if option == "t" and value in _STATISTICS:
        return {_STATISTICS[value]: "on"}
    return {}


def _named(text: str) -> dict[str, str]:
    """`name=value`; dashes in a name stand for underscores (ParseLongOption)."""
    name, equals, value = text.partition("=")
    return {name.replace("-", "_").lower(): value} if equals and name else {}
