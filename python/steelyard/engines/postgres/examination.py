"""Reads what a build of PostgreSQL assumes and accepts, from a cluster that is made and removed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from steelyard.engines.engine import Slot
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.control import CHECKSUMS, read_layout
from steelyard.engines.postgres.sql.session import read_allowed, read_defaults
from steelyard.model.identity import BuildDefaults, Default
from steelyard.model.settings.allowed import Allowed

Create = Callable[..., Cluster]
"""Makes a cluster: (directory, protection=...)."""
_PRESETS = (
    "block_size",
    "segment_size",
    "wal_block_size",
    "max_identifier_length",
    "max_index_keys",
)
"""What a server compares with the control file before it starts, as far as settings show it
(ReadControlFile, src/backend/access/transam/xlog.c)."""


def examine(create: Create, slot: Slot) -> BuildDefaults:
    """Make a cluster at the slot, start it, read, and remove it; takes one to two seconds.

    ServerError quotes a server that would not be made or started.
    """
    with _examined(create, slot) as cluster:
        defaults = read_defaults(cluster.address)
        cluster.stop()
        return BuildDefaults({**read_layout(cluster.directory), **_compiled(defaults)}, defaults)


def examine_allowed(create: Create, slot: Slot) -> dict[str, Allowed]:
    """What the build accepts for every setting, read from a cluster as `examine` makes one."""
    with _examined(create, slot) as cluster:
        return read_allowed(cluster.address)


@contextmanager
def _examined(create: Create, slot: Slot) -> Iterator[Cluster]:
    """A cluster of defaults that runs at the slot, and is removed."""
    directory = slot.path / "examined"
    cluster = create(directory, protection=CHECKSUMS)
    try:
        cluster.start(slot, {})
        try:
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _compiled(defaults: dict[str, Default]) -> dict[str, int]:
    return {name: int(defaults[name].value or 0) for name in _PRESETS if name in defaults}
