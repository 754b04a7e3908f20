"""Reads and removes the added engines in the cache, whatever their kind.

An added engine is a directory `engines/NAME` of the cache: `engine.json` says what it is, and for
a build that was fetched its files are beside it. What is in `engine.json` beyond what every kind
has is its kind's own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steelyard.engines.cache import Cache, entries
from steelyard.engines.file_lock import locked, locked_if_free
from steelyard.engines.local.runs import live_runs
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.files.bounded_json import read_json

DESCRIPTION = "engine.json"
HALF = ".half-"
"""What a directory is named in which an engine is being made."""


def homes(cache: Cache, kinds: Collection[str]) -> list[Path]:
    """The directories of added engines of these kinds, by name; kind "" is of those whose
    description is damaged."""
    return [home for home in entries(cache.engines) if _of(home)[0] in kinds]


def remove_engine(engine: str, cache: Cache) -> str:
    """Remove an added engine by its name, or by its version where that names only one; its name.

    Of an engine in a directory only the description is removed. UsageError: none of that name;
    EngineError: in use.
    """
    with editing(cache):
        every = {home.name: _of(home) for home in entries(cache.engines)}
        name = _full_name(engine, every)
        if not os.path.lexists(cache.engines / name / DESCRIPTION):
            raise UsageError(
                f'"{cache.engines / name}" was not added as an engine: it has no {DESCRIPTION}',
                hint="Only what `steelyard engines add` has added can be removed, by its name.",
            )
        *_, package = every[name]
        if package and live_runs(cache):
            raise EngineError(
                f'could not remove engine "{name}": a weighing is under way',
                hint="Wait until it has ended.",
            )
        shutil.rmtree(cache.engines / name)
        return name


def _of(home: Path) -> tuple[str, str, str]:
    """(kind, version, package) of an added engine; empty where its description is damaged."""
    try:
        document: dict[str, Any] = read_json(home / DESCRIPTION)
        identity = document["identity"]
        return str(identity["kind"]), str(identity["version"]), str(document["package"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", "", ""


def _full_name(engine: str, every: Mapping[str, tuple[str, str, str]]) -> str:
    if engine in every:
        return engine
    # "mysql-5.7" is what the engine was asked for by; its name has the whole version.
    same = [
        name
        for name, (kind, version, _) in every.items()
        if kind and (engine == version or f"{kind}-{version}.".startswith(f"{engine}."))
    ]
    if len(same) == 1:
        return same[0]
    what = (
        f'several engines are of version "{engine}"' if same else f'no engine "{engine}" was added'
    )
    raise UsageError(
        what,
        detail=f"There are {', '.join(same or every)}." if same or every else None,
        hint="Only what `steelyard engines add` has added can be removed, by its name.",
    )


def sweep(cache: Cache) -> int:
    """Remove what a killed `add` left half made; how many there were. One under way is left."""
    if not cache.engines.is_dir():
        return 0
    with locked_if_free(cache.engines / ".lock") as acquired:
        return _remove_halves(cache) if acquired else 0


@contextmanager
def editing(cache: Cache) -> Iterator[None]:
    """Only one process at a time adds or removes; what a killed one left is removed first."""
    with locked(cache.engines / ".lock"):
        _remove_halves(cache)
        yield


def _remove_halves(cache: Cache) -> int:
    left = list(cache.engines.glob(f"{HALF}*"))
    for each in left:
        shutil.rmtree(each, ignore_errors=True)
    return len(left)
