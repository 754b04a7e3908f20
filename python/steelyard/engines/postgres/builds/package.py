"""Unpacks an npm package of PostgreSQL: regular files, and the symbolic links that it lists.

An npm tarball cannot hold symbolic links; this publisher lists those of its libraries in
`native/pg-symlinks.json`, for a script after the installation. That script is not run: the list is
read, and what would lead out of the package is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from steelyard.engines.builds import tarball as archives
from steelyard.model.errors import EngineError

TREE = "native"
"""The directory of the package that holds bin, lib and share."""
LINKS = "native/pg-symlinks.json"


def unpack(tarball: Path, directory: Path) -> Path:
    """Unpack into `directory`, which must not exist; the tree with bin, lib and share.

    EngineError: as of any tarball, a link that leads out of the package, or no programs in it.
    """
    archives.unpack(tarball, directory, lambda inside: inside.parts[:2] == (TREE, "bin"))
    _link(directory)
    tree = directory / TREE
    if not (tree / "bin").is_dir():
        raise EngineError(f'cannot use "{tarball.name}": there is no "{TREE}/bin" in it')
    return tree


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
