"""Makes small data directories of InnoDB by hand, without a server: pages without a checksum."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PAGE = 4096
_FLAGS = 3 << 6 | 0x21  # pages of 4 kB
_INDEX = 17855
_NO_CHECKSUM = 0xDEADBEEF


def page(space: int, number: int, pages: int, lsn: int = 77) -> bytes:
    """A page of a tablespace of so many pages, as innodb_checksum_algorithm=none writes it."""
    made = bytearray((number * 7 + at) % 256 for at in range(PAGE))
    words = {0: _NO_CHECKSUM, 4: number, 16: 0, 20: lsn, 34: space, PAGE - 8: _NO_CHECKSUM}
    words[PAGE - 4] = lsn
    if number == 0:
        words |= {46: pages, 54: _FLAGS}
    for at, word in words.items():
        made[at : at + 4] = word.to_bytes(4, "big")
    made[24:26] = _INDEX.to_bytes(2, "big")
    return bytes(made)


def table(space: int, pages: int) -> list[bytes]:
    """A sound tablespace, page by page."""
    return [page(space, number, pages) for number in range(pages)]


def directory(home: Path, tables: dict[str, Sequence[bytes]]) -> Path:
    """A data directory with a system tablespace of 20 pages and the tables of one database."""
    made = home / "data"
    (made / "d").mkdir(parents=True)
    (made / "ibdata1").write_bytes(b"".join(table(0, 20)))
    for name, pages in tables.items():
        (made / "d" / f"{name}.ibd").write_bytes(b"".join(pages))
    return made
