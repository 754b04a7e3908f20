"""Declares the parameters of `steelyard tune`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from steelyard.model.readings import ProfileName, WorkKind

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
    str | None, typer.Option("--version", help="Of PostgreSQL, or an engine's name; 18.")
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
