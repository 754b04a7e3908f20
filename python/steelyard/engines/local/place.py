"""Makes a private directory in a place of the user's that a study names for an arm's files.

As root nothing is made where another account could put something else under its name: every
directory above must be of root, or of the caller, and closed to others, or sticky as /tmp is.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.model.errors import EngineError, UntrustedPathError, UsageError
from steelyard.model.files.own_directory import distrust_of

_OWN_NAME = re.compile(r"steelyard-[0-9]{8}T[0-9]{6}Z-[0-9]+-[0-9a-f]+-[0-9]+")
_PROBE = "reach"


def private_name(run: str, number: int) -> str:
    """What the directory of a weighing is called in the place of this number."""
    return f"steelyard-{run}-{number}"


def require_usable(place: Path) -> Path:
    """The place as it is named without links. UsageError: there is none. UntrustedPathError: others
    could put something in its way."""
    try:
        directory = place.resolve(strict=True)
    except OSError as error:
        raise UsageError(
            f'could not use "{place}" for an arm\'s files: {error.strerror}',
            hint=f"Mount it, or make it: mkdir -p {shlex.quote(str(place))}",
        ) from error
    if not directory.is_dir():
        raise UsageError(f'cannot use "{place}" for an arm\'s files: it is not a directory')
    status = directory.stat()
    distrust = distrust_of(directory, status)
    # In a sticky one its owner alone may rename what is another's.
    sticky = status.st_mode & stat.S_ISVTX and status.st_uid in (0, os.geteuid())
    if distrust is not None and not sticky:
        raise UntrustedPathError(
            f'will not use "{place}" for an arm\'s files: {distrust.reason}',
            hint=f"{distrust.remedy}. Or name a directory of your own below it.",
        )
    for above in directory.parents:
        status = above.stat()
        open_to_others = status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX
        if status.st_uid not in (0, os.geteuid()) or (os.geteuid() == 0 and open_to_others):
            raise UntrustedPathError(
                f'will not use "{place}" for an arm\'s files: others could put another in its '
                "place",
                detail=f'"{above}" is of account number {status.st_uid}, mode '
                f"{stat.S_IMODE(status.st_mode):04o}.",
                hint="Name a place below directories that only root, or you, can write.",
            )
    return directory


def make_private(directory: Path, account: Account) -> None:
    """Make the directory of a weighing, which its servers' account passes through. EngineError: it
    cannot be made, or the account cannot enter the place."""
    try:
        directory.mkdir(mode=0o700)
        directory.chmod(0o711)
        probe = directory / _PROBE
        account.make_directory(probe)
        try:
            account.call(lambda: len(os.listdir(probe)))
        finally:
            probe.rmdir()
    except OSError as error:
        place = directory.parent
        raise EngineError(
            f'could not use "{place}" for an arm\'s files as account "{account.name}": '
            f"{error.strerror}",
            hint=f"Every account must be able to enter it: chmod a+x {shlex.quote(str(place))}, "
            "and each directory above it.",
        ) from error


def remove_private(directory: Path) -> None:
    """Remove the directory of an ended weighing; another one, or one that is gone, is left."""
    if _OWN_NAME.fullmatch(directory.name) and not directory.is_symlink():
        shutil.rmtree(directory, ignore_errors=True)
