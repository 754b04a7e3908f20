"""Adapts SQL Server to engines/adapters.py: it is reached at an address, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from steelyard.engines.access.server_uri import hidden
from steelyard.engines.account import Account
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.engine import Instance, Settings
from steelyard.engines.intake import SettingsPlace
from steelyard.engines.sqlserver.arm import SqlServerArm
from steelyard.engines.sqlserver.uri import is_sqlserver, read_uri
from steelyard.model.errors import UsageError

_HINT = 'Say where one runs: --address "sqlserver://user@host".'


def find_arms(requests: Sequence[BuildRequest], account: str | None, *, contrib: bool) -> NoReturn:
    """UsageError: none is started here."""
    raise UsageError("SQL Server is weighed at an address only: none is started here", hint=_HINT)


def reach(
    common: str | None, own: str | None, settings: Settings, database: str | None
) -> SqlServerArm:
    """An arm on the server that the study names; its database is made later. UsageError."""
    if own is not None or common is None:
        raise UsageError("the arms of SQL Server are databases on one server", hint=_HINT)
    if not is_sqlserver(common):
        raise UsageError(f'no address of a SQL Server: "{hidden(common)}"', hint=_HINT)
    return SqlServerArm(read_uri(common), settings)


def count_alone(instance: Instance) -> Instance:
    """The same: what is counted is of its database in any case."""
    return instance


def inspect_source(path: Path) -> NoReturn:
    """Data of others are not taken in."""
    raise UsageError(
        f'cannot take in "{path}": on SQL Server only workloads that Steelyard loads are weighed'
    )


def read_server_settings(place: SettingsPlace) -> NoReturn:
    """Nor are their settings."""
    inspect_source(place.data)


def remove_servers(directory: Path, account: Account) -> list[int]:
    """None is started here."""
    return []
