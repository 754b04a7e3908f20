"""`steelyard workloads capture`: makes a workload of what a server's log says its clients did."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from steelyard.model.errors import UsageError


def capture(
    logs: Annotated[
        list[Path], typer.Argument(metavar="LOG...", help="csvlog, jsonlog or stderr; .gz too.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="The workload that is made.")
    ],
    prefix: Annotated[
        str | None,
        typer.Option(metavar="PREFIX", help="log_line_prefix of a stderr log, if not a usual one."),
    ] = None,
    database: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only what was done in this database.")
    ] = None,
    writes: Annotated[
        bool, typer.Option("--writes", help="Also transactions that write; for clones only.")
    ] = False,
    redact: Annotated[
        bool, typer.Option("--redact", help="Hash texts, the same one always alike.")
    ] = False,
    most: Annotated[
        int, typer.Option("--most", min=1, max=999, help="Kinds: those that take most time.")
    ] = 50,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output.")
    ] = False,
) -> None:
    """Make a workload of a log: each kind of transaction a script with its weight and values.

    The server needs log_min_duration_statement = 0 for a while. Nothing leaves this machine.
    """
    from steelyard.cli.views.capture_view import capture_lines, captured_json
    from steelyard.workloads.capturing.entries import read_entries
    from steelyard.workloads.capturing.mix import mix_of
    from steelyard.workloads.capturing.shapes import require_pglast
    from steelyard.workloads.capturing.statements import statements
    from steelyard.workloads.capturing.transactions import transactions
    from steelyard.workloads.capturing.writing import write_workload

    require_pglast()
    told = statements(read_entries(logs, prefix))
    wanted = (one for one in told if database is None or one.database == database)
    mix = mix_of(transactions(wanted))
    if not mix.statements:
        where = "" if database is None else f' of database "{database}"'
        raise UsageError(
            f"the log holds no statement{where}",
            hint="log_min_duration_statement = 0 logs every statement with its parameters.",
        )
    captured = write_workload(
        mix,
        output,
        name=_name(output),
        source=", ".join(log.name for log in logs[:3]) + (" ..." if len(logs) > 3 else ""),
        writes=writes,
        most=most,
        salt=secrets.token_bytes(16) if redact else None,
    )
    if as_json:
        typer.echo(captured_json(captured))
    else:
        typer.echo("\n".join(capture_lines(captured)))


def _name(folder: Path) -> str:
    """A workload's name of a folder's."""
    kept = "".join(c if c.isalnum() or c in "_.+-" else "-" for c in folder.absolute().name)
    return kept if kept[:1].isalnum() else f"captured{kept}"
