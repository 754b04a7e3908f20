"""`steelyard workloads`: lists the workloads, and loads one into the cache or into a server."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from steelyard.cli.command_line import Group, say
from steelyard.cli.commands.workloads_capture import capture
from steelyard.cli.options.weigh_parameters import Ray
from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from steelyard.engines.loading import WorkloadDatabase
    from steelyard.fleet.row_copying import LoadMachines
    from steelyard.model.endpoint import Endpoint
    from steelyard.workloads.reading.workload import Workload

sub = typer.Typer(
    cls=Group,
    invoke_without_command=True,
    help="List the workloads; load one into the cache or into a server.",
)

_VERSION = "18"
_Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


def register(app: typer.Typer) -> None:
    """Add the command and its subcommands."""
    app.add_typer(sub, name="workloads")


sub.command("capture")(capture)


@sub.callback()
def workloads(context: typer.Context, as_json: _Json = False) -> None:
    """List the workloads that come with Steelyard."""
    if context.invoked_subcommand is None:
        list_workloads(None, as_json)


@sub.command("list")
def list_workloads(
    name: Annotated[
        str | None, typer.Argument(help="A workload or its folder: its options and scripts.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """List the workloads, or what can be chosen about one."""
    from steelyard.cli.views.workload_view import list_lines, workload_facts, workload_lines
    from steelyard.workloads.reading.command_words import workload_of
    from steelyard.workloads.reading.folder import find_workload, known_workloads

    if name is None:
        every = [find_workload(each) for each in known_workloads()]
        if as_json:
            typer.echo(json.dumps({"workloads": [workload_facts(each) for each in every]}))
            return
        typer.echo("\n".join(list_lines(every)))
        return
    workload = find_workload(workload_of(name))
    typer.echo(
        json.dumps(workload_facts(workload)) if as_json else "\n".join(workload_lines(workload))
    )


@sub.command("load")
def load_workload(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A workload, or its folder.")],
    target: Annotated[
        str | None,
        typer.Argument(
            help="Connection string (mysql:// too); default: the cache of loaded clusters."
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="scale=10, or an option of the workload."),
    ] = None,
    version: Annotated[
        str, typer.Option("--version", help="PostgreSQL to load with, for the cache.")
    ] = _VERSION,
    bindir: Annotated[
        Path | None, typer.Option("--bindir", help="Its programs, in place of a version.")
    ] = None,
    account: Annotated[
        str | None, typer.Option("--as", metavar="USER", help="Run the server as this account.")
    ] = None,
    replacing: Annotated[
        bool, typer.Option("--replace", help="Drop what Steelyard loaded into the target before.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Load into a server that is not on this machine.")
    ] = False,
    machines: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Make and copy the rows from N load machines."),
    ] = None,
    ray: Ray = None,
    as_json: _Json = False,
) -> None:
    """Load a workload: once into the cache, or into database "steelyard" of a server."""
    from steelyard.cli.views.workload_view import load_line
    from steelyard.cli.weighing.together import copying_machines
    from steelyard.engines.adapters import workload_database
    from steelyard.workloads.reading.command_words import scale_and_options, workload_of
    from steelyard.workloads.reading.dialects import GENERIC
    from steelyard.workloads.reading.folder import find_workload

    _refuse_other_place(
        target,
        {"--version": version != _VERSION, "--bindir": bindir, "--as": account},
        {"--replace": replacing, "--yes": yes},
    )
    name = workload_of(name)
    scale, chosen = scale_and_options(name, overrides or ())
    address = None if target is None else _address(target, yes)
    database = None if address is None else workload_database(address)
    kind = GENERIC if database is None else database.kind
    workload = find_workload(name, chosen, kind)
    scale = scale or workload.default_scale
    workload.check_scale(scale)
    with copying_machines(machines, ray, address, say) as copiers:
        if database is None:
            facts = _into_cache(workload, scale, version, bindir, account)
        else:
            facts = _into_target(workload, scale, database, replacing, copiers)
    facts = {"workload": workload.name, "scale": scale, "options": workload.chosen, **facts}
    typer.echo(json.dumps(facts) if as_json else load_line(facts))


def _refuse_other_place(
    target: str | None, of_cache: Mapping[str, object], of_server: Mapping[str, object]
) -> None:
    """UsageError for an option that is given and has no meaning where the data go."""
    options = of_server if target is None else of_cache
    stray = [option for option, value in options.items() if value]
    if stray and target is not None:
        raise UsageError(
            f"option {stray[0]} is of the cache: the server at TARGET is loaded as it runs",
            hint="Leave it out, or leave TARGET out.",
        )
    if stray:
        raise UsageError(
            f"option {stray[0]} is of a server: name a TARGET",
            hint="The cache is loaded anew after `steelyard engines clear --templates`.",
        )


def _into_cache(
    workload: Workload, scale: int, version: str, bindir: Path | None, account: str | None
) -> dict[str, Any]:
    from steelyard.engines.postgres.selection import find_postgres
    from steelyard.workloads.loading.template import description, template

    stages: list[str] = []

    def on_stage(stage: str) -> None:
        stages.append(stage)
        say(stage)

    directory = template(
        find_postgres(version, bindir, account), workload, scale, on_stage, copies=0
    )
    described = description(directory)
    assert described is not None  # template() has just found it
    return {
        "seconds": described.load_seconds,
        "rows": described.rows,
        "bytes": described.database_bytes,
        "tables": described.tables,
        "digests": described.digests,
        "version": described.version,
        "template": str(directory),
        "cached": not stages,
    }


def _into_target(
    workload: Workload,
    scale: int,
    database: WorkloadDatabase,
    replacing: bool,
    copiers: LoadMachines | None,
) -> dict[str, Any]:
    from steelyard.engines.loading import Doubtful
    from steelyard.workloads.loading.disk_space import require_space_at
    from steelyard.workloads.loading.load import load

    for doubt in database.doubts() if isinstance(database, Doubtful) else ():
        say(doubt)
    require_space_at(database, workload, scale, say)
    report = load(workload, database, scale, say, replacing=replacing, copiers=copiers)
    shared = {} if copiers is None else {"machines": copiers.rows, "lost": copiers.lost}
    return {
        "seconds": round(report.seconds, 3),
        "rows": report.rows,
        "bytes": report.bytes,
        "tables": report.tables,
        "digests": report.digests,
        "target": database.host or "local socket",
        **shared,
    }


def _address(target: str, yes: bool) -> Endpoint:
    """Where the target is; UsageError: no connection string, or far away without `--yes`."""
    from steelyard.engines.mysql.uri import is_mysql, read_uri
    from steelyard.engines.postgres.libpq.connection_string import GivenAddress
    from steelyard.engines.postgres.libpq.connection_words import connection_words

    if is_mysql(target):
        address = read_uri(target)
        _refuse_far(address.host, str(address.port), yes)
        return address
    keywords = connection_words(target)
    host = keywords.get("hostaddr") or keywords.get("host") or os.environ.get("PGHOST", "")
    port = keywords.get("port") or os.environ.get("PGPORT", "5432")
    _refuse_far(host, port, yes)
    database = keywords.get("dbname") or os.environ.get("PGDATABASE", "postgres")
    first = int(port.partition(",")[0])
    return GivenAddress(host, first, str(keywords.get("user", "")), database, words=target)


def _refuse_far(hosts: str, port: str, yes: bool) -> None:
    from steelyard.model.endpoint import on_this_machine

    if not yes and not all(on_this_machine(each) for each in hosts.split(",")):
        raise UsageError(
            f'not loading into "{hosts}", port {port}: it is not on this machine',
            hint='Say --yes to make and fill the database "steelyard" there.',
        )
