"""`steelyard serve`: shows the history in a browser of this machine, kept up to date."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.options.records_option import RECORDS, RecordsOption

PORT = 8321


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve")(serve)


def serve(
    records: RecordsOption = RECORDS,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 takes any that is free.")
    ] = PORT,
    as_json: Annotated[
        bool, typer.Option("--json", help="Say the address as one JSON object.")
    ] = False,
) -> None:
    """Show the history in a browser of this machine, kept up to date, until Ctrl-C."""
    from steelyard.site.serving import SiteServer

    with (
        tempfile.TemporaryDirectory(prefix="steelyard-site-") as folder,
        SiteServer(records, Path(folder), port, _print_error) as server,
    ):
        message = json.dumps({"address": server.address}) if as_json else server.address
        typer.echo(message)
        _print_error("It shows the records as they come; Ctrl-C ends it.")
        server.serve_forever(poll_interval=0.2)


def _print_error(message: str) -> None:
    typer.echo(message, err=True)
