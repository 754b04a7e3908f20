"""Takes out of a server's settings what belongs to its place.

Names alone are kept of what is left out: its values may be passwords.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.engines.intake import Neutralised
from steelyard.engines.postgres.intake.configuration_file import ConfigurationReader, is_file
from steelyard.engines.postgres.life.configuration_text import AUTOMATIC
from steelyard.engines.postgres.settings import SLOT_SETTINGS
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.secrets.redaction import is_secret_setting

MOST_NAMES = 3
"""In a sentence; of more their number is said."""
_PLACE = "the place is its slot's"
_LOG = "its log is kept by the weighing"
_LIBRARIES = "libraries are those of its build"
_SECRET = "its value may be a secret"
LEFT_OUT = f"(left out: {_SECRET})"
"""The value of a setting in a file of ours from which the value itself was left out."""

_RULES: tuple[tuple[str, str], ...] = (
    (r"port|listen_addresses|unix_socket_.*|.*_file|data_directory|bonjour.*|cluster_name", _PLACE),
    (r"logging_collector|log_destination|log_directory|log_filename|log_rotation_.*|log_file_mode"
     r"|log_truncate_on_rotation|log_line_prefix|lc_messages|syslog_.*|event_source"
     r"|stats_temp_directory|.*\.log_(?:directory|filename)", _LOG),
    (r"restore_command|archive_cleanup_command|recovery_.*|primary_.*|promote_trigger_file"
     r"|standby_mode|trigger_file|hot_standby_feedback|sync_replication_slots",
     "the copy is a server of its own"),
    (r"archive_mode|archive_command|archive_library|archive_timeout",
     "nothing is archived from it"),
    (r"synchronous_standby_names|synchronized_standby_slots|standby_slot_names",
     "no standby follows it: commits would wait for ever"),
    (r"ssl.*|krb_.*|gss_.*|password_encryption|oauth_.*|db_user_namespace|authentication_timeout"
     r"|(?:pre|post)_auth_delay",
     "no client logs in to it"),
    (r"dynamic_library_path|extension_control_path|extension_destdir|jit_provider"
     r"|pljava\.(?:libjvm_location|classpath|module_path|vmoptions)", _LIBRARIES),
    (r".*command|.*_script|plperl\.on_(?:plperlu_)?init", "it runs no programs"),
    (r"idle_session_timeout", "clients of a weighing wait for their slice"),
    (r"timescaledb\.max_background_workers", "jobs would change its data by the clock"),
)  # fmt: skip
_PATTERNS = [(re.compile(pattern, re.IGNORECASE), why) for pattern, why in _RULES]
_SILENT = ("fatal", "panic")
"""Values of log_min_messages with which a server does not say why it does not start."""

PRELOADING = ("shared_preload_libraries", "session_preload_libraries", "local_preload_libraries")

_SUBSCRIBES = "its subscriptions would take what the original's slots hold for it"
_BY_THE_CLOCK = "its jobs would change the data by the clock, in one arm's turn or another's"
_FETCHES_KEY = "its script, which fetches a key, would run at each start"
ACTING: Mapping[str, str] = {
    "babelfishpg_tds": "it would listen on a network, for clients of SQL Server",
    "bdr": _SUBSCRIBES,
    "citus": "it would work on the nodes of the original: distributed tables have no rows here",
    # It connects to cron.host, and to the port that its server had when a job was scheduled.
    "pg_cron": "its jobs would run, on the original where that listens at their address",
    "pg_net": "it would send the requests that wait in its queue",
    "pg_partman_bgw": _BY_THE_CLOCK,
    "pg_squeeze": _BY_THE_CLOCK,
    "pg_statsinfo": "its daemon would write snapshots by the clock, perhaps to another server",
    "pg_task": _BY_THE_CLOCK,
    "pgactive": _SUBSCRIBES,
    "pgautofailover": "it would look after the nodes of the original",
    "pglogical": _SUBSCRIBES,
    "pglogical_ticker": _BY_THE_CLOCK,
    "pgpro_scheduler": _BY_THE_CLOCK,
    "pgsodium": _FETCHES_KEY,
    "powa": "it would take snapshots by the clock, in one arm's turn or another's",
    "spock": _SUBSCRIBES,
    "supabase_vault": _FETCHES_KEY,
    "vectorize": "it would send the texts that wait in its queue",
}
"""Libraries whose workers act on other servers, or on the data by a schedule, as soon as a server
of the data has started, or that start programs, and why a copy is without them. pg_upgrade's
servers need the former, and start no workers of theirs."""
FETCHING_KEYS = frozenset(library for library, why in ACTING.items() if why == _FETCHES_KEY)
"""Those that start programs: no server of ours does. Their functions load without a preload, too
(_PG_init of pgsodium.c and supabase_vault.c returns early)."""

SET: Mapping[str, str] = {
    "archive_mode": "off",
    "listen_addresses": "",
    # A subscription in the copy would fetch from its publisher.
    "max_logical_replication_workers": "0",
    # Hypertables need the library; its launcher ends at once (bgw_launcher.c).
    "timescaledb.max_background_workers": "0",
}
"""What a copy is given in any case."""
AT_REST: Mapping[str, str] = {
    **{extension: f"which does not preload it: {why}" for extension, why in ACTING.items()},
    "timescaledb": "which runs none of its jobs (compression, retention, continuous aggregates): "
    "they would change the data by the clock, in one arm's turn or another's",
}
"""By extension how a copy keeps it from acting, and why."""


@dataclass(frozen=True)
class Configuration:
    """Settings by name, in lower case, and what was left out of them."""

    settings: Mapping[str, str] = field(repr=False)
    neutralised: tuple[Neutralised, ...] = ()

    def without(self, name: str, why: str) -> Configuration:
        """Without one more setting."""
        rest = {key: value for key, value in self.settings.items() if key != name}
        return Configuration(rest, (*self.neutralised, Neutralised(printable(name), why)))

    def without_library(self, library: str, why: str) -> Configuration:
        """Without a library that every new process, session or the server would load."""
        rest, gone = dict(self.settings), list(self.neutralised)
        for name in PRELOADING:
            libraries = listed(rest.get(name, ""))
            if library in libraries:
                rest[name] = ", ".join(_quoted(other) for other in libraries if other != library)
                if not rest[name]:
                    del rest[name]
                gone.append(Neutralised(f"{printable(library)} in {name}", why))
        return Configuration(rest, tuple(gone))


def without_acting(configuration: Configuration, acting: Collection[str] = ACTING) -> Configuration:
    """Without libraries whose workers act, or that start programs."""
    for name in PRELOADING:
        for library in listed(configuration.settings.get(name, "")):
            plain = Path(library).name.removesuffix(".so")
            if plain in acting:
                configuration = configuration.without_library(library, ACTING[plain])
    return configuration


def preloaded_at_rest(
    settings: Mapping[str, str], acting: Collection[str] = ACTING
) -> dict[str, str]:
    """Which of its libraries a server of the data preloads that acts on no other one."""
    preloaded = {name: settings[name] for name in PRELOADING if name in settings}
    rest = without_acting(Configuration(preloaded), acting).settings
    return {name: rest.get(name, "") for name in preloaded}


def listed(text: str) -> list[str]:
    """The libraries of a list, without the quotes about a name."""
    return [library.strip().strip('"') for library in text.split(",") if library.strip().strip('"')]


def _quoted(library: str) -> str:
    return library if re.fullmatch(r"[a-z0-9_$/]+", library) else f'"{library}"'


def printable(text: str) -> str:
    """A foreign name for a terminal or a page: its control characters are spelt out."""
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in text
    )


def read_file(file: Path) -> Configuration:
    """The settings of one file with its includes, neutralised, for a server that acts on no other
    one. EngineError: it cannot be read; UsageError: a server that starts with it has others, too,
    which ALTER SYSTEM set."""
    reader = ConfigurationReader()
    settings = reader.settings(file)
    if (others := of_alter_system(file, reader, settings)) is not None:
        names, where = others
        copy = f"Name a copy of {printable(file.name)}"
        raise UsageError(
            f'cannot weigh the settings of "{printable(str(file))}" alone: ALTER SYSTEM set others',
            detail=f'They count more at a server\'s start, and are in "{where}": {names}.',
            hint=f"{copy} that ends in the line include '{where}', with that path; or, to weigh "
            "the file without them, a copy in another folder, without data_directory",
        )
    configuration = without_acting(neutralise(settings))
    gone = [
        Neutralised(f"include_if_exists '{printable(str(path))}'", "there is no such file")
        for path in reader.absent
    ]
    return Configuration(configuration.settings, (*configuration.neutralised, *gone))


def of_alter_system(
    main: Path, reader: ConfigurationReader, settings: Mapping[str, str]
) -> tuple[str, str] | None:
    """What a file alone does not say: ALTER SYSTEM writes into another one, which stands beside it,
    or in the data directory that it names. The settings, in words, and that file."""
    for folder in dict.fromkeys((main.parent, main.parent / settings.get("data_directory", ""))):
        automatic, others = folder / AUTOMATIC, dict[str, str]()
        if automatic in (main, *reader.files):
            continue
        with suppress(EngineError):  # not read, and so not known to say anything
            if is_file(automatic):
                others = ConfigurationReader(reader.owner).settings(automatic)
        own = neutralise(others).settings
        if names := [printable(name) for name in own if settings.get(name) != own[name]]:
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            return f"{', '.join(names[:MOST_NAMES])}{more}", printable(str(automatic.absolute()))
    return None


def neutralise(settings: Mapping[str, str]) -> Configuration:
    """Without what belongs to the place, the followers and the users of the original."""
    rest, gone = dict[str, str](), list[Neutralised]()
    for name, value in settings.items():
        why = _why(name, value)
        if why is None:
            rest[name] = value
        else:
            gone.append(Neutralised(printable(name), why))
    return _own_libraries(Configuration(rest, tuple(gone)))


def _why(name: str, value: str) -> str | None:
    if name in SLOT_SETTINGS:
        return _PLACE
    reason = next((why for pattern, why in _PATTERNS if pattern.fullmatch(name)), None)
    if name == "log_min_messages" and value.lower() in _SILENT:
        return _LOG
    if reason is None and name in SET:
        return "the copy is a server of its own"
    return reason or (_SECRET if value == LEFT_OUT or is_secret_setting(name, value) else None)


def _own_libraries(configuration: Configuration) -> Configuration:
    """Without libraries at a path of their own: a data directory may bring one."""
    for name in PRELOADING:
        for library in listed(configuration.settings.get(name, "")):
            if "/" in library.removeprefix("$libdir/").removeprefix("plugins/"):
                configuration = configuration.without_library(library, _LIBRARIES)
    return configuration
