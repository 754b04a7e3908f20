"""Locates the cache: templates, copied binaries, added engines, and weighings under way.

`STEELYARD_CACHE` if set, else /var/cache/steelyard as root, else XDG_CACHE_HOME/steelyard. Data
directories of weighings stand here too, so that they can share blocks with their templates
(reflink), and so the root decides which disk is weighed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from steelyard.model.errors import EngineError, SteelyardError, UntrustedPathError
from steelyard.model.files.own_directory import OwnDirectory
from steelyard.model.units import format_bytes

_GET_FLAGS, _SET_FLAGS = 0x8008_6601, 0x4008_6602
_TOP_OF_HIERARCHIES = 0x0002_0000
_MADE = {"templates": 0o711, "binaries": 0o755, "engines": 0o755, "run": 0o711}
"""Rooms that are always there, and their modes."""
_ROOMS = (*_MADE, "probes", "fleet")


@dataclass(frozen=True)
class Cache:
    """The cache root and its rooms."""

    root: Path

    @property
    def templates(self) -> Path:
        """Loaded, cleanly stopped clusters; each belongs to the account that loaded it."""
        return self.root / "templates"

    @property
    def binaries(self) -> Path:
        """Copies of server programs, where the server's account could not read the original."""
        return self.root / "binaries"

    @property
    def engines(self) -> Path:
        """Engines that were added by name (added.py); kept until they are removed by name."""
        return self.root / "engines"

    @property
    def runs(self) -> Path:
        """One directory a weighing under way; registry.py cleans what a dead owner left."""
        return self.root / "run"

    def room_of(self, path: Path) -> Path | None:
        """The room that a path leads into, by whatever links; None: it leads into none."""
        target = path.resolve()
        rooms = (self.root / name for name in _ROOMS)
        return next((room for room in rooms if target.is_relative_to(room.resolve())), None)


def cache_root() -> Path:
    """Where the cache root is, whether or not it exists yet. EngineError: there is no home."""
    chosen = os.environ.get("STEELYARD_CACHE")
    if chosen:
        return Path(chosen).absolute()
    if os.geteuid() == 0:
        return Path("/var/cache/steelyard")
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says that a relative path there is to be ignored.
    return (Path(base) if base.startswith("/") else _home() / ".cache") / "steelyard"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise EngineError(
            "could not find a place for the cache: HOME is not set, and this account is not in "
            "passwd",
            hint="Set STEELYARD_CACHE to a directory that can be written.",
        ) from error


def known_cache() -> Cache:
    """The cache, which may not exist yet; nothing is made or changed.

    UntrustedPathError: it or a room of it is a link, another account's, or open to others; as root
    also where another account could put something else in its place.
    """
    root = cache_root()
    if os.geteuid() == 0:
        _require_above_of_root(root)
    for directory in (root, *(root / name for name in _ROOMS)):
        if os.path.lexists(directory):
            OwnDirectory.open(directory).close()
    return Cache(root)


def open_cache() -> Cache:
    """The cache, made if needed; mode 0711 so that an account reaches what is its own.

    UntrustedPathError as `known_cache`, before anything is made or changed.
    """
    try:
        cache = known_cache()
        OwnDirectory.make(cache.root)
        for directory, mode in (
            (cache.root, 0o711),
            *((cache.root / n, m) for n, m in _MADE.items()),
        ):
            OwnDirectory.make(directory)
            with OwnDirectory.open(directory) as room:
                if os.fstat(room.descriptor).st_mode & 0o777 != mode:
                    os.fchmod(room.descriptor, mode)
        spread(cache.runs)
    except OSError as error:
        raise EngineError(
            f'could not make the cache directory "{error.filename}": {error.strerror}',
            hint="Set STEELYARD_CACHE to a directory that can be written.",
        ) from error
    return cache


def _require_above_of_root(root: Path) -> None:
    """Every directory above is root's, and others may not write into it or, as in /tmp, not rename
    what is root's there."""
    above = root.parent.resolve()
    for directory in (above, *above.parents):
        try:
            status = directory.stat()
        except FileNotFoundError:  # it will be made
            continue
        open_to_others = status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX
        if status.st_uid != 0 or open_to_others:
            raise UntrustedPathError(
                f'will not use the cache "{root}" as root: others could put another in its place',
                detail=f'"{directory}" is of account number {status.st_uid}, mode '
                f"{stat.S_IMODE(status.st_mode):04o}.",
                hint="Set STEELYARD_CACHE to a place below directories of root's alone, such as "
                "/var/cache/steelyard.",
            )


def free_bytes(path: Path) -> int:
    """Bytes an unprivileged account may still write on the file system of `path`."""
    existing = path.absolute()
    while not existing.exists():
        existing = existing.parent
    status = os.statvfs(existing)
    return status.f_bavail * status.f_frsize


def require_room(
    failed: str,
    needed_bytes: int,
    available_bytes: int,
    *,
    detail: str | None = None,
    hint: str = "Free some room, or move the cache: STEELYARD_CACHE.",
    error: type[SteelyardError] = EngineError,
) -> None:
    """An error where less is free, on a disk or in memory, than is needed; both are in it after
    what `failed` says could not be done."""
    if available_bytes < needed_bytes:
        raise error(
            f"{failed}: {format_bytes(needed_bytes)} are needed, "
            f"{format_bytes(available_bytes)} are free",
            detail=detail,
            hint=hint,
        )


def tree_bytes(path: Path) -> int:
    """Bytes that a file or directory tree occupies; files that vanish meanwhile count nothing."""
    total = 0
    with suppress(FileNotFoundError):
        # By descriptors: in a data directory its account could put a link under any name.
        for _, _, files, opened in os.fwalk(os.path.realpath(path), follow_symlinks=False):
            for name in files:
                try:
                    total += os.stat(name, dir_fd=opened, follow_symlinks=False).st_blocks * 512
                except FileNotFoundError:
                    continue
    return total


SETTINGS_PREFIX, BACKUP_PREFIX = "settings-", "backup-"
"""Of what is kept beside templates: files of settings, and backups, whose files end in .conf."""
_KEPT_SETTINGS = (f"{SETTINGS_PREFIX}*", f"{BACKUP_PREFIX}*.conf")
"""Files that hold settings of servers, drafts among them."""


def entries(room: Path) -> list[Path]:
    """Entries of a room of the cache, by name; lock files and half-made ones left out."""
    if not room.is_dir():
        return []
    return sorted(p for p in room.iterdir() if _is_own(p) and not p.name.startswith("."))


def clear(room: Path) -> int:
    """Remove every directory in a room, half-made ones too, and settings that were kept beside
    copies of servers; the bytes that became free.

    Other files stay: they are locks, and a lock file that is removed while another process waits
    for it would let two of them in. Of a link the name is removed, not what it leads to.
    """
    freed = 0
    for entry in sorted(room.iterdir()) if room.is_dir() else []:
        if _is_own(entry):
            freed += tree_bytes(entry)
            shutil.rmtree(entry)
        elif entry.is_symlink() or any(map(entry.match, _KEPT_SETTINGS)):
            entry.unlink()
    return freed


def _is_own(entry: Path) -> bool:
    return entry.is_dir() and not entry.is_symlink()


def spread(directory: Path) -> None:
    """Let each directory that is made in this one begin in a block group of its own (`chattr +T`).

    ext4 seeks an inode for a new file in the group of its directory, and passes over those that it
    freed within the last minutes (`recently_deleted` in Linux, fs/ext4/ialloc.c). Where clusters of
    a thousand files come and go in one group, each new file looks at thousands of inodes. Nothing
    happens on a file system that knows no such flag, or without the right to set it.
    """
    with suppress(OSError):
        opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            [flags] = struct.unpack("i", fcntl.ioctl(opened, _GET_FLAGS, struct.pack("i", 0)))
            if not flags & _TOP_OF_HIERARCHIES:
                fcntl.ioctl(opened, _SET_FLAGS, struct.pack("i", flags | _TOP_OF_HIERARCHIES))
        finally:
            os.close(opened)
