"""Declares the parameters of `steelyard tune`, holds its options, and refuses those that do not
belong to what it is to do.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

import typer

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
Place = Annotated[
    Path | None,
    typer.Argument(metavar="DIR", help="Where the data stand or would stand; the cache without."),
]
Form = Literal["text", "conf", "sql", "arm"]
Forms = Annotated[
    Form | None,
    typer.Option("--format", help="A table (text), postgresql.conf, ALTER SYSTEM, a study's arm."),
]
Name = Annotated[
    ProfileName | None,
    typer.Option(
        "--profile", help="Ours where none is named; the NVMe study's table, scaled or as printed."
    ),
]
Kind = Annotated[
    WorkKind | None,
    typer.Option("--work", help="Short transactions, long queries, or both; oltp, or the study's."),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory", metavar="SIZE", help="The server's own, its cap; the machine's without."
    ),
]
Processors = Annotated[int | None, typer.Option(min=1, help="The server's; this machine's.")]
Clients = Annotated[
    int | None,
    typer.Option(
        "-c", "--clients", min=1, help="Sessions at work at once; 97, or what memory holds."
    ),
]
Data = Annotated[str | None, typer.Option("--data", metavar="SIZE", help="Of the database.")]
Disk = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Free on the log's disk; that of DIR without."),
]
Servers = Annotated[
    int | None, typer.Option(min=1, help="Servers that stand here at once, and share; 1.")
]
Version = Annotated[
    str | None,
    typer.Option("--version", help="Of PostgreSQL, or an engine's name; that of DIR, or 18."),
]
Bindir = Annotated[Path | None, typer.Option("--bindir", help="A build's programs instead.")]
AsUser = Annotated[str | None, typer.Option("--as", metavar="USER", help="The servers' account.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write it.")]
Ablate = Annotated[
    bool,
    typer.Option("--ablate", help="Weigh it: each group of settings goes back to the defaults."),
]
Search = Annotated[
    bool,
    typer.Option("--search", help="Weigh candidates against a study's control; confirm the best."),
]
Trials = Annotated[int | None, typer.Option(min=1, max=1000, help="Candidates of a search; 16.")]
Durability = Annotated[
    list[str] | None,
    typer.Option(metavar="SETTING", help="Let a search trade it: synchronous_commit, ..."),
]
StudyName = Annotated[
    str | None, typer.Option(help="Whose control and workload it is: tuning, tuning-ablation.")
]
Resume = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Go on with an interrupted search, or ablation.")
]


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
