"""Makes a private directory to probe storage in, and removes it with everything in it.

Nothing that is there is touched: fio is only ever given files that were created in a directory of
our own. One that a killed probe left is known by its marker, which a living probe holds locked.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steelyard.engines.file_lock import hold, is_held
from steelyard.model.errors import UsageError
from steelyard.model.units import format_bytes
from steelyard.telemetry.capacity import filesystem, space
from steelyard.tuning.probe.jobs import LOG_BYTES

MOST_BYTES = 4 << 30
"""Of both files, the log's included."""
LEAST_BYTES = 1 << 30
LEAST_ASKED_BYTES = 32 << 20
"""With --size: as much as the workers of the sequential jobs need to have a part each."""
SHARE_OF_FREE = 10
"""A tenth of what is free."""
PREFIX = "steelyard-probe-"
MARKER = "steelyard-probe.lock"
_IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})


def require_directory(directory: Path) -> None:
    """UsageError where it is none that can be probed: a device, a file, in memory, read-only."""
    try:
        mode = directory.stat().st_mode
    except OSError as error:
        raise UsageError(f'could not probe "{directory}": {error.strerror}') from error
    if stat.S_ISBLK(mode) or stat.S_ISCHR(mode):
        raise UsageError(
            f'"{directory}" is a device: probing it would overwrite what is on it',
            hint="Name a directory of a file system on it.",
        )
    if not stat.S_ISDIR(mode):
        raise UsageError(f'"{directory}" is no directory')
    mount = filesystem(directory)
    if mount.get("type") in _IN_MEMORY:
        raise UsageError(
            f'"{directory}" is in memory ({mount["type"]}): there is no storage to probe',
            hint="Name a directory on the device that data would stand on.",
        )
    if not os.access(directory, os.W_OK | os.X_OK):
        read_only = "ro" in mount.get("options", "").split(",")
        reason = "its file system is mounted read-only" if read_only else "it may not be written to"
        raise UsageError(f'could not probe "{directory}": {reason}')


def size_to_use(directory: Path, asked_bytes: int | None = None) -> int:
    """Bytes of the data file; UsageError where there is no room for one that tells anything.

    `asked_bytes`: no more than so many; then less does than a probe needs by itself.
    """
    if asked_bytes is not None and asked_bytes < LEAST_ASKED_BYTES:
        raise UsageError(
            f"{format_bytes(asked_bytes)} are too few to probe with: "
            f"{format_bytes(LEAST_ASKED_BYTES)} are the least"
        )
    free = space(directory).free_bytes
    least = LEAST_BYTES if asked_bytes is None else LEAST_ASKED_BYTES
    size = min(MOST_BYTES, free // SHARE_OF_FREE) - LOG_BYTES
    if asked_bytes is not None:
        size = min(size, asked_bytes)
    if size < least:
        smaller = "or name a smaller file with --size; caches then tell more of it."
        raise UsageError(
            f'"{directory}" has {format_bytes(free)} free, and a probe needs '
            f"{format_bytes(SHARE_OF_FREE * (least + LOG_BYTES))}: its data file of at least "
            f"{format_bytes(least)} and its log of {format_bytes(LOG_BYTES)} take a tenth of what "
            "is free at the most",
            hint="Free some." if asked_bytes is not None else f"Free some, {smaller}",
        )
    return size // (1 << 20) * (1 << 20)


@contextmanager
def private_place(directory: Path) -> Iterator[Path]:
    """A directory of our own inside it, removed at the end whatever happens."""
    _remove_left_behind(directory)
    place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=directory))
    lock = hold(place / MARKER)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        lock.close()


def takes_direct(place: Path) -> bool:
    """Whether the file system opens files past the page cache."""
    trial = place / "direct"
    try:
        os.close(os.open(trial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_DIRECT, 0o600))
    except OSError:
        return False
    finally:
        trial.unlink(missing_ok=True)
    return True


def _remove_left_behind(directory: Path) -> None:
    for leftover in directory.glob(f"{PREFIX}*"):
        marker = leftover / MARKER
        if (
            leftover.is_dir()
            and not leftover.is_symlink()
            and marker.is_file()
            and not is_held(marker)
        ):
            shutil.rmtree(leftover, ignore_errors=True)
