"""Finds the control groups of this process, v1 and v2, and reads their files.

Inside a container the path that /proc/self/cgroup names may lie above the mount that is seen;
then the root of that mount is the group.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")


def own_groups(controller: str, root: Path = ROOT) -> Iterator[Path]:
    """The directories of this process's group for a controller, then its ancestors', v1 and v2."""
    return groups_in(text_of(root / "proc/self/cgroup"), controller, root)


def groups_in(told: str, controller: str, root: Path = ROOT) -> Iterator[Path]:
    """The same of the process whose /proc/PID/cgroup is `told`."""
    base = root / "sys/fs/cgroup"
    for line in told.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            mounts = [base, base / "unified"]
        elif controller in controllers.split(","):
            mounts = [base / controllers, base / controller]
        else:
            continue
        mount = next((each for each in mounts if (each / "cgroup.procs").exists()), None)
        if mount is not None:
            yield from _ancestry(mount, path.strip("/"))


def _ancestry(mount: Path, path: str) -> Iterator[Path]:
    group = mount / path
    while group != mount:
        if group.is_dir():
            yield group
        group = group.parent
    yield mount


def text_of(path: Path) -> str:
    """A file's text; empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def words_of(path: Path) -> list[str]:
    """A file's words; none where it cannot be read."""
    return text_of(path).split()


def pairs_of(text: str) -> dict[str, int]:
    """`name value` lines; others are passed over."""
    words = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in words if len(pair) == 2 and pair[1].isdigit()}
