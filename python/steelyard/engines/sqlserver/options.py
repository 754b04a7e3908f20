"""Lists the options of a database that an arm may set, and writes the statements that set them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.engines.sqlserver.session import bracketed
from steelyard.model.errors import UsageError


@dataclass(frozen=True)
class _Option:
    """Values, the first one the default, and how it is set."""

    values: Sequence[str]
    clause: str


_OPTIONS: Mapping[str, _Option] = {
    "page_verify": _Option(("CHECKSUM", "TORN_PAGE_DETECTION", "NONE"), "PAGE_VERIFY {}"),
    "delayed_durability": _Option(("DISABLED", "ALLOWED", "FORCED"), "DELAYED_DURABILITY = {}"),
    "recovery": _Option(("FULL", "BULK_LOGGED", "SIMPLE"), "RECOVERY {}"),
}
"""Source: "ALTER DATABASE SET options (Transact-SQL)". None of them needs a restart, or a right
over anything but the database."""

READ = """
SELECT page_verify_option_desc AS page_verify,
       delayed_durability_desc AS delayed_durability, recovery_model_desc AS recovery,
       compatibility_level, collation_name, is_read_committed_snapshot_on,
       snapshot_isolation_state_desc AS snapshot_isolation, target_recovery_time_in_seconds,
       is_auto_create_stats_on, is_auto_update_stats_on, is_parameterization_forced, is_encrypted
  FROM sys.databases WHERE name = {};
"""
"""The options of a database by the names that arms give them, and others beside them."""


def chosen(settings: Mapping[str, str]) -> dict[str, str]:
    """Every option with its value, in capital letters: an arm's own, else the default. UsageError:
    no option of a database, or no value of it."""
    for name in settings:
        if name not in _OPTIONS:
            raise UsageError(
                f'cannot set "{name}" on SQL Server: it is no option of a database that is known',
                detail="The server and its other databases are never set.",
                hint=f"Known: {', '.join(_OPTIONS)}.",
            )
    found = {
        name: settings.get(name, option.values[0]).upper() for name, option in _OPTIONS.items()
    }
    for name, value in found.items():
        if value not in _OPTIONS[name].values:
            accepted = ", ".join(_OPTIONS[name].values)
            raise UsageError(f'invalid value for "{name}": "{value}"; accepted: {accepted}')
    return found


def setting(database: str, options: Mapping[str, str]) -> str:
    """The text that sets all options of a database."""
    return "\n".join(
        f"ALTER DATABASE {bracketed(database)} SET {_OPTIONS[name].clause.format(value)};"
        for name, value in options.items()
    )
