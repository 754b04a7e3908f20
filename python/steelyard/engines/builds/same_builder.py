"""Chooses the builds of several arms, all from the builder of the first where that is possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from steelyard.model.identity import Identity

BuildT = TypeVar("BuildT")


def same_builder(candidates: Sequence[Sequence[tuple[BuildT, Identity | None]]]) -> list[BuildT]:
    """One build of each list: of one builder if there is such a choice, else the first of each.

    A build whose identity is not known yet (of a directory) matches none.
    """
    from steelyard.engines.differences import builds_differ

    for first, identity in candidates[0]:
        choice = [first]
        for others in candidates[1:]:
            same = [b for b, i in others if i and identity and not builds_differ(identity, i)]
            choice += same[:1]
        if len(choice) == len(candidates):
            return choice
    return [each[0][0] for each in candidates]


@dataclass(frozen=True)
class BuildRequest:
    """The build that one arm requests."""

    version: str  # "18", "17.0", or the name of an engine: "npm-18.4"
    bindir: str | Path | None = None  # the build there, whatever its version
