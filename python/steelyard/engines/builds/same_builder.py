"""Chooses the builds of several arms, all from the builder of the first where that is possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from steelyard.engines.account import Account
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity

BuildT = TypeVar("BuildT")
BuildT_co = TypeVar("BuildT_co", covariant=True)


class AvailableBuild(Protocol[BuildT_co]):
    """A build that runs on this machine."""

    @property
    def build(self) -> BuildT_co: ...
    @property
    def identity(self) -> Identity: ...
    def answers(self, request: str) -> bool:
        """Whether it is what a word requests: a version, or its name."""


@dataclass(frozen=True, slots=True)
class SelectedBuild(Generic[BuildT]):
    """A build, and the account that can read and run it."""

    build: BuildT
    identity: Identity
    account: Account


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


@dataclass(frozen=True)
class Selection(Generic[BuildT]):
    """How the builds of one kind of engine are selected."""

    available: Callable[[], Sequence[AvailableBuild[BuildT]]]
    """All that run on this machine, the preferred ones first."""
    in_directory: Callable[[Path], BuildT]
    """The build there. EngineError: none."""
    missing: Callable[[Sequence[str], Sequence[AvailableBuild[BuildT]]], EngineError]
    """The error where no build answers some words, each once."""

    def select(self, requests: Sequence[BuildRequest]) -> list[BuildT]:
        """The builds of several arms, in their order, all from the builder of the first where that
        is possible. EngineError: what is found, and what to do."""
        available = self.available() if any(request.bindir is None for request in requests) else []
        words = dict.fromkeys(request.version for request in requests if request.bindir is None)
        missing = [each for each in words if not any(build.answers(each) for build in available)]
        if missing:
            raise self.missing(missing, available)
        return same_builder([self._candidates(request, available) for request in requests])

    def _candidates(
        self, request: BuildRequest, available: Sequence[AvailableBuild[BuildT]]
    ) -> list[tuple[BuildT, Identity | None]]:
        """Matching builds, the preferred one first; the identity of one in a directory is not read
        yet."""
        if request.bindir is not None:
            return [(self.in_directory(Path(request.bindir)), None)]
        matching = (each for each in available if each.answers(request.version))
        return [(each.build, each.identity) for each in matching]
