"""`steelyard drill`: plants faults in clusters made for it, and shows which checks notice them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.options.records_option import require_writable
from steelyard.model.errors import UsageError

Version = Annotated[
    str, typer.Option("--version", help="Of PostgreSQL, or an engine's name: mysql-5.7.")
]
AsUser = Annotated[str | None, typer.Option("--as", metavar="USER", help="The servers' account.")]
Copies = Annotated[
    int, typer.Option(min=1, max=200, help="Times that a fault is planted on a whole server.")
]
Trials = Annotated[int, typer.Option(min=1, help="Times that a fault is planted in memory.")]
Faults = Annotated[
    list[str] | None, typer.Option("--fault", metavar="NAME", help="Only these; all without.")
]
Places = Annotated[
    list[str] | None,
    typer.Option(
        "--place",
        metavar="NAME",
        help="heap, index, TOAST, FSM, VM; of InnoDB rows, index, BLOB; all without.",
    ),
]
Recovery = Annotated[
    int, typer.Option(min=0, help="Times for each fault of a crash, pg_xact or the log.")
]
Consequences = Annotated[
    int, typer.Option(min=0, help="Times for each fault on a standby, in a backup, in a dump.")
]
Parts = Annotated[
    list[str] | None,
    typer.Option(
        "--part", metavar="NAME", help="memory, consequences, recovery, files; all without."
    ),
]
Algorithms = Annotated[
    bool, typer.Option("--algorithms", help="Compare ways to verify a page: speed and misses.")
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed plants the same faults.")]
PageFile = Annotated[
    Path | None, typer.Option("-o", "--page", metavar="FILE.html", help="Write it as one page.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("drill")(drill)


def drill(
    version: Version = "18",
    account: AsUser = None,
    copies: Copies = 20,
    trials: Trials = 1_000_000,
    fault: Faults = None,
    place: Places = None,
    part: Parts = None,
    recovery: Recovery = 20,
    consequences: Consequences = 3,
    algorithms: Algorithms = False,
    seed: Seed = 1,
    page: PageFile = None,
    as_json: AsJson = False,
) -> None:
    """Show what checksums catch and what they miss, on clusters that are made for it and removed.

    Takes half an hour and more; fewer --copies, --recovery and --trials, or one --part, take less.
    Ctrl-C and SIGTERM end it with what was seen by then.
    """
    from steelyard.engines.mysql.builds.added import is_product

    if is_product(version.removeprefix("system-")):
        _refuse_innodb({"--part": part, "--algorithms": algorithms, "--page": page})
        _drill_innodb(version, account, copies, (fault, place), seed, as_json=as_json)
        return
    from steelyard.cli.views.drilled import render, render_algorithms
    from steelyard.engines.postgres.sql.drill_tables import PLACES
    from steelyard.integrity.drill import drill as drilling
    from steelyard.integrity.drill.faults import FAULTS
    from steelyard.integrity.drill.matrix import interval
    from steelyard.report.drill import write_page
    from steelyard.telemetry.environment import machine

    require_writable(page)
    request = drilling.DrillRequest(
        version=version,
        account=account,
        copies=copies,
        trials=trials,
        faults=fault or FAULTS,
        places=place or PLACES,
        recovery=recovery,
        consequences=consequences,
        parts=part or drilling.PARTS,
        seed=seed,
    )
    ended_by = None
    if algorithms:
        variants = drilling.drill_algorithms(request, _print_progress)
        compared = [variant.to_json() for variant in variants]
        facts = {"seed": seed, "machine": machine(), "algorithms": compared}
        text = render_algorithms(facts)
    else:
        result = drilling.drill(request, _print_progress)
        facts, ended_by = result.to_json(), result.ended_by
        text = render(facts)
    typer.echo(json.dumps(facts) if as_json else text)
    if page is not None:
        write_page(text, facts, page, interval)
    if ended_by is not None:
        raise ended_by


def _refuse_innodb(options: Mapping[str, object]) -> None:
    """UsageError where an option was given that is for PostgreSQL's clusters."""
    for option, value in options.items():
        if value:
            raise UsageError(f"{option} is for PostgreSQL: of InnoDB only files are drilled")


def _drill_innodb(
    version: str,
    account: str | None,
    copies: int,
    chosen: tuple[list[str] | None, list[str] | None],
    seed: int,
    *,
    as_json: bool,
) -> None:
    """`chosen`: faults and places, or None for all."""
    from steelyard.cli.views.drilled import render_innodb
    from steelyard.integrity.innodb.drill import InnodbDrillRequest, drill_innodb
    from steelyard.integrity.innodb.faults import FAULTS, PLACES

    faults, places = chosen[0] or tuple(FAULTS), chosen[1] or PLACES
    request = InnodbDrillRequest(version, account, copies, faults, places, seed)
    result = drill_innodb(request, _print_progress)
    typer.echo(json.dumps(result.to_json()) if as_json else render_innodb(result))
    if result.ended_by is not None:
        raise result.ended_by


def _print_progress(text: str) -> None:
    typer.echo(text, err=True)
