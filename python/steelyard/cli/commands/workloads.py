"""`steelyard workloads`: lists the workloads, and loads one into the cache or into a server."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from steelyard.model.errors import UsageError
from steelyard.model.units import format_bytes
from steelyard.workloads.reading.workload import Workload, find_workload, known_workloads

if TYPE_CHECKING:
    from steelyard.workloads.loading.database import GivenAddress

sub = typer.Typer(
    invoke_without_command=True,
    help="List the workloads; load one into the cache or into a server.",
)

_Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


def register(app: typer.Typer) -> None:
    """Add the command and its subcommands."""
    app.add_typer(sub, name="workloads")


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
    if name is None:
        every = [find_workload(each) for each in known_workloads()]
        if as_json:
            typer.echo(json.dumps({"workloads": [_facts(each) for each in every]}))
            return
        width = max(len(each.name) for each in every)
        for each in every:
            typer.echo(f"{each.name:<{width}}  {each.title}")
        return
    one = find_workload(name)
    typer.echo(json.dumps(_facts(one)) if as_json else "\n".join(_lines(one)))


@sub.command("load")
def load_workload(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A workload, or its folder.")],
    target: Annotated[
        str | None,
        typer.Argument(help="libpq connection string; the cache of loaded clusters without."),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="scale=10, or an option of the workload."),
    ] = None,
    version: Annotated[
        str, typer.Option("--version", help="PostgreSQL to load with, for the cache.")
    ] = "18",
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
    as_json: _Json = False,
) -> None:
    """Load a workload: once into the cache, or into database "steelyard" of a server."""
    scale, chosen = _choices(name, overrides or ())
    workload = find_workload(name, chosen)
    scale = scale or workload.default_scale
    workload.check_scale(scale)
    if target is None:
        facts = _into_cache(workload, scale, version, bindir, account)
    else:
        facts = _into_target(workload, scale, _address(target, yes), replacing)
    facts = {"workload": workload.name, "scale": scale, "options": workload.chosen, **facts}
    typer.echo(json.dumps(facts) if as_json else _told(facts))


def _choices(name: str, overrides: tuple[str, ...] | list[str]) -> tuple[int, dict[str, str]]:
    """The scale (0: none was given) and the options of `--set`."""
    names = {"scale", "workload.scale", find_workload(name).scale_name}
    scale, chosen = 0, {}
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key:
            raise UsageError(
                f'invalid override: "{override}"', hint="Write it as KEY=VALUE: --set scale=10"
            )
        if key in names:
            if not text.isdigit() or not int(text):
                raise UsageError(f'invalid {key}: "{text}"', hint="It is a number from 1 on.")
            scale = int(text)
        else:
            chosen[key.removeprefix("workload.").removeprefix("options.")] = text
    return scale, chosen


def _into_cache(
    workload: Workload, scale: int, version: str, bindir: Path | None, account: str | None
) -> dict[str, Any]:
    from steelyard.engines.postgres.builds.find import find_postgres
    from steelyard.workloads.loading.template import description, template

    said: list[str] = []

    def told(stage: str) -> None:
        said.append(stage)
        _say(stage)

    made = template(find_postgres(version, bindir, account), workload, scale, told, copies=0)
    described = description(made)
    return {
        "seconds": described["load_seconds"],
        "rows": described["rows"],
        "bytes": described["database_bytes"],
        "tables": described["tables"],
        "digests": described["digests"],
        "version": described["version"],
        "template": str(made),
        "cached": not said,
    }


def _into_target(
    workload: Workload, scale: int, address: GivenAddress, replacing: bool
) -> dict[str, Any]:
    from steelyard.workloads.loading.load import load
    from steelyard.workloads.loading.room import require_room_at

    require_room_at(address, workload, scale, _say)
    report = load(workload, address, scale, _say, replacing=replacing)
    return {
        "seconds": round(report.seconds, 3),
        "rows": report.rows,
        "bytes": report.bytes,
        "tables": report.tables,
        "digests": report.digests,
        "target": address.host or "local socket",
    }


def _address(target: str, yes: bool) -> GivenAddress:
    """Where the target is; UsageError: no connection string, or far away without `--yes`."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    from steelyard.workloads.loading.database import GivenAddress, on_this_machine

    try:
        words = conninfo_to_dict(target)
    except psycopg.Error as error:
        raise UsageError(
            f'invalid connection string: "{target}"', detail=str(error).strip()
        ) from error
    host = str(words.get("hostaddr") or words.get("host") or os.environ.get("PGHOST", ""))
    port = str(words.get("port") or os.environ.get("PGPORT", "5432"))
    if not yes and not all(on_this_machine(each) for each in host.split(",")):
        raise UsageError(
            f'not loading into "{host}", port {port}: it is not on this machine',
            hint='Say --yes to make and fill the database "steelyard" there.',
        )
    database = str(words.get("dbname") or os.environ.get("PGDATABASE", "postgres"))
    first = int(port.partition(",")[0])
    return GivenAddress(host, first, str(words.get("user", "")), database, words=target)


def _say(stage: str) -> None:
    typer.echo(stage, err=True)


def _told(facts: dict[str, Any]) -> str:
    where = facts.get("template") or f'database "steelyard" at {facts["target"]}'
    rate = facts["rows"] / facts["seconds"] if facts["seconds"] else 0
    verb = "was loaded before" if facts.get("cached") else "loaded"
    return (
        f"{facts['workload']} at scale {facts['scale']} {verb}: {facts['rows']:,} rows, "
        f"{format_bytes(facts['bytes'])} in {facts['seconds']:.1f} s ({rate:,.0f} rows/s)\n{where}"
    )


def _facts(workload: Workload) -> dict[str, Any]:
    options = {name: option.model_dump() for name, option in workload.options.items()}
    return {
        "name": workload.name,
        "title": workload.title,
        "scale_is": workload.scale_is,
        "scale_name": workload.scale_name,
        "default_scale": workload.default_scale,
        "bytes_per_scale": workload.bytes_each,
        "options": options,
        "scripts": list(workload.scripts),
        "mix": workload.mix(),
    }


def _lines(workload: Workload) -> list[str]:
    size = format_bytes(workload.bytes_each)
    lines = [
        f"{workload.name}: {workload.title}",
        f"  {workload.scale_name} = {workload.default_scale}: {workload.scale_is}; {size} each",
    ]
    for name, option in workload.options.items():
        default = (
            str(option.default).lower() if isinstance(option.default, bool) else option.default
        )
        lines += [f"  {name} = {default} ({option.accepted})", f"      {option.title}"]
    mix = ", ".join(f"{name} {weight}" for name, weight in workload.mix().items())
    lines += [
        f"  scripts: {', '.join(workload.scripts)}",
        f"  driven unless others are named: {mix}",
    ]
    return lines
