"""Makes, reads and removes the added engines in the cache, whatever their kind.

An added engine is a directory `engines/NAME` of the cache: `engine.json` says what it is, and for
a build that was fetched its files are beside it. What is in `engine.json` beyond what every kind
has is its kind's own.

It is made under another name and gets its own when it is whole: an engine that has its name works,
and has run once as the account of servers. Nothing half made stays, even interrupted.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steelyard.engines.cache import Cache, entries, free_bytes, require_room
from steelyard.engines.defer_signals import defer_signals
from steelyard.engines.file_lock import locked, locked_if_free
from steelyard.engines.local.runs import live_runs
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.files.bounded_json import read_json

DESCRIPTION = "engine.json"
HALF = ".half-"
"""What a directory is named in which an engine is being made."""

GIVEN = ("bundle-", "debian-", "npm-", "system-")
"""Names of builds that were found or fetched begin so."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_VERSION = re.compile(r"\d+(\.\d+){0,2}")
_EARLY = re.compile(r"\d+(?:alpha|beta|rc)\d+")
Says = Callable[[str], None]


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


def is_version(text: str) -> bool:
    """Whether a text asks for a version of PostgreSQL: "17" or "17.0"."""
    return _VERSION.fullmatch(text) is not None


def addable(text: str) -> str | None:
    """What `engines add` is given to fetch the PostgreSQL that a study names: "18.4" of "18.4" and
    of "npm-18.4", "debian-18.6", "19rc1". None: it fetches none of that name."""
    origin, dash, version = text.rpartition("-")
    if not (is_version(version) or _EARLY.fullmatch(version)):
        return None
    return {"": version, "npm-": version, "debian-": text}.get(origin + dash)


@contextmanager
def workshop(cache: Cache) -> Iterator[Path]:
    """A directory to make an engine in, which is gone afterwards."""
    half = Path(tempfile.mkdtemp(prefix=HALF, dir=cache.engines))
    half.chmod(0o711)  # the account of servers passes through to what it runs once
    try:
        yield half
    finally:
        with defer_signals():
            shutil.rmtree(half, ignore_errors=True)


def new_directory(path: Path) -> Path:
    """A directory that every account may enter, whatever the umask."""
    path.mkdir()
    path.chmod(0o755)
    return path


def move_into_cache(staging: Path, home: Path, described: Mapping[str, Any]) -> None:
    """Describe what was made, and give it its name; an older one of that name goes."""
    facts = {**described, "added": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    try:
        (staging / DESCRIPTION).write_text(json.dumps(facts, indent=2) + "\n")
        if home.exists():
            _require_engine(home)
            home.rename(staging.with_name("old"))
        staging.rename(home)
    except OSError as error:
        raise EngineError(f'could not keep engine "{home.name}": {error.strerror}') from error


def _require_engine(home: Path) -> None:
    """EngineError where what would be replaced was never added as an engine."""
    if not os.path.lexists(home / DESCRIPTION):
        raise EngineError(
            f'could not keep engine "{home.name}": "{home}" is no engine, and would be lost',
            hint="Move it out of the cache, or remove it.",
        )


def require_name(chosen: str, prefixes: Collection[str] = GIVEN) -> None:
    """UsageError where a directory's build may not be named so."""
    if not _NAME.fullmatch(chosen) or is_version(chosen) or chosen.startswith(tuple(prefixes)):
        raise UsageError(
            f'invalid name of an engine: "{chosen}"',
            detail=f"Letters, digits and . _ + - are possible; {', '.join(prefixes)} and versions "
            "name builds that were found or fetched.",
            hint="Choose another one: --name my-build",
        )


def name_conflict(chosen: str, directory: Path | str) -> UsageError:
    """The error where a name is that of another engine."""
    return UsageError(
        f'name "{chosen}" is taken by the engine in "{directory}"',
        hint="Choose another one: --name my-build",
    )


def named_after(directory: Path) -> str:
    """A name for the build in a directory: "my-build" of opt/my-build, "postgresql-19" of
    postgresql/19, since a version alone names none."""
    name = re.sub(r"[^A-Za-z0-9_.+-]", "-", directory.name).strip("-.") or "build"
    return f"{named_after(directory.parent)}-{name}" if is_version(name) else name


def require_room_for_build(cache: Cache, needed_bytes: int) -> None:
    """EngineError where the cache's disk has too little room for a build."""
    require_room(
        "could not add the engine",
        needed_bytes,
        free_bytes(cache.engines),
        detail=f'Needed under "{cache.engines}".',
    )
