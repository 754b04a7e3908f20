"""Holds an arm as it really stands: the build it is and the settings its server reports.

The study says what an arm should be; this is what came to be, and what comparisons are made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from steelyard.study import study as asked


class Build(Protocol):
    """What of an engine's identity decides whether two arms come from one builder."""

    @property
    def version(self) -> str: ...
    @property
    def builder(self) -> str: ...
    @property
    def configure(self) -> str: ...
    @property
    def cflags(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def assertions(self) -> bool: ...


@dataclass(frozen=True)
class Arm:
    """One treatment as it stands in a weighing."""

    name: str
    build: Build
    settings: Mapping[str, str]  # as the server reports them


def declared_names(study: asked.Study, control: asked.Arm, arm: asked.Arm) -> set[str]:
    """What the study itself says differs between two arms: settings by name, and "version".

    `"data_checksums"` when one verifies pages and the other does not; `"version"` when versions
    or builds are asked to differ.
    """
    ours, theirs = study.settings_of(control), study.settings_of(arm)
    names = {name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)}
    if control.checksums != arm.checksums:
        names.add("data_checksums")
    if (control.version, control.bindir) != (arm.version, arm.bindir):
        names.add("version")
    return names
