"""Makes a profile for this machine: memory, processors, free room, and the probe of its device."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from steelyard.model.profiles import ProfileName, WorkKind
from steelyard.tuning.probe.kept import last_probe, why_not_kept
from steelyard.tuning.profile.advice import Profile
from steelyard.tuning.profile.asking import Accepting
from steelyard.tuning.profile.basis import (
    Basis,
    Storage,
    free_disk,
    memory_here,
    processors_here,
)
from steelyard.tuning.profile.profile import make_profile


@dataclass(frozen=True)
class Wish:
    """What a profile is to be for; what is None is taken from the machine."""

    name: ProfileName
    kind: WorkKind
    clients: int
    cap_bytes: int | None = None  # the server's own memory
    servers: int = 1  # that stand here at once, and share its memory
    processors: int | None = None
    data_bytes: int | None = None


def propose(wish: Wish, accepting: Accepting, place: Path, cache: Path) -> Profile:
    """The profile of a server whose data stand at `place`; UsageError: its memory does not do."""
    have, source = memory_here(wish.cap_bytes, wish.servers)
    basis = Basis(
        kind=wish.kind,
        memory_bytes=have,
        memory_from=source,
        processors=wish.processors or processors_here(),
        clients=wish.clients,
        version_number=accepting.identity.version_number,
        free_disk_bytes=free_disk(place),
        data_bytes=wish.data_bytes,
        storage=_storage(place, cache),
    )
    return make_profile(wish.name, basis, accepting.allowed)


def _storage(place: Path, cache: Path) -> Storage | None:
    """What is known of the device, or why it never will be; None: a probe of it would tell."""
    probed = last_probe(place, cache)
    if probed is not None:
        return Storage.of_probe(probed)
    why_not = why_not_kept(place)
    if not why_not:
        return None
    return Storage("", "", None, None, why_not=f"no probe of it can be kept: {why_not}")
