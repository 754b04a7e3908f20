"""Makes a cluster's files byte by byte, without a server: a control file, a page, a directory."""

from __future__ import annotations

import struct
from pathlib import Path

VERSIONS = {"12": 1201, "13": 1300, "16": 1300, "17": 1700, "18": 1800, "19": 1905}
"""pg_control_version by major version (catalog/pg_control.h)."""
UNTIL_18 = {"page_bytes": 216, "segment_blocks": 220, "wal_segment_bytes": 228, "checksums": 252}
OF_19 = {"page_bytes": 224, "segment_blocks": 228, "wal_segment_bytes": 240, "checksums": 268}
CRC_AT = {1800: 292, 1905: 308}
SIZES = {"page_bytes": 8192, "segment_blocks": 131072, "wal_segment_bytes": 16 << 20}
REDO = 0x2000028


def crc32c(content: bytes | bytearray) -> int:
    """Bit by bit (RFC 3720, B.4)."""
    register = 0xFFFFFFFF
    for byte in content:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def control_file(
    version: int = 1800, *, state: int = 1, checksums: int = 0, order: str = "<", **sizes: int
) -> bytes:
    """With a right CRC; `order`: "<" or ">", as struct has it."""
    content, places = bytearray(8192), OF_19 if version == 1905 else UNTIL_18
    struct.pack_into(f"{order}QIII", content, 0, 7, version, 202506291, state)
    struct.pack_into(f"{order}QQI", content, 32, REDO, REDO, 1)
    for name, value in {**SIZES, **sizes, "checksums": checksums}.items():
        struct.pack_into(f"{order}I", content, places[name], value)
    crc_at = CRC_AT.get(version, 288)
    struct.pack_into(f"{order}I", content, crc_at, crc32c(content[:crc_at]))
    return bytes(content)


def empty_page(page_bytes: int = 8192) -> bytes:
    """A page without rows, that was written."""
    page = bytearray(page_bytes)
    size = page_bytes | 4
    struct.pack_into("<IIHHHHHHI", page, 0, 0, 0x1000000, 0, 0, 24, page_bytes, page_bytes, size, 0)
    return bytes(page)


def cluster_at(directory: Path, major: str = "18", control: bytes | None = None) -> Path:
    """A data directory with one relation file, and no catalogues."""
    for name in ("global", "base/5", "pg_tblspc", "pg_wal", "pg_xact", "pg_replslot"):
        (directory / name).mkdir(parents=True)
    for home in (directory, directory / "base/5"):
        (home / "PG_VERSION").write_text(f"{major}\n", encoding="utf-8")
    made = control_file(VERSIONS.get(major, 1800)) if control is None else control
    (directory / "global/pg_control").write_bytes(made)
    (directory / "base/5/16384").write_bytes(empty_page() * 3)
    return directory


def relation_map(*entries: tuple[int, int]) -> bytes:
    """A pg_filenode.map of 16 or later (utils/cache/relmapper.c): (OID, file number)."""
    content = struct.pack("<Ii", 0x592717, len(entries))
    content += b"".join(struct.pack("<II", *entry) for entry in entries)
    content = content.ljust(8 + 64 * 8, b"\0")
    return content + struct.pack("<I", crc32c(content))


def mapped_cluster_at(directory: Path) -> Path:
    """A data directory of 18 that is sound: it also has maps, of no catalogue."""
    cluster_at(directory)
    for home in ("global", "base/5"):
        (directory / home / "pg_filenode.map").write_bytes(relation_map())
    return directory
