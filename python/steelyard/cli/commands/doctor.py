"""`steelyard doctor`: says what on this host would spoil which kind of weighing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

Place = Annotated[
    Path | None,
    typer.Argument(metavar="DIR", help="Where data would stand; the cache without."),
]
Seconds = Annotated[
    float, typer.Option("--seconds", min=0.1, max=600, help="How long to look at what others do.")
]
Write = Annotated[
    bool,
    typer.Option(
        "--write/--no-write", help="Time durable writes of a file of 8 kB in DIR, and remove it."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(
    directory: Place = None, seconds: Seconds = 5.0, write: Write = True, as_json: AsJson = False
) -> None:
    """Say what on this host would spoil which kind of weighing, and what to do about it.

    Nothing is changed: it prints. Exit status 1: there is a warning.
    """
    from steelyard.cli.views.machine.doctor_view import doctor_lines
    from steelyard.cli.views.text_layout import terminal_width
    from steelyard.engines.cache import cache_root
    from steelyard.telemetry.doctor.examine import examine, look_lately
    from steelyard.telemetry.drives.reading import read_drives

    place = directory or cache_root()
    # Said at once: nothing else is for that long.
    typer.echo(f"looking for {seconds:g} s at what else runs here", err=True)
    findings = examine(place, look_lately(place, seconds, write=write), read_drives(place))
    if as_json:
        typer.echo(json.dumps({"findings": [one.to_json() for one in findings]}))
    else:
        typer.echo("\n".join(doctor_lines(findings, terminal_width())))
    if any(one.level == "warning" for one in findings):
        raise SystemExit(1)
