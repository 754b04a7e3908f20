"""Reads what a build assumes: the layout of its data directories, and its settings' defaults."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from steelyard.engines.engine import Slot
from steelyard.engines.postgres.life.control import CHECKSUMS, read_layout
from steelyard.engines.postgres.sql.session import read_defaults
from steelyard.model.defaults import BuildDefaults, Default

if TYPE_CHECKING:
    from steelyard.engines.postgres.postgres import Postgres

_PRESETS = (
    "block_size",
    "segment_size",
    "wal_block_size",
    "max_identifier_length",
    "max_index_keys",
)
"""What a server compares with the control file before it starts, as far as it can be told apart
(ReadControlFile, src/backend/access/transam/xlog.c)."""


def examine(engine: Postgres, slot: Slot) -> BuildDefaults:
    """Make a cluster at the slot, start it, read, and remove it; takes one to two seconds.

    ServerError quotes a server that would not be made or started.
    """
    directory = slot.path / "examined"
    cluster = engine.create(directory, protection=CHECKSUMS)
    try:
        cluster.start(slot, {})
        try:
            defaults = read_defaults(cluster.address)
        finally:
            cluster.stop()
        layout = {**read_layout(directory), **_compiled(defaults)}
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return BuildDefaults(layout, defaults)


def _compiled(defaults: dict[str, Default]) -> dict[str, int]:
    return {name: int(defaults[name].value or 0) for name in _PRESETS if name in defaults}
