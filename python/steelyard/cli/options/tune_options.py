"""Holds the options of `tune`, and refuses those that do not belong to what it is to do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from steelyard.model.errors import UsageError
from steelyard.model.readings import ProfileName, WorkKind

PRINTED = ("directory", "disk", "servers", "form", "output")
"""Fields of a proposal alone."""
SIZED = ("processors", "data")
"""What a proposal and a search may be made for."""
SOUGHT = ("trials", "durability")
"""Fields of a search alone."""
WEIGHED = ("study", "overrides", "budget", "seed", "record")
"""Fields of what is weighed."""
_MADE_FOR = ("memory", "work", "clients", "profile", "version", "bindir")
_WORDS = {"directory": "DIR", "form": "--format", "overrides": "--set"}


@dataclass(frozen=True)
class TuneOptions:
    """What was given on the command line; None: it was not."""

    directory: Path | None
    memory: str | None
    processors: int | None
    work: WorkKind | None
    clients: int | None
    data: str | None
    disk: str | None
    servers: int | None
    profile: ProfileName | None
    form: Literal["text", "conf", "sql", "arm"] | None
    output: Path | None
    version: str | None
    bindir: Path | None
    account: str | None
    trials: int | None
    durability: Sequence[str] | None
    study: str | None
    resume: Path | None
    overrides: Sequence[str] | None
    budget: str | None
    seed: int | None
    record: Path | None
    as_json: bool

    @property
    def changes_study(self) -> bool:
        """Whether anything was given beside the folder to resume, the account and --json."""
        return bool(self._given((*PRINTED, *SIZED, *SOUGHT, *WEIGHED, *_MADE_FOR)))

    def refuse(
        self,
        names: Collection[str],
        owner: str,
        detail: str | None = None,
        hint: str | None = None,
    ) -> None:
        """UsageError: one of these fields was given, which belong to `owner`."""
        options = self._given(names)
        if options:
            *most, last = options
            listed = f"options {', '.join(most)} and {last} belong" if most else None
            raise UsageError(
                f"{listed or f'option {last} belongs'} to {owner}", detail=detail, hint=hint
            )

    def _given(self, names: Collection[str]) -> list[str]:
        """As they are written, in the order of the command's help."""
        return [
            _WORDS.get(field.name, f"--{field.name}")
            for field in fields(self)
            if field.name in names and getattr(self, field.name) not in (None, [])
        ]
