"""Copies a stopped cluster or a base backup, so that nothing of the copy leads back to it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.cache import free_bytes
from steelyard.engines.copying import copy_file
from steelyard.engines.intake import DataPlace
from steelyard.engines.postgres.intake.contents import EMPTY, contents
from steelyard.engines.postgres.intake.place import digest_of
from steelyard.model.errors import EngineError
from steelyard.model.units import format_bytes


def copy_in(place: DataPlace, directory: Path, account: Account) -> None:
    """Copy what a cluster needs to `directory`: tablespaces and log stand within it afterwards.

    EngineError: the files changed meanwhile, or there is no room.
    """
    try:
        account.make_directory(directory)
        for name, source, status in contents(place.path):
            target = directory / name
            if stat.S_ISDIR(status.st_mode):
                account.make_directory(target)
            else:
                copy_file(str(source), str(target))
                target.chmod(0o600)
                account.own(target)
        for name in EMPTY:
            account.make_directory(directory / name)
    except OSError as error:
        raise EngineError(
            f'could not copy "{place.path}": {error.strerror}',
            detail=f'{format_bytes(free_bytes(directory))} are free at "{directory}".',
            hint="STEELYARD_CACHE moves the cache, with its copies, to another disk.",
        ) from error
    if digest_of(place.path) != place.digest:
        raise EngineError(
            f'could not copy "{place.path}": its files changed meanwhile',
            detail="A server uses it, perhaps in a container or on another machine.",
            hint="Stop the server, or take a base backup of it: --from 'host=... dbname=...'",
        )


def tablespaces(directory: Path) -> list[str]:
    """Names of the tablespaces that stand within a copy."""
    return sorted(os.listdir(directory / "pg_tblspc"))
