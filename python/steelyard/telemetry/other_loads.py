"""Finds other measurements of Steelyard that are under way on this machine, of any account.

They share processors, memory and storage with this one, in another cache as well as in the same,
and so are looked for among the processes that /proc shows, not in a registry.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from steelyard.record.epoch import OtherLoadLine

_MEASURES = frozenset(
    {"weigh", "calibrate", "drive", "drill", "probe", "checksums", "tune", "reproduce", "bisect"}
)
_STUDY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_PROC = Path("/proc")


def other_loads(proc: Path = _PROC, own: int | None = None) -> tuple[OtherLoadLine, ...]:
    """The measurements but this one, what it was begun by, and what it began; by process id.

    Of a command line only the command and the name of a study are kept: the rest may hold secrets.
    """
    pid = os.getpid() if own is None else own
    parents: dict[int, int] = {}
    measuring: dict[int, str] = {}
    for entry in proc.iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            stat = (entry / "stat").read_text(errors="replace")
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:  # it has ended, or is not to be seen
            continue
        parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
        if what := _measured(words):
            measuring[int(entry.name)] = what
    above = set(_line(pid, parents))
    others = [
        OtherLoadLine(pid=other, command=what)
        for other, what in sorted(measuring.items())
        if other not in above and pid not in _line(other, parents)
    ]
    # One that runs another by a process of its own is that one.
    begun = {ancestor for one in others for ancestor in _line(one.pid, parents)[1:]}
    return tuple(one for one in others if one.pid not in begun)


def _line(pid: int, parents: dict[int, int]) -> list[int]:
    """A process, its parent, and so on."""
    line = [pid]
    while (above := parents.get(line[-1], 0)) and above not in line:
        line.append(above)
    return line


def _measured(words: list[str]) -> str:
    """`"weigh checksums"` of a command line; empty where nothing is measured."""
    for place, word in enumerate(words[:8]):
        if os.path.basename(word) != "steelyard":
            continue
        rest = words[place + 1 :]
        command = next((one for one in rest[:2] if one in _MEASURES), "")
        if not command or "--help" in rest:
            return ""
        study = rest[rest.index(command) + 1] if command != rest[-1] else ""
        return f"{command} {study}" if _STUDY.fullmatch(study) else command
    return ""
