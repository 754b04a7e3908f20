"""`steelyard report`: makes the HTML page of a record again and prints where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    record: Annotated[
        Path, typer.Argument(help="The directory of a record, or its `latest` link.")
    ],
) -> None:
    """Make report.html again from a record and print its path."""
    from steelyard.report.page import write_report

    typer.echo(str(write_report(record)))
