"""Names what was there when a scrub began, and was gone when its turn to be read came.

A server drops and truncates tables while it runs. Where none runs, the copy itself is being
removed (a backup that expires, a volume that is unmounted), and what was not read may be damaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

_REMOVED = "it was there when the scrub began, and was removed before it was read"


def disappearances(
    path: Path,
    sizes: Iterable[tuple[str, int]],
    *,
    read_bytes: int,
    vanished: Sequence[str],
    denied: Iterable[tuple[str, str]],
) -> list[tuple[str, str]]:
    """(label, reason) of what no server can have removed from `path`, and was not read.

    `sizes`: label and bytes of every file that was to be read; `read_bytes`: of all of them
    together; `vanished`, `denied`: those that could not be opened.
    """
    unopened = {*vanished, *(label for label, _ in denied)}
    missing = sum(size for label, size in sizes if label not in unopened) - read_bytes
    lines = [(label, _REMOVED) for label in vanished]
    if missing > 0:
        lines.append((str(path), f"{missing} bytes were cut off its files before they were read"))
    return lines
