"""`steelyard fleet`: load machines checked, hosts compared, records brought together."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.command_line import Group
from steelyard.cli.options import weigh_parameters as parameter
from steelyard.cli.options.records_option import RECORDS, PricesOption, RecordsOption, name_unread
from steelyard.cli.options.sizes import finite

sub = typer.Typer(
    cls=Group,
    invoke_without_command=True,
    help="Show what many machines answered; bring their records together.",
)


def register(app: typer.Typer) -> None:
    """Add the command and its subcommands."""
    app.add_typer(sub, name="fleet")


@sub.callback()
def fleet(
    context: typer.Context,
    records: RecordsOption = RECORDS,
    question: Annotated[
        str | None, typer.Option("--question", help="Only this study, or this question.")
    ] = None,
    as_json: parameter.AsJson = False,
) -> None:
    """Show what many machines answered; bring their records together."""
    if context.invoked_subcommand is None:
        _show(records, question, as_json=as_json)


@sub.command("collect")
def collect_records(
    sources: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders that hold records of others.")
    ],
    kind: Annotated[
        str, typer.Option("--kind", metavar="WORD", help="Of host that they were made on.")
    ] = "",
    records: RecordsOption = RECORDS,
    as_json: parameter.AsJson = False,
) -> None:
    """Copy records here, hold every file to its SHA-256 and judge each again."""
    from steelyard.cli.views.history.list_view import collected_lines
    from steelyard.fleet.collecting import collect

    collected = collect(sources, records, dict.fromkeys(sources, kind))
    typer.echo(
        json.dumps(collected.to_json()) if as_json else "\n".join(collected_lines(collected))
    )
    if collected.refused:
        raise typer.Exit(1)


@sub.command("check")
def check_machines(
    machines: Annotated[int, typer.Option("--machines", metavar="N", min=1)],
    ray: parameter.Ray = None,
    address: Annotated[
        str | None,
        typer.Option(metavar="DSN", help="Also drive equal arms at this server: SELECT 1."),
    ] = None,
    clients: Annotated[
        int, typer.Option("-c", "--clients", min=1, help="Of each machine and arm.")
    ] = 4,
    seconds: Annotated[float, typer.Option("-T", "--time", min=1, max=600, callback=finite)] = 20.0,
    as_json: parameter.AsJson = False,
) -> None:
    """Measure load machines: round trips, clocks, network, and equal arms driven together."""
    from steelyard.cli.options.address_options import endpoint_at
    from steelyard.cli.views.host_view import check_json, check_lines
    from steelyard.fleet.load_check import check
    from steelyard.fleet.on_ray.machines import RayMachines

    endpoint = None if address is None else endpoint_at(address)
    reserved = RayMachines(machines, ray)
    try:
        cluster_check = check(reserved, endpoint, clients, seconds, secrets.randbelow(2**31))
    finally:
        reserved.close()
    typer.echo(check_json(cluster_check) if as_json else "\n".join(check_lines(cluster_check)))


@sub.command("machines")
def rank_machines(
    prices: PricesOption = None,
    records: RecordsOption = RECORDS,
    as_json: parameter.AsJson = False,
) -> None:
    """Rank machines that did the same by throughput and by cost, from the records of several."""
    from steelyard.cli.views.history.comparison_view import machine_lines
    from steelyard.fleet.machines import which_machine
    from steelyard.fleet.prices import read_prices
    from steelyard.history.index import read_history

    history = read_history(records)
    name_unread(history)
    entries = history.entries
    ranking = which_machine(entries, None if prices is None else read_prices(prices, entries))
    if as_json:
        unread = [refused.to_json() for refused in history.unread]
        typer.echo(json.dumps({**ranking.to_json(), "unread": unread}))
        return
    typer.echo("\n".join(machine_lines(ranking)).rstrip() or "no records")


@sub.command("run")
def run_matrix(
    file: Annotated[Path, typer.Argument(metavar="MATRIX.toml", help="What to weigh where.")],
    output: Annotated[
        Path | None, typer.Option("-o", metavar="DIR", help="Default: records/matrix/NAME.")
    ] = None,
    ray: parameter.Ray = None,
    records: RecordsOption = RECORDS,
    as_json: parameter.AsJson = False,
) -> None:
    """Weigh studies on hosts of a Ray cluster, one weighing a host; resume what was begun."""
    from steelyard.cli.views.history.list_view import matrix_json, matrix_lines
    from steelyard.cli.weighing.campaign import resumable_by
    from steelyard.fleet.collecting import Collected, collect
    from steelyard.fleet.matrix.matrix import read_matrix
    from steelyard.fleet.matrix.run import MatrixRun, homes
    from steelyard.fleet.on_ray.cluster import RayHosts

    def say(line: str) -> None:
        typer.echo(line, err=True)

    matrix = read_matrix(file)
    directory = output or records / "matrix" / file.stem
    hosts = RayHosts(ray, say)
    further: tuple[str, ...] = () if ray is None else ("--ray", ray)
    further += () if records == RECORDS else ("--records", str(records))
    try:
        with resumable_by("fleet", "run", str(file), "-o", str(directory), *further):
            ran = MatrixRun(matrix, directory, hosts, say).run()
    finally:
        hosts.close()
    home = homes(ran, matrix)
    collected = collect([*home], records, home) if home else Collected()
    typer.echo(matrix_json(ran, collected) if as_json else "\n".join(matrix_lines(ran, collected)))
    if any(cell.how != "done" for cell in ran.cells.values()):
        raise typer.Exit(3)
    if collected.refused or collected.skipped:
        raise typer.Exit(1)


def _show(records: Path, question: str | None, *, as_json: bool) -> None:
    from steelyard.cli.views.history.comparison_view import fleet_lines
    from steelyard.fleet.hosts import across
    from steelyard.history.filter import the_question
    from steelyard.history.index import read_history
    from steelyard.history.question import questions_of

    history = read_history(records)
    name_unread(history)
    questions = questions_of(history.entries)
    answers = across(questions)  # records of any question show which hosts are one
    if question is not None:
        name = the_question(questions, question).name
        answers = tuple(answer for answer in answers if answer.question == name)
    if as_json:
        unread = [refused.to_json() for refused in history.unread]
        facts = [answer.to_json() for answer in answers]
        typer.echo(json.dumps({"questions": facts, "unread": unread}))
        return
    typer.echo("\n".join(fleet_lines(answers)).rstrip() or "no records")
