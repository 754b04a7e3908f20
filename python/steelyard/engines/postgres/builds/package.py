"""Unpacks an npm package of PostgreSQL: regular files, and the symbolic links that it lists.

An npm tarball cannot hold symbolic links; this publisher lists those of its libraries in
`native/pg-symlinks.json`, for a script after the installation. That script is not run: the list is
read, and what would lead out of the package is refused.
"""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from steelyard.model.errors import EngineError
from steelyard.model.units import format_bytes

TOP = "package"
"""The directory that everything in an npm tarball stands under."""
TREE = "native"
"""The directory of the package that holds bin, lib and share."""
LINKS = "native/pg-symlinks.json"
MOST_BYTES = 1 << 30
MOST_FILES = 20_000
_BROKEN = (tarfile.TarError, EOFError, zlib.error)


def unpack(tarball: Path, directory: Path) -> Path:
    """Unpack into `directory`, which must not exist; the tree with bin, lib and share.

    EngineError: a damaged tarball, one that holds anything but files and directories of its own,
    one that is too large, no space. What was written by then is left to the caller to remove.
    """
    try:
        with tarfile.open(tarball, "r:gz") as archive:
            _write_members(archive, directory)
    except _BROKEN as error:
        raise EngineError(
            f'cannot unpack "{tarball.name}": it is damaged', detail=str(error) or None
        ) from error
    except OSError as error:
        raise EngineError(
            f'could not unpack "{tarball.name}": {error.strerror or error}'
        ) from error
    _link(directory)
    tree = directory / TREE
    if not (tree / "bin").is_dir():
        raise EngineError(f'cannot use "{tarball.name}": there is no "{TREE}/bin" in it')
    return tree


def _write_members(archive: tarfile.TarFile, directory: Path) -> None:
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
        program = inside.parts[:2] == (TREE, "bin") or ".so" in inside.name
        target.chmod(0o755 if program else 0o644)


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


def _make_directories(directory: Path, wanted: Path) -> None:
    """Make directories that every account may enter, whatever the umask."""
    missing = [p for p in (wanted, *wanted.parents) if p.is_relative_to(directory)]
    for path in reversed(missing):
        if not path.is_dir():
            path.mkdir()
            path.chmod(0o755)


def _link(directory: Path) -> None:
    """Make the links that the package lists: each within its tree, to a file of that tree."""
    for source, target in _listed(directory / LINKS):
        for name in (source, target):
            parts = PurePosixPath(name).parts
            if name.startswith("/") or ".." in parts or parts[:1] != (TREE,):
                raise EngineError(f'cannot unpack the package: link "{name}" leads out of it')
        file, link = directory / source, directory / target
        if not file.is_file() or not link.parent.is_dir() or os.path.lexists(link):
            raise EngineError(
                f'cannot unpack the package: link "{target}" to "{source}" is wrong',
                detail="The file must be in the package and nothing may stand where the link goes.",
            )
        link.symlink_to(os.path.relpath(file, link.parent))


def _listed(file: Path) -> Iterator[tuple[str, str]]:
    """(file, link) of every line; a package without links has no such file."""
    if not file.exists():
        return
    try:
        for line in json.loads(file.read_text()):
            yield str(line["source"]), str(line["target"])
    except (ValueError, TypeError, KeyError) as error:
        raise EngineError(f'cannot unpack the package: "{LINKS}" is wrong: {error}') from error
