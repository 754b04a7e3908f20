"""Turns the options of `tune --ablate` into overrides of the study that takes a profile apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.model.readings import ProfileName, WorkKind
from steelyard.study.arm import Arm, ProfileChoice
from steelyard.study.change import Change
from steelyard.study.read import read_study

ABLATION = "tuning-ablation"


@dataclass(frozen=True)
class AblationOptions:
    """What was asked for on the command line; None: as the study has it."""

    study: str | None
    profile: ProfileName | None
    work: WorkKind | None
    memory: str | None
    """The cap on each arm's server, a size."""
    version: str | None
    bindir: Path | None

    def changes(self, overrides: Sequence[str]) -> list[str]:
        """Overrides for them, and after them those given, which lie above.

        UsageError: the study takes no profile apart.
        """
        name = self.study or ABLATION
        study = read_study(name, overrides)
        if all(arm.profile is None for arm in study.every_arm):
            raise UsageError(
                f'cannot ablate with study "{name}": none of its arms has a profile',
                hint='Give its arms one: profile = { name = "ours", without = ["log"] }.',
            )
        changes: list[str] = [] if self.memory is None else [Change("memory", self.memory)]
        changes += self._arm("control", study.control)
        for arm in study.arms:
            changes += self._arm(f"arm.{arm.name}", arm)
        return [*changes, *overrides]

    def _arm(self, key: str, arm: Arm) -> Iterator[str]:
        if arm.profile is not None and (self.profile or self.work):
            yield Change(f"{key}.profile", self._choice(arm.profile))
        if self.version is not None:
            yield Change(f"{key}.version", self.version)
        if self.bindir is not None:
            yield Change(f"{key}.bindir", str(self.bindir.resolve()))

    def _choice(self, choice: ProfileChoice) -> dict[str, object]:
        """The arm's profile with what was named in place of its own."""
        work = self.work or choice.work
        worked = {} if work is None else {"work": work}
        return {"name": self.profile or choice.name, **worked, "without": list(choice.without)}
