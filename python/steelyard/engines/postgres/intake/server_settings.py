"""Reads the settings of the server that external data belonged to: its files, then its last command
line, which postmaster.opts holds.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from steelyard.engines.intake import (
    NamedFile,
    Neutralised,
    Overridden,
    ServerSettings,
    SettingsPlace,
)
from steelyard.engines.postgres.intake.configuration import (
    MOST_NAMES,
    neutralise,
    of_alter_system,
    printable,
)
from steelyard.engines.postgres.intake.configuration_file import (
    ConfigurationReader,
    is_file,
    not_regular_hint,
)
from steelyard.engines.postgres.life.command_line import (
    POSTMASTER_OPTIONS,
    CommandLine,
    command_line,
)
from steelyard.engines.postgres.life.configuration_text import AUTOMATIC, MAIN
from steelyard.engines.postgres.life.control import (
    IN_ARCHIVE_RECOVERY,
    SHUT_DOWN_IN_RECOVERY,
    limits_of,
    read_beginning,
    stored_state,
)
from steelyard.model.errors import EngineError
from steelyard.model.files.small_file import MOST_OF_LOCK, read_small
from steelyard.model.units import whole_number

DEBIAN = Path("/etc/postgresql")
"""Below it: version, name of the cluster, postgresql.conf."""
_BY_LINE = f"the command line of their last server ({POSTMASTER_OPTIONS})"
_OF_PG_UPGRADE = Neutralised(
    "the last command line", "pg_upgrade started the server so for itself, without durability"
)
_USUAL_LIMITS = {
    "max_connections": "100", "max_worker_processes": "8", "max_wal_senders": "10",
    "max_prepared_transactions": "0",
}  # fmt: skip
"""What a server has where nothing says it; of the other limit the default is not always 64."""


def read_server_settings(place: SettingsPlace) -> ServerSettings:
    """The settings of a place, neutralised, as they are now. EngineError: a file cannot be read,
    or holds what a server does not start with."""
    if place.configuration is not None and not is_file(place.configuration):
        raise _no_configuration(place.configuration)
    if place.kind == "dump" or place.reported:
        return _of_file(place)
    directory, line = place.data, command_line(place.data)
    if place.configuration is None:
        main, missing = _main_file(directory, line)
    else:
        main, missing = place.configuration, ""
    settings: dict[str, str] = {}
    own: dict[str, str] = {}
    if main is not None:
        owner = _owner(main if main == place.configuration else directory)
        reader = ConfigurationReader(owner)
        own = reader.settings(main)
        _lay_over(settings, own)
        reasons = [missing, _not_here(main, reader, directory)]
        if main != place.configuration:
            reasons.append(_of_others(main, reader, directory))
        missing = "; ".join(reason for reason in reasons if reason)
    automatic = _automatic(directory)
    if main is not None and main == place.configuration:
        automatic = _without_confirmed(automatic, own, directory)
    _lay_over(settings, automatic)
    if not line.binary_upgrade:
        _lay_over(settings, line.settings)
    if main is not None and not os.path.lexists(directory / POSTMASTER_OPTIONS):
        reasons = [missing, _of_lost_command_line(directory, settings)]
        missing = "; ".join(reason for reason in reasons if reason)
    configuration = neutralise(settings)
    gone = [*configuration.neutralised, *([_OF_PG_UPGRADE] if line.binary_upgrade else [])]
    if place.configuration is None:
        return ServerSettings(configuration.settings, tuple(gone), missing)
    is_own = _is_of_server(place.configuration, directory, line)
    overridden = () if is_own else _overridden(own, configuration.settings, line)
    named = _named(place.configuration, own, settings)
    return ServerSettings(configuration.settings, tuple(gone), missing, named, tuple(overridden))


def _automatic(directory: Path) -> dict[str, str]:
    """What ALTER SYSTEM set there."""
    file = directory / AUTOMATIC
    return ConfigurationReader(_owner(directory)).settings(file) if is_file(file) else {}


def _without_confirmed(
    automatic: Mapping[str, str], own: Mapping[str, str], directory: Path
) -> dict[str, str]:
    """What ALTER SYSTEM set, without limits of which a backup's control file shows that its server
    ran with what the named file says: a command line said it, which counted more."""
    if os.path.lexists(directory / POSTMASTER_OPTIONS) or _is_standby(directory):
        return {**automatic}
    limits = limits_of(directory)
    return {
        name: value
        for name, value in automatic.items()
        if name not in limits or whole_number(own.get(name, "").strip()) != limits[name]
    }


def _is_of_server(main: Path, directory: Path, line: CommandLine) -> bool:
    """Whether a named file is surely the one that its server starts with: what the data say above
    it is no doubt then, since it is what the server has."""
    config_file = line.settings.get("config_file")
    own = _in_copy(config_file, directory, line) or directory / (config_file or MAIN)
    of_debian = main.name == MAIN and main.absolute().is_relative_to(DEBIAN)
    return of_debian or main.resolve() == own.resolve()


def _overridden(
    own: Mapping[str, str], settings: Mapping[str, str], line: CommandLine
) -> Iterator[Overridden]:
    """Of a file's settings those that have another value."""
    for name, value in neutralise(own).settings.items():
        if settings.get(name, value) != value:
            on_line = name in line.settings and not line.binary_upgrade
            yield Overridden(name, value, _BY_LINE if on_line else f"{AUTOMATIC} of the data")


def _named(file: Path, own: Mapping[str, str], settings: Mapping[str, str]) -> NamedFile:
    """A file that was named, with what it says that nothing above it says otherwise."""
    return NamedFile(file, frozenset(name for name in own if settings[name] == own[name]))


def _no_configuration(path: Path) -> EngineError:
    """Of what was named: a directory, a pipe of the shell, or nothing."""
    of_shell = path.is_relative_to("/dev/fd") or path.is_relative_to("/proc/self/fd")
    if os.path.lexists(path) or of_shell:
        why = f'could not read configuration file "{path}": it is not a regular file'
        return EngineError(why, hint=f"{not_regular_hint(path)} by --config")
    return EngineError(
        f'there is no configuration file "{path}"',
        hint="Name the server's postgresql.conf, which psql -AtXc 'SHOW config_file' prints there: "
        "--config FILE",
    )


def configuration_elsewhere(place: SettingsPlace) -> Path | None:
    """The postgresql.conf of a data directory's server where that stands outside of it, as with
    Debian's packages: its programs have to be given it. EngineError as `read_server_settings`."""
    if place.reported:
        return None
    main = place.configuration or _main_file(place.data, command_line(place.data))[0]
    return None if main is None or _is_within(main, place.data) else main


def _of_file(place: SettingsPlace) -> ServerSettings:
    if place.configuration is None:
        return ServerSettings(
            {}, missing="a dump holds no settings: the study's and PostgreSQL's defaults are "
            "weighed, unless --config FILE names the server's postgresql.conf",
        )  # fmt: skip
    reader = ConfigurationReader(_owner(place.configuration))
    settings = reader.settings(place.configuration)
    configuration = neutralise(settings)
    reasons = [_not_here(place.configuration, reader, None)]
    if not place.reported:
        reasons.append(_of_alter_system(place.configuration, reader, settings))
    missing = "; ".join(reason for reason in reasons if reason)
    named = None if place.reported else NamedFile(place.configuration, frozenset(settings))
    return ServerSettings(configuration.settings, configuration.neutralised, missing, named)


def _of_alter_system(main: Path, reader: ConfigurationReader, settings: Mapping[str, str]) -> str:
    """Why settings are missing where a file alone is read."""
    others = of_alter_system(main, reader, settings)
    if others is None:
        return ""
    names, where = others
    return (
        f'what ALTER SYSTEM set is not weighed: {names}, in "{where}"; type --config FILE with a '
        f"copy of {printable(main.name)} that ends in include '{where}'"
    )


def _not_here(main: Path, reader: ConfigurationReader, directory: Path | None) -> str:
    """Why settings are missing: files that are included where they exist. What is not there within
    the data was not there either where their server ran."""
    names = [
        f'"{printable(str(path))}"'
        for path in reader.absent
        if directory is None or not _is_within(path, directory)
    ]
    if not names:
        return ""
    more = "" if len(names) <= MOST_NAMES else f" and {len(names) - MOST_NAMES} more"
    return (
        f"{printable(main.name)} includes {', '.join(names[:MOST_NAMES])}{more} if it exists, and "
        "it does not exist here: settings that it may hold are not weighed; bring it there, or, if "
        f"its server has none, type --config FILE with a copy of {printable(main.name)} without "
        "that line"
    )


def _of_others(main: Path, reader: ConfigurationReader, directory: Path) -> str:
    """Why settings are not the server's: included files that stand beside the configuration of
    another cluster of this machine."""
    for file in reader.files:
        if file == main or _is_within(file, directory):
            continue
        for folder in file.parents[:2]:
            home = _other_cluster(folder / MAIN, directory)
            if home is not None:
                return (
                    f'the settings weighed are also those of "{printable(str(file))}", of another '
                    f'cluster here, in "{printable(str(home))}"; bring the file that its server '
                    "included, and type --config FILE with a copy that includes it"
                )
    return ""


def _other_cluster(main: Path, directory: Path) -> Path | None:
    """The data directory of a configuration file, where that is surely another cluster's."""
    home = None
    with suppress(EngineError):  # not read, and so not known to be another's
        home = _data_of(main, directory, CommandLine()) if is_file(main) else None
    if home is None:
        return None
    ours, theirs = _identifier(directory), _identifier(home)
    return home if None not in (ours, theirs) and ours != theirs else None


def _of_lost_command_line(directory: Path, settings: Mapping[str, str]) -> str:
    """Why settings are not the server's: it ran with others than its files say, which a command
    line said (containers, Patroni), and no backup holds that. The control file has some of them."""
    if _is_standby(directory):
        return ""  # they are those of its primary
    others = {
        name: value
        for name, value in limits_of(directory).items()
        if (text := settings.get(name, _USUAL_LIMITS.get(name))) is not None
        and (number := whole_number(text.strip())) is not None
        and number != value
    }
    if not others:
        return ""
    listed = ", ".join(f"{name} = {value}" for name, value in others.items())
    return (
        f"its server ran with {listed}, which its files do not say: a backup holds no command line "
        "(as of a container or Patroni), and whatever else that said is not weighed; type --config "
        "FILE with a copy of its postgresql.conf that says it"
    )


def _is_standby(directory: Path) -> bool:
    return stored_state(directory) in (SHUT_DOWN_IN_RECOVERY, IN_ARCHIVE_RECOVERY)


def _is_within(path: Path, directory: Path) -> bool:
    return path.resolve().is_relative_to(directory.resolve())


def _lay_over(settings: dict[str, str], more: dict[str, str]) -> None:
    for name, value in more.items():
        settings.pop(name, None)
        settings[name] = value


def _main_file(directory: Path, line: CommandLine) -> tuple[Path | None, str]:
    """Its postgresql.conf, the one that the last command line named, else the one beside the data,
    and why that may not be its server's. None: there is none, or it is another cluster's."""
    config_file = line.settings.get("config_file")
    main = _in_copy(config_file, directory, line) or directory / (config_file or MAIN)
    if not is_file(main):
        return None, _no_file(directory, config_file)
    if config_file is None or _is_within(main, directory):
        return main, ""
    home = _data_of(main, directory, line)
    if home is None or home.resolve() == directory.resolve():
        return main, ""
    ours, theirs = _identifier(directory), _identifier(home)
    where, its_data = printable(str(main)), printable(str(home))
    if theirs is None or ours is None:
        return main, (
            f'the settings weighed are those of "{where}", which names the data directory '
            f'"{its_data}": whether it belongs to these data cannot be seen here; where it does, '
            f"type --config {shlex.quote(str(main))}, else bring their server's file and type "
            "--config FILE"
        )
    if ours != theirs:
        return None, (
            f'"{where}" is the file of another cluster here, in "{its_data}": the study\'s and '
            "PostgreSQL's defaults are weighed, not the settings of its server; bring their "
            "server's postgresql.conf and type --config FILE"
        )
    return main, ""


def _in_copy(config_file: str | None, directory: Path, line: CommandLine) -> Path | None:
    """The file of a command line that stood within the data (Patroni says --config-file so), where
    it stands in them now: in a copy that of the original is another file. None: it is not there."""
    home = line.settings.get("data_directory") or line.directory
    if config_file is None or home is None or not os.path.isabs(home):
        return None
    name = os.path.relpath(os.path.join(home, config_file), home)
    file = directory / name
    return file if not name.startswith("..") and is_file(file) else None


def _data_of(main: Path, directory: Path, line: CommandLine) -> Path | None:
    """The data directory that a configuration file outside of the place is of."""
    settings = ConfigurationReader(_owner(directory)).settings(main)
    name = line.settings.get("data_directory") or settings.get("data_directory") or line.directory
    return Path(name) if name and os.path.isabs(name) else None


def _identifier(directory: Path) -> int | None:
    """The system identifier, which copies of a cluster share; None: it cannot be read."""
    try:
        return read_beginning(directory).system_identifier
    except (OSError, ValueError):
        return None


def _owner(path: Path) -> int | None:
    """By whose right its configuration is read: only root reads what its owner may not."""
    return path.stat().st_uid if os.geteuid() == 0 else None


def _no_file(directory: Path, config_file: str | None) -> str:
    if config_file is None:
        where, option = f'in "{directory.name}"', config_option(directory)
    else:
        where = f'at "{printable(config_file)}", by which its server was started last'
        option = "bring that file from there and type --config FILE"
    return (
        f"no postgresql.conf is {where}: the study's and PostgreSQL's defaults are weighed, not "
        f"the settings of its server; {option}"
    )


def config_option(directory: Path) -> str:
    """What to type so that the server's configuration is found."""
    try:
        major = read_small(directory / "PG_VERSION", MOST_OF_LOCK, errors="replace").strip()
    except OSError:
        major = "VERSION"
    every = sorted(DEBIAN.glob(f"{major}/*/{MAIN}")) if major.isdigit() else []
    here = [main for main in every if _other_cluster(main, directory) is None]
    usual = DEBIAN / major / "main" / MAIN
    if here:
        return f"type --config {shlex.quote(str(usual if usual in here else here[0]))}"
    return (
        f"bring {usual} of that server (where Debian and Ubuntu keep it) and type --config {usual}"
    )
