"""`steelyard scrub`: reads every page of a cluster, or of InnoDB, and reports the damaged."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from steelyard.model.errors import UsageError

Cluster = Annotated[
    Path,
    typer.Argument(
        metavar="DIRECTORY", help="A data directory of PostgreSQL or InnoDB, or a base backup."
    ),
]
Threads = Annotated[
    int | None, typer.Option(min=1, max=256, help="1 beside a running server, else up to 8.")
]
MaxRate = Annotated[
    str | None,
    typer.Option(
        metavar="RATE", help="A second, such as 200MB; 0: none. 100MB on a running server."
    ),
]
BaseBackup = Annotated[
    bool, typer.Option("--base-backup", help="It is a base backup: a directory, base.tar, .tar.gz.")
]
Crashed = Annotated[
    bool, typer.Option("--crashed", help="No server runs there, although it looks like it.")
]
CatalogueFile = Annotated[
    Path | None,
    typer.Option(
        "--catalogue", metavar="FILE", help="Keep every block's LSN here; find lost writes by it."
    ),
]
StateFile = Annotated[
    Path | None,
    typer.Option(
        "--state", metavar="FILE", help="Record what was read, to resume an interrupted scrub."
    ),
]
Server = Annotated[
    str | None,
    typer.Option(metavar="CONNINFO", help="Server that knows the names of damaged relations."),
]
Kernel = Annotated[
    str | None, typer.Option(metavar="NAME", help="scalar, SSE2, AVX2, ...; the widest without.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("scrub")(scrub)


def scrub(
    pgdata: Cluster,
    threads: Threads = None,
    max_rate: MaxRate = None,
    base_backup: BaseBackup = False,
    crashed: Crashed = False,
    catalogue: CatalogueFile = None,
    state: StateFile = None,
    server: Server = None,
    kernel: Kernel = None,
    as_json: AsJson = False,
) -> None:
    """Read every page of a PostgreSQL 12 to 19 cluster, or of InnoDB, and find the damaged.

    InnoDB is that of MySQL and MariaDB, known by the file ibdata1. Stopped or running, nothing is
    written there. Exit status 1: damage was found; 3: files could not be read.
    """
    from steelyard._core import kernels
    from steelyard.integrity.innodb.scrub import is_innodb_directory, refuse_postgres_options

    if is_innodb_directory(pgdata):
        refuse_postgres_options(
            {
                "--base-backup": base_backup,
                "--crashed": crashed,
                "--catalogue": catalogue,
                "--state": state,
                "--server": server,
                "--kernel": kernel,
            }
        )
        _scrub_innodb(pgdata, threads, _rate(max_rate), as_json)
        return
    from steelyard.cli.views.scrubbed import ProgressLine, render
    from steelyard.integrity.scrub.outcome import ScrubRequest
    from steelyard.integrity.scrub.scrub import scrub as do_scrub

    if kernel is not None and kernel not in kernels():
        raise UsageError(f'no kernel "{kernel}" here', hint=f"There are {', '.join(kernels())}.")
    request = ScrubRequest(
        path=pgdata,
        threads=threads,
        max_rate=_rate(max_rate),
        backup=base_backup,
        crashed=crashed,
        catalogue=catalogue,
        state=state,
        server=server,
        kernel=kernel,
    )
    with ProgressLine(sys.stderr) as progress:
        outcome = do_scrub(request, progress)
    if as_json:
        typer.echo(json.dumps(outcome.to_json()))
    else:
        typer.echo(render(outcome))
    if outcome.exit_status:
        raise SystemExit(outcome.exit_status)


def _scrub_innodb(
    directory: Path, threads: int | None, max_rate: float | None, as_json: bool
) -> None:
    from steelyard.cli.views.scrubbed import ProgressLine, render_innodb
    from steelyard.integrity.innodb.scrub import InnodbRequest, scrub_innodb

    request = InnodbRequest(directory, threads=threads, max_rate=max_rate)
    with ProgressLine(sys.stderr) as progress:
        outcome = scrub_innodb(request, progress)
    typer.echo(json.dumps(outcome.to_json()) if as_json else render_innodb(outcome))
    if outcome.exit_status:
        raise SystemExit(outcome.exit_status)


def _rate(text: str | None) -> float | None:
    from steelyard.cli.options.sizes import require_unit
    from steelyard.model.units import parse_bytes

    if text is None:
        return None
    size = text.removesuffix("/s")
    require_unit("--max-rate", size, "MB")
    try:
        return float(parse_bytes(size))
    except ValueError as error:
        raise UsageError(f"invalid rate: {error}") from None
