"""Reads the settings of the server that external data belonged to: files, then command line.

Reads the settings of a server's last command line, which postmaster.opts holds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from steelyard.engines.intake import ServerSettings, SettingsPlace
from steelyard.engines.postgres.intake.configuration import neutralise, printable
from steelyard.engines.postgres.intake.configuration_file import ConfigurationReader
from steelyard.engines.postgres.life.configuration_text import AUTOMATIC, MAIN
from steelyard.engines.postgres.life.control import read_regular
from steelyard.model.errors import EngineError
from steelyard.model.files.small_file import MOST_OF_LOCK, read_small

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
    return settings_of_words(_arguments(line))


def _arguments(line: str) -> list[str]:
    """The arguments of `program "-c" "name=value" ...`: CreateOptsFile quotes each, and escapes
    nothing."""
    _, begin, rest = line.rstrip("\r\n").partition(' "')
    return rest.removesuffix('"').split('" "') if begin else []


def settings_of_words(arguments: list[str]) -> dict[str, str]:
    """The settings that arguments of postgres stand for; of two about one the later counts."""
    settings: dict[str, str] = {}
    rest = iter(arguments)
    for word in rest:
        if word.startswith("--"):
            settings |= _assignment(word[2:])
        elif word.startswith("-"):
            settings |= _letters(word[1:], rest)
    return settings


def _letters(letters: str, following: Iterator[str]) -> dict[str, str]:
    """Of one word of options: `Fi`, `B32768`, or `c` with its value in the word that follows."""
    settings: dict[str, str] = {}
    for position, letter in enumerate(letters):
        if letter in _TAKE_VALUES:
            value = letters[position + 1 :] or next(following, "")
            return settings | _short(letter, value)
        settings |= _short(letter, "")
    return settings


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


DEBIAN = Path("/etc/postgresql")
"""Below it: version, name of the cluster, postgresql.conf."""


def read_server_settings(place: SettingsPlace) -> ServerSettings:
    """The settings of a place, neutralised, as they are now. EngineError: a file cannot be read,
    or holds what a server does not start with."""
    if place.configuration is not None and not place.configuration.is_file():
        raise EngineError(f'there is no configuration file "{place.configuration}"')
    if place.kind == "dump" or place.reported:
        return _of_file(place)
    directory, command_line = place.data, command_line_settings(place.data)
    main = place.configuration or _main_file(directory, command_line)
    settings: dict[str, str] = {}
    if main is not None:
        explicit = place.configuration is not None
        _lay_over(
            settings, ConfigurationReader(_owner(main if explicit else directory)).settings(main)
        )
    automatic = directory / AUTOMATIC
    if automatic.is_file():
        _lay_over(settings, ConfigurationReader(_owner(directory)).settings(automatic))
    _lay_over(settings, command_line)
    configuration = neutralise(settings)
    config_file = command_line.get("config_file")
    missing = "" if main is not None else _no_file(directory, config_file)
    return ServerSettings(configuration.settings, configuration.neutralised, missing)


def _of_file(place: SettingsPlace) -> ServerSettings:
    if place.configuration is None:
        return ServerSettings(
            {}, missing="a dump holds no settings: the study's and PostgreSQL's defaults are "
            "weighed, unless --config FILE names the server's postgresql.conf",
        )  # fmt: skip
    reader = ConfigurationReader(_owner(place.configuration))
    configuration = neutralise(reader.settings(place.configuration))
    return ServerSettings(configuration.settings, configuration.neutralised)


def _lay_over(settings: dict[str, str], more: dict[str, str]) -> None:
    for name, value in more.items():
        settings.pop(name, None)
        settings[name] = value


def _main_file(directory: Path, command_line: dict[str, str]) -> Path | None:
    """Its postgresql.conf: the one that the last command line named, else the one beside the data;
    None: there is none, or it is not on this machine."""
    config_file = command_line.get("config_file")
    if config_file is not None:
        elsewhere = directory / config_file
        return elsewhere if elsewhere.is_file() else None
    main = directory / MAIN
    return main if main.is_file() else None


def _owner(path: Path) -> int | None:
    """By whose right its configuration is read: only root reads what its owner may not."""
    return path.stat().st_uid if os.geteuid() == 0 else None


def _no_file(directory: Path, config_file: str | None) -> str:
    where = f'in "{directory.name}"' if config_file is None else f'at "{printable(config_file)}"'
    return (
        f"no postgresql.conf is {where}: the study's and PostgreSQL's defaults are weighed, not "
        f"the settings of its server; {config_option(directory)}"
    )


def config_option(directory: Path) -> str:
    """What to type so that the server's configuration is found."""
    try:
        major = read_small(directory / "PG_VERSION", MOST_OF_LOCK, errors="replace").strip()
    except OSError:
        major = "VERSION"
    here = sorted(DEBIAN.glob(f"{major}/*/{MAIN}")) if major.isdigit() else []
    usual = DEBIAN / major / "main" / MAIN
    if here:
        return f"type --config {usual if usual in here else here[0]}"
    return (
        f"bring {usual} of that server (where Debian and Ubuntu keep it) and type --config {usual}"
    )
