"""Reads the fields that the control file and the log of every version begin with.

The Rust reader knows the whole control file of 12 to 18. Identifier, versions and state stand at
its beginning in every version: enough to tell whether two builds share a layout, and whether a
cluster was stopped, for a server that is still being written.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from steelyard._core import read_control
from steelyard.engines.engine import UNPROTECTED
from steelyard.model.errors import EngineError

CONTROL_FILE = "global/pg_control"
KNOWN = frozenset({1201, 1300, 1700, 1800})
"""Values of pg_control_version that the Rust reader knows: PostgreSQL 12 to 18."""

CHECKSUMS = "checksums"
PROTECTIONS = (CHECKSUMS, UNPROTECTED)
"""Levels of page protection of a PostgreSQL cluster."""

SHUT_DOWN = 1  # DB_SHUTDOWNED of src/include/catalog/pg_control.h
_BEGINNING = struct.Struct("=QIII")


@dataclass(frozen=True)
class ControlBeginning:
    """The fields that stand at the beginning of every control file, in this order."""

    system_identifier: int
    control_version: int
    catalog_version: int
    state: int


def verifies(protection: str) -> bool:
    """Whether pages are verified at a level of protection; EngineError: there is none such."""
    if protection not in PROTECTIONS:
        raise EngineError(
            f'PostgreSQL has no page protection "{protection}"',
            detail=f"It has {' and '.join(PROTECTIONS)}.",
        )
    return protection == CHECKSUMS


def read_beginning(directory: Path) -> ControlBeginning:
    """Of the cluster in a directory. OSError: cannot be read; ValueError: too short."""
    with (directory / CONTROL_FILE).open("rb") as file:
        found = file.read(_BEGINNING.size)
    if len(found) < _BEGINNING.size:
        raise ValueError(f"control file is too short: {len(found)} bytes")
    return ControlBeginning(*_BEGINNING.unpack(found))


def read_layout(directory: Path) -> dict[str, int]:
    """What decides which builds can open a stopped cluster, as far as its files tell it."""
    found = read_beginning(directory)
    segment = next(p for p in sorted((directory / "pg_wal").iterdir()) if len(p.name) == 24)
    with segment.open("rb") as file:
        (magic,) = struct.unpack("=H", file.read(2))  # XLOG_PAGE_MAGIC
    return {
        "pg_control": found.control_version,
        "catalogue": found.catalog_version,
        "write-ahead log": magic,
    }


def stopped_identifier(directory: Path) -> int | None:
    """The identifier of a cluster that was stopped cleanly with checksums on; None of another.

    Of a version that is not known yet, the checksums and the file's own sum are taken on trust.
    """
    try:
        beginning = read_beginning(directory)
        if beginning.control_version not in KNOWN:
            return beginning.system_identifier if beginning.state == SHUT_DOWN else None
        control = read_control(directory / CONTROL_FILE)
    except (OSError, ValueError):
        return None
    sound = control["crc_ok"] and control["state"] == "shut down"
    return beginning.system_identifier if sound and control["checksum_version"] == 1 else None
