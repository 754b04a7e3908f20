"""Reads the command line of the last server of a data directory, which postmaster.opts holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class CommandLine:
    """What a server was started with; its settings count more than those of any file."""

    settings: dict[str, str] = field(default_factory=dict)
    directory: str | None = None
    """Of -D: the data, or the configuration file that says where they are. None: not named."""
    binary_upgrade: bool = False
    """Whether pg_upgrade started it, for itself: its settings are not those of the server."""


def command_line(directory: Path) -> CommandLine:
    """The command line of the last server of a data directory; an empty one where there is none:
    backups hold none.

    EngineError: the file cannot be read, or holds what no server was started with.
    """
    file = directory / POSTMASTER_OPTIONS
    try:
        line = read_regular(file)
    except FileNotFoundError:
        return CommandLine()
    except OSError as error:
        raise EngineError(f'could not read "{file}": {error.strerror}') from error
    return parse_arguments(options_of(line))


def options_of(line: str) -> list[str]:
    """The arguments of `program "-c" "name=value" ...`: CreateOptsFile quotes each, and escapes
    nothing."""
    _, begin, rest = line.rstrip("\r\n").partition(' "')
    return rest.removesuffix('"').split('" "') if begin else []


def parse_arguments(arguments: Sequence[str]) -> CommandLine:
    """What arguments of postgres stand for; of two settings of a name the later counts."""
    settings: dict[str, str] = {}
    directory, binary_upgrade = None, False
    for option, value in _options(arguments):
        settings |= _short(option, value)
        directory = value if option == "D" else directory
        binary_upgrade = binary_upgrade or option == "b"
    return CommandLine(settings, directory, binary_upgrade)


def _options(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The letters of options with their values, "" where they take none; `--name=value` is what
    letter c takes too."""
    rest = iter(arguments)
    for word in rest:
        if word.startswith("--"):
            yield "c", word[2:]
        elif word.startswith("-"):
            yield from _letters(word[1:], rest)


def _letters(letters: str, following: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Of one word of options: `Fi`, `B32768`, or `c` with its value in the word that follows."""
    for position, letter in enumerate(letters):
        if letter in _TAKE_VALUES:
            yield letter, letters[position + 1 :] or next(following, "")
            return
        yield letter, ""


def _short(option: str, value: str) -> dict[str, str]:
    if option == "c":
        return _assignment(value)
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


def _assignment(text: str) -> dict[str, str]:
    """`name=value`; dashes in a name stand for underscores (ParseLongOption)."""
    name, equals, value = text.partition("=")
    return {name.replace("-", "_").lower(): value} if equals and name else {}
