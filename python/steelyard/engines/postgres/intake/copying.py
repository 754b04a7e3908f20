"""Copies a stopped cluster or a base backup, so that nothing of the copy leads back to it."""

from __future__ import annotations

import os
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.cache import free_bytes
from steelyard.engines.copying import copy_opened
from steelyard.engines.intake import DataPlace
from steelyard.engines.local.owned_files import names_below
from steelyard.engines.postgres.intake.contents import EMPTY, Entry, contents
from steelyard.engines.postgres.intake.place import Digest, digest_of
from steelyard.model.errors import EngineError
from steelyard.model.units import format_bytes


def copy_in(place: DataPlace, directory: Path, account: Account) -> None:
    """Copy what a cluster needs to `directory`, which does not exist yet: tablespaces and log stand
    within it afterwards. It is given to the account when all of it is there.

    EngineError: the files changed meanwhile, or there is no room.
    """
    copied = Digest()
    try:
        account.make_way(directory)
        directory.mkdir(mode=0o700)
        for entry in contents(place.path):
            copied.add(entry.name, _copy(entry, directory / entry.name))
        for name in EMPTY:
            (directory / name).parent.mkdir(mode=0o700, exist_ok=True)
            (directory / name).mkdir(mode=0o700)
        account.own_tree(directory)
    except OSError as error:
        raise EngineError(
            f'could not copy "{place.path}": {error.strerror}',
            detail=f'{format_bytes(free_bytes(directory))} are free at "{directory}".',
            hint="STEELYARD_CACHE moves the cache, with its copies, to another disk.",
        ) from error
    if not copied.hexdigest() == digest_of(place.path) == place.digest:
        raise EngineError(
            f'could not copy "{place.path}": its files changed meanwhile',
            detail="A server uses it, perhaps in a container or on another machine.",
            hint="Stop the server, or take a base backup of it: --from 'host=... dbname=...'",
        )


def _copy(entry: Entry, target: Path) -> os.stat_result:
    """Make the target; the status of what was copied."""
    if entry.is_directory:
        target.mkdir(mode=0o700)
        return entry.status
    opened = entry.open()
    try:
        status = os.fstat(opened)
        copy_opened(opened, str(target), 0o600)
    finally:
        os.close(opened)
    return status


def tablespaces(directory: Path) -> list[str]:
    """Names of the tablespaces that stand within a copy."""
    return names_below(directory, "pg_tblspc")
