"""Makes an added engine under another name and gives it its own when it is whole.

An engine that has its name works: it has run once, as the account of servers. Nothing half made
stays, even interrupted.
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

from steelyard.engines.builds.added import DESCRIPTION, HALF
from steelyard.engines.cache import Cache, free_bytes, require_room
from steelyard.engines.defer_signals import defer_signals
from steelyard.model.errors import EngineError, UsageError

GIVEN = ("bundle-", "debian-", "npm-", "system-")
"""Names of builds that were found or fetched begin so."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_VERSION = re.compile(r"\d+(\.\d+){0,2}")
_EARLY = re.compile(r"\d+(?:alpha|beta|rc)\d+")

Says = Callable[[str], None]


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


def taken(chosen: str, directory: Path | str) -> UsageError:
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
