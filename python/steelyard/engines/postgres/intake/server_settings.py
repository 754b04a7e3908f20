"""Reads the settings of the server that external data belonged to: files, then command line."""

from __future__ import annotations

import os
from pathlib import Path

from steelyard.engines.intake import ServerSettings, SettingsPlace
from steelyard.engines.postgres.intake.command_line import command_line_settings
from steelyard.engines.postgres.intake.configuration import neutralise, printable
from steelyard.engines.postgres.intake.configuration_file import ConfigurationReader
from steelyard.engines.postgres.life.configuration_text import AUTOMATIC, MAIN
from steelyard.model.errors import EngineError
from steelyard.model.files.small_file import MOST_OF_LOCK, read_small

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
        own = place.configuration is not None
        _lay_over(settings, ConfigurationReader(_owner(main if own else directory)).settings(main))
    automatic = directory / AUTOMATIC
    if automatic.is_file():
        _lay_over(settings, ConfigurationReader(_owner(directory)).settings(automatic))
    _lay_over(settings, command_line)
    found = neutralise(settings)
    named = command_line.get("config_file")
    missing = "" if main is not None else _no_file(directory, named)
    return ServerSettings(found.settings, found.neutralised, missing)


def _of_file(place: SettingsPlace) -> ServerSettings:
    if place.configuration is None:
        return ServerSettings(
            {}, missing="a dump holds no settings: the study's and PostgreSQL's defaults are "
            "weighed, unless --config FILE names the server's postgresql.conf",
        )  # fmt: skip
    reader = ConfigurationReader(_owner(place.configuration))
    found = neutralise(reader.settings(place.configuration))
    return ServerSettings(found.settings, found.neutralised)


def _lay_over(settings: dict[str, str], more: dict[str, str]) -> None:
    for name, value in more.items():
        settings.pop(name, None)
        settings[name] = value


def _main_file(directory: Path, command_line: dict[str, str]) -> Path | None:
    """Its postgresql.conf: the one that the last command line named, else the one beside the data;
    None: there is none, or it is not on this machine."""
    named = command_line.get("config_file")
    if named is not None:
        elsewhere = directory / named
        return elsewhere if elsewhere.is_file() else None
    main = directory / MAIN
    return main if main.is_file() else None


def _owner(path: Path) -> int | None:
    """By whose right its configuration is read: only root reads what its owner may not."""
    return path.stat().st_uid if os.geteuid() == 0 else None


def _no_file(directory: Path, named: str | None) -> str:
    where = f'in "{directory.name}"' if named is None else f'at "{printable(named)}"'
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
