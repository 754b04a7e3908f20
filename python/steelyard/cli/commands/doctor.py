"""`steelyard doctor`: says what on this host would spoil which kind of weighing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.options.sizes import finite

Place = Annotated[
    Path | None,
    typer.Argument(metavar="DIR", help="Where data would stand; the cache without."),
]
Seconds = Annotated[
    float,
    typer.Option(
        "--seconds", min=0.1, max=600, callback=finite, help="How long to look at what others do."
    ),
]
Write = Annotated[
    bool,
    typer.Option(
        "--write/--no-write", help="Time durable writes of a file of 8 kB in DIR, and remove it."
    ),
]
SharedBuffers = Annotated[
    str | None,
    typer.Option(
        "--shared-buffers",
        metavar="SIZE",
        help="Compute huge pages for servers with so much each: 8GB.",
    ),
]
Servers = Annotated[
    int, typer.Option("--servers", min=1, max=64, help="How many of them, all arms together.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(
    directory: Place = None,
    seconds: Seconds = 5.0,
    write: Write = True,
    shared_buffers: SharedBuffers = None,
    servers: Servers = 2,
    as_json: AsJson = False,
) -> None:
    """Say what on this host would spoil which kind of weighing, and what to do about it.

    Nothing is changed: it prints. Exit status 1: there is a warning.
    """
    from steelyard.cli.options.sizes import size_option
    from steelyard.cli.views.host_view import doctor_lines
    from steelyard.cli.views.text_layout import terminal_width
    from steelyard.engines.cache import cache_root
    from steelyard.telemetry.doctor.examine import findings, sample_recent_load
    from steelyard.telemetry.doctor.finding import HostFacts, PlannedServers
    from steelyard.telemetry.drive_health import read_drives
    from steelyard.tuning.profile.basis import ANOTHER_DIRECTORY, require_accessible

    size = size_option("--shared-buffers", shared_buffers)
    planned = None if size is None else PlannedServers(size, servers)
    location = directory or cache_root()
    require_accessible(location, otherwise=ANOTHER_DIRECTORY)
    # Said at once: nothing else is for that long.
    typer.echo(f"looking for {seconds:g} s at what else runs here", err=True)
    host = HostFacts(
        location,
        lately=sample_recent_load(location, seconds, write=write),
        drives=read_drives(location),
        io_uring=_io_uring_builds(),
        planned=planned,
    )
    host_findings = findings(host)
    if as_json:
        typer.echo(json.dumps({"findings": [finding.to_json() for finding in host_findings]}))
    else:
        typer.echo("\n".join(doctor_lines(host_findings, terminal_width())))
    if any(finding.level == "warning" for finding in host_findings):
        raise SystemExit(1)


def _io_uring_builds() -> dict[str, bool]:
    """Those found here; none where no account could run them."""
    from steelyard.engines.adapters import io_uring_builds
    from steelyard.model.errors import EngineError

    try:
        return io_uring_builds()
    except EngineError:
        return {}
