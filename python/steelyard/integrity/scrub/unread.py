"""Says what of a cluster was not read, or was read elsewhere: files that went meanwhile,
those of extensions, and symbolic links.

A server drops and truncates tables while it runs. Where none runs, the copy itself is being removed
(a backup that expires, a volume that is unmounted), and what was not read may be damaged.

A copy of a data directory (a backup, a snapshot, `cp -a`) keeps the links of the original: its
tablespaces are then those of the server that it was taken of, which may be writing to them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from steelyard._core import Segment
from steelyard.engines.postgres.life.data_directory import OTHER_STORAGE
from steelyard.integrity.scrub.cluster_state import ClusterState, RunState

_REMOVED = "it was there when the scrub began, and was removed before it was read"
MOST_LINKS = 10
"""Symbolic links that are listed."""


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


def unread_storage(names: Iterable[str]) -> list[tuple[str, str]]:
    """(label, reason) of what holds tables and no pages of PostgreSQL, by names of files in it."""
    tops = {name.partition("/")[0] for name in names}
    return [
        (name, f"{extension} keeps tables there, in files of its own, which are not read")
        for name, extension in OTHER_STORAGE.items()
        if name in tops
    ]


def link_notes(state: ClusterState, segments: Sequence[Segment]) -> list[str]:
    """Notes on what is not read where it is named; `segments`: of a directory, not of archives."""
    files = {s.label for s in segments} | {s.label.rpartition("/")[0] for s in segments}
    spaces = {"/".join(label.split("/")[:2]) for label in files if label.startswith("pg_tblspc/")}
    notes = []
    if links := _links(state.directory, files):
        notes.append(f"symbolic links were followed: {first_listed(links)}")
    if (links := _links(state.directory, spaces)) and state.run_state is not RunState.RUNNING:
        targets = [f"{label} to {os.path.realpath(state.directory / label)}" for label in links]
        notes.append(
            f"tablespaces were read where their links lead, {first_listed(targets)}: of a copy of "
            "a cluster, those may be the original's"
        )
    return notes


def _links(directory: Path, labels: Iterable[str]) -> list[str]:
    return sorted(label for label in labels if os.path.islink(directory / label))


def first_listed(texts: Sequence[str]) -> str:
    """The first ones, and how many more there are."""
    more = f", and {len(texts) - MOST_LINKS} more" if len(texts) > MOST_LINKS else ""
    return f"{', '.join(texts[:MOST_LINKS])}{more}"
