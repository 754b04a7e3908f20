"""Makes a profile for a server: memory, processors, free room, the probe of its device, and what a
build of the database accepts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.engines.adapters import adapter
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.cache import open_cache
from steelyard.engines.capabilities.settings import AllowedSettings
from steelyard.engines.registry import open_run
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity
from steelyard.model.readings import ProfileName, WorkKind
from steelyard.model.setting_value import Allowed
from steelyard.telemetry.capacity import existing_ancestor
from steelyard.tuning.probing import last_probe, why_not_cached
from steelyard.tuning.profile.advice import TuningProfile
from steelyard.tuning.profile.basis import (
    Basis,
    Storage,
    free_disk,
    memory_here,
    processors_here,
    require_accessible,
)
from steelyard.tuning.profile.profile import make_profile, most_clients
from steelyard.tuning.profile.rules import connections


@dataclass(frozen=True)
class ProfileRequest:
    """What a profile is to be for; what is None is taken from the machine."""

    name: ProfileName
    kind: WorkKind
    clients: int | None = None  # None: as many as connect by default, as far as memory holds them
    cap_bytes: int | None = None  # the server's own memory
    servers: int = 1  # that stand here at once, and share its memory
    processors: int | None = None
    data_bytes: int | None = None
    disk_bytes: int | None = None  # free where the log would stand
    log_directory: Path | None = None  # where that is; None: with the data, or where they lead


def propose(
    wish: ProfileRequest, accepting: Accepting, directory: Path | None, cache: Path
) -> TuningProfile:
    """The profile of a server whose data stand in `directory`; UsageError: its memory does not do.

    Without a directory nothing of this machine's disks counts: the server may stand on another one.
    """
    if directory is not None:
        require_accessible(directory)
    have, source = memory_here(wish.cap_bytes, wish.servers)
    free, disk_from = wish.disk_bytes, "as given"
    if free is None and directory is not None:
        log, doubt = (wish.log_directory, "") if wish.log_directory else _log_place(directory)
        require_accessible(log)
        free, disk_from = free_disk(log), _free_where(log) + doubt
    usual, reserved = connections(accepting.allowed)
    basis = Basis(
        kind=wish.kind,
        memory_bytes=have,
        memory_from=source,
        processors=wish.processors or processors_here(),
        clients=wish.clients or usual - reserved,
        version_number=accepting.identity.version_number,
        free_disk_bytes=free,
        disk_from=disk_from if free is not None else "",
        clients_from="as given" if wish.clients else f"what {usual} connections leave",
        data_bytes=wish.data_bytes,
        storage=_storage(directory, cache),
    )
    if wish.clients is None and wish.name == "ours":
        basis = _within_memory(basis, accepting)
    return make_profile(wish.name, basis, accepting.allowed)


def _log_place(directory: Path) -> tuple[Path, str]:
    """Where the log of a data directory stands: in it, or where its pg_wal leads; and what is not
    known of that."""
    log = directory / "pg_wal"
    try:
        os.readlink(log)
    except PermissionError:
        return directory, "; this account may not read whether its pg_wal leads elsewhere"
    except OSError:  # it is no link, or there is none
        return directory, ""
    return log.resolve(), ""


def _free_where(directory: Path) -> str:
    """Whose free space it is: of a directory that is not there yet, its nearest ancestor's."""
    above = existing_ancestor(directory)
    if above == directory.absolute():
        return f'free where "{directory}" is'
    return f'free on "{above}", where "{directory}" would be made'


def _within_memory(basis: Basis, accepting: Accepting) -> Basis:
    """With fewer clients where memory holds no more of them."""
    most = most_clients(basis, accepting.allowed)
    if not 0 < most < basis.clients:
        return basis
    return replace(basis, clients=most, clients_from="all that its memory holds at work at once")


def _storage(directory: Path | None, cache: Path) -> Storage | None:
    """What is known of the device, or why it never will be; None: a probe of it would tell."""
    if directory is None:
        why = "no DIR names the device: `steelyard tune DIR` takes what a probe measured of it"
        return Storage("", "", None, None, why_not=why)
    probed = last_probe(directory, cache)
    if probed is not None:
        return Storage.of_probe(probed)
    why_not = why_not_cached(directory)
    if not why_not:
        return None
    return Storage("", "", None, None, why_not=f"no probe of it can be kept: {why_not}")


@dataclass(frozen=True)
class Accepting:
    """A build and what it accepts for its settings."""

    identity: Identity
    allowed: Mapping[str, Allowed]


def read_allowed_settings(kind: str, request: BuildRequest, account: str | None) -> Accepting:
    """Make a server of the build, query it, and remove it: 2 to 4 s. EngineError: there is no such
    build, or it cannot report them."""
    (engine,) = adapter(kind).find_arms([request], account, contrib=False)
    if not isinstance(engine, AllowedSettings):
        raise EngineError(f'cannot tune engine "{kind}": it does not tell what it accepts')
    with open_run(open_cache(), engine.account) as run:
        return Accepting(engine.identity, engine.allowed_settings(run.slot(0)))
