"""Declares the parameters of `steelyard weigh`, most of which `steelyard calibrate` has too."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.options.sizes import finite


def study_names(begun: str) -> list[str]:
    """The built-in studies whose names begin so, for the shell that completes one."""
    from steelyard.study.read import builtin_studies

    return [name for name in builtin_studies() if name.startswith(begun)]


StudyName = Annotated[
    str | None,
    typer.Argument(
        help="A built-in study, a TOML file, or a record's study.toml.",
        autocompletion=study_names,
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        help="Time under load, all arms: half of the whole; in cycles and turns, the whole."
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key: workload.scale=50."),
]
Metric = Annotated[
    str | None,
    typer.Option(
        help='What decides: throughput, latency_mean, or "rate at p99 <= 20ms", the highest '
        "arrival rate within that limit."
    ),
]
Scripts = Annotated[
    list[str] | None,
    typer.Option("-f", "--file", metavar="SCRIPT[@WEIGHT]", help="Drive this script instead."),
]
Workload = Annotated[str | None, typer.Option(metavar="FOLDER", help="One that holds a workload.")]
"""As it was typed: "./queue" is a folder, "queue" may be a built-in one."""
From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="DATA", help="Your data: a data directory, base backup, dump, or DSN."
    ),
]
Database = Annotated[str | None, typer.Option(metavar="NAME", help="Which database of --from.")]
Config = Annotated[
    str | None, typer.Option(metavar="FILE", help="The postgresql.conf of --from, if elsewhere.")
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="DSN",
        help="Weigh at a running server: arms are its sessions, or databases made on a SQL Server.",
    ),
]
Yes = Annotated[
    bool,
    typer.Option(
        "--yes",
        help="Agree to a base backup, scripts that write at an address, or databases made there.",
    ),
]
YesAtAddress = Annotated[
    bool,
    typer.Option(
        "--yes", help="Agree to scripts that write at an address, or databases made there."
    ),
]
SweepOf = Annotated[
    str | None,
    typer.Option("--sweep", metavar="KEY=V,V,...", help="Weigh at several values of a key."),
]
Pace = Annotated[
    float | None,
    typer.Option(
        callback=finite,
        help="Repeat a captured workload's arrivals at so many times their pace: 1, 2, 0.5, ...",
    ),
]
Machines = Annotated[
    int | None,
    typer.Option("--machines", metavar="N", min=1, help="Put the load on from N load machines."),
]
Ray = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Of their Ray cluster; default: the one that runs here."),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Of every random order.")]
RecordPlace = Annotated[Path | None, typer.Option(help="Where to keep the record.")]
Resume = Annotated[Path | None, typer.Option(help="Resume an interrupted one.")]
AccountName = Annotated[
    str | None, typer.Option("--as", metavar="USER", help="Run servers as this account.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
ControlIs = Annotated[
    str | None,
    typer.Option(
        "--control", metavar="WHAT", help="conf=FILE, address=DSN, or a BINDIR of study builds."
    ),
]
ArmIs = Annotated[
    str | None,
    typer.Option("--arm", metavar="WHAT", help="The same of the arm."),
]
FailIf = Annotated[
    list[str] | None,
    typer.Option(metavar="WORD:MARGIN", help="Exit 1 if the verdict is, say, slower:2%."),
]
Summary = Annotated[
    Path | None, typer.Option(metavar="FILE.md", help="Also write the verdict as Markdown.")
]
JUnit = Annotated[Path | None, typer.Option(metavar="FILE.xml", help="Also write it as JUnit XML.")]
OpenEnded = Annotated[
    bool,
    typer.Option(
        "--open-ended", help="Judge after every epoch and go on until settled; --resume extends it."
    ),
]
FirstVerdict = Annotated[
    bool, typer.Option("--first-verdict", help="Stop at the first look that decides.")
]
