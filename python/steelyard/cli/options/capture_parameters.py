"""Declares the parameters of `steelyard workloads capture`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Output = Annotated[
    Path, typer.Option("-o", "--output", metavar="FOLDER", help="The workload that is made.")
]
Logs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="LOG...", help="Logs of any format, packed or not. Or one DSN: its counters."
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        metavar="PORT", help="No log: pass clients of this port through, and record them."
    ),
]
To = Annotated[
    str | None, typer.Option(metavar="DSN", help="The server that they are passed through to.")
]
Length = Annotated[
    str | None,
    typer.Option("--for", metavar="DURATION", help="How long; default: until Ctrl-C."),
]
Certificate = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Of the port, for clients that encrypt.")
]
Key = Annotated[Path | None, typer.Option(metavar="FILE", help="Its private key.")]
Prefix = Annotated[
    str | None,
    typer.Option(metavar="PREFIX", help="log_line_prefix of a stderr log, if not a usual one."),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of logs that are not UTF-8: LATIN1, WIN1252, EUC_JP."),
]
Database = Annotated[
    str | None, typer.Option(metavar="NAME", help="Only what was done in this database.")
]
Server = Annotated[
    str | None,
    typer.Option(metavar="DSN", help="Leave out what this server cannot prepare; runs nothing."),
]
Writes = Annotated[
    bool, typer.Option("--writes", help="Also transactions that write; for clones only.")
]
Redact = Annotated[bool, typer.Option("--redact", help="Hash texts, the same one always alike.")]
Most = Annotated[
    int, typer.Option("--most", min=1, max=999, help="Kinds: those that take most time.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
