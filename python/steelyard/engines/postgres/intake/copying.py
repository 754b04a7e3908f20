"""Copies a stopped cluster or a base backup, so that nothing of the copy leads back to it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.cache import free_bytes
from steelyard.engines.copying import copy_opened
from steelyard.engines.intake import DataPlace, Report
from steelyard.engines.local.owned_files import names_below
from steelyard.engines.postgres.intake.configuration import printable
from steelyard.engines.postgres.intake.contents import EMPTY, CopiedPath, contents
from steelyard.engines.postgres.intake.place import Digest, digest_of
from steelyard.engines.postgres.life.data_directory import TABLESPACES
from steelyard.model.errors import EngineError
from steelyard.model.units import NS_PER_S, format_bytes, format_duration

COPYING = "copy the data"
_BETWEEN_S = 2.0
"""Seconds between two reports of how far a copy is."""
_APART_S = 300.0
"""A checkpoint writes files until so long after the log, checkpoint_timeout of its default."""


class CopyProgress:
    """Reports bytes of bytes and the time left while files are copied."""

    def __init__(
        self, report: Report, whole_bytes: int | None, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._report = report
        self._whole = whole_bytes  # None: not known
        self._now = now_s
        self._began = self._last = now_s()
        self._copied = 0

    def add(self, size_bytes: int) -> None:
        """A file was copied."""
        self.reach(self._copied + size_bytes)

    def reach(self, copied_bytes: int) -> None:
        """So much is copied by now."""
        self._copied = copied_bytes
        now = self._now()
        if now - self._last >= _BETWEEN_S and copied_bytes > 0:
            self._last = now
            self._report(f"{COPYING}: {self._progress_text(now - self._began)}")

    def _progress_text(self, seconds: float) -> str:
        done = f"{self._copied / 1e6:,.0f}"
        if self._whole is None or self._copied >= self._whole:
            return f"{done} MB"
        left_s = seconds * (self._whole - self._copied) / self._copied
        left = format_duration(math.ceil(left_s) * NS_PER_S)
        return f"{done} of {self._whole / 1e6:,.0f} MB, {left} left"


def copy_in(
    place: DataPlace, directory: Path, account: Account, report: Report = lambda _: None
) -> None:
    """Copy what a cluster needs to `directory`, which does not exist yet: tablespaces and log stand
    within it afterwards. It is given to the account when all of it is there.

    EngineError: the files changed meanwhile, or there is no room.
    """
    copied = Digest()
    sizes = [0 if entry.is_directory else entry.status.st_size for entry in contents(place.path)]
    report(f"{COPYING}: {format_bytes(sum(sizes))}, {len(sizes)} files")
    progress = CopyProgress(report, sum(sizes))
    try:
        account.make_way(directory)
        directory.mkdir(mode=0o700)
        for entry in contents(place.path):
            copied.add(entry.name, _copy(entry, directory / entry.name))
            progress.add(0 if entry.is_directory else entry.status.st_size)
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


def _copy(entry: CopiedPath, target: Path) -> os.stat_result:
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


def linked_tablespace_doubts(directory: Path) -> Iterator[str]:
    """Which tablespaces a link leads to that were written later than all else of a cluster: in a
    copy that was made with its links, and in a snapshot of one disk, they lead to the original's.
    """
    newest: dict[str, float] = {}  # time of change by what may be a link
    for entry in contents(directory):
        top, _, below = entry.name.partition("/")
        place = f"{top}/{below.partition('/')[0]}" if top == TABLESPACES else top
        if not entry.is_directory:
            newest[place] = max(newest.get(place, 0.0), entry.status.st_mtime)
    linked = {place for place in newest if os.path.islink(directory / place)}
    rest_s = max((at for place, at in newest.items() if place not in linked), default=math.inf)
    for place in sorted(linked):
        later_s = newest[place] - rest_s
        if place.startswith(TABLESPACES) and later_s > _APART_S:
            where = printable(os.readlink(directory / place))
            yield (
                f'{place} leads to "{where}", written {format_duration(later_s * NS_PER_S)} after '
                "all else of these data: where they are a copy, that is still the original's, of "
                "another moment; put a copy of it in the place of the link"
            )


def tablespaces(directory: Path) -> list[str]:
    """Names of the tablespaces that stand within a copy."""
    return names_below(directory, TABLESPACES)
