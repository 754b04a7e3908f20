"""Unpacks an npm tarball: regular files and directories below `package`, and nothing else."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from steelyard.model.errors import EngineError
from steelyard.model.units import format_bytes

if TYPE_CHECKING:
    import tarfile

TOP = "package"
"""The directory that everything in an npm tarball stands under."""
MOST_BYTES = 1 << 30
MOST_FILES = 20_000


def unpack(tarball: Path, directory: Path, program: Callable[[PurePosixPath], bool]) -> None:
    """Unpack into `directory`, which must not exist; `program` tells what is to be executable, by
    its path in the package.

    EngineError: a damaged tarball, one that holds anything but files and directories of its own,
    one that is too large, no space. What was written by then is left to the caller to remove.
    """
    import tarfile  # which only an added build needs

    try:
        with tarfile.open(tarball, "r:gz") as archive:
            _write_members(archive, directory, program)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise EngineError(
            f'cannot unpack "{tarball.name}": it is damaged', detail=str(error) or None
        ) from error
    except OSError as error:
        raise EngineError(
            f'could not unpack "{tarball.name}": {error.strerror or error}'
        ) from error


def _write_members(
    archive: tarfile.TarFile, directory: Path, program: Callable[[PurePosixPath], bool]
) -> None:
    total = 0
    for number, member in enumerate(archive):
        inside = _inside(member)
        total += member.size
        if total > MOST_BYTES or number >= MOST_FILES:
            raise EngineError(
                f'cannot unpack "{Path(str(archive.name)).name}": it holds too much',
                detail=f"At most {format_bytes(MOST_BYTES)} and {MOST_FILES} files are expected.",
            )
        target = directory / inside
        if member.isdir():
            _make_directories(directory, target)
            continue
        _make_directories(directory, target.parent)
        source = archive.extractfile(member)
        assert source is not None  # of a regular file it never is
        with source, target.open("xb") as file:
            shutil.copyfileobj(source, file)
        target.chmod(0o755 if program(inside) or ".so" in inside.name else 0o644)


def _inside(member: tarfile.TarInfo) -> PurePosixPath:
    """Where a member belongs below the directory; EngineError for what has no business there."""
    path = PurePosixPath(member.name)
    if not (member.isreg() or member.isdir()):
        raise EngineError(
            f'cannot unpack the package: "{member.name}" is neither a file nor a directory',
            detail="Links and devices have no place in an npm package.",
        )
    if path.is_absolute() or ".." in path.parts or path.parts[:1] != (TOP,):
        raise EngineError(
            f'cannot unpack the package: "{member.name}" would be written outside of it'
        )
    return PurePosixPath(*path.parts[1:])


def _make_directories(directory: Path, deepest: Path) -> None:
    """Make directories that every account may enter, whatever the umask."""
    missing = [p for p in (deepest, *deepest.parents) if p.is_relative_to(directory)]
    for path in reversed(missing):
        if not path.is_dir():
            path.mkdir()
            path.chmod(0o755)
