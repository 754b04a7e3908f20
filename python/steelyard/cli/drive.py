"""`steelyard drive`: puts one server under load and shows throughput and percentiles."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from steelyard import _core
from steelyard.driver.answer import summarize
from steelyard.driver.client import Driver
from steelyard.driver.plan import DriveArm, DrivePlan, DriveScript, QueryMode, SliceRequest
from steelyard.driver.target import Target, read_target
from steelyard.errors import DriverError, EngineError, UsageError
from steelyard.units import NS_PER_S

MODES = ("simple", "extended", "prepared")
PLACEMENTS = ("auto", "symmetric", "free")
BUILTIN_NAMES = ("tpcb-like", "simple-update", "select-only")
AUTOMATIC = {"client_id": "0", "random_seed": "0", "default_seed": "0"}
BUILTIN_ROWS = {"tpcb-like": 1, "simple-update": 1, "select-only": 1}


TargetText = Annotated[
    str, typer.Argument(help="libpq connection string or URI; empty: its environment.")
]
Files = Annotated[
    list[str] | None, typer.Option("-f", "--file", help="Script file, as PATH or PATH@WEIGHT.")
]
Builtins = Annotated[
    list[str] | None,
    typer.Option("-b", "--builtin", help=f"{', '.join(BUILTIN_NAMES)}, or NAME@WEIGHT."),
]
Clients = Annotated[int, typer.Option("-c", "--client", min=1, help="Connections.")]
Threads = Annotated[int, typer.Option("-j", "--jobs", min=1, help="Driver threads.")]
Seconds = Annotated[float, typer.Option("-T", "--time", min=0.05, help="How long, in seconds.")]
Mode = Annotated[str, typer.Option("-M", "--protocol", help="simple, extended or prepared.")]
Definitions = Annotated[
    list[str] | None, typer.Option("-D", "--define", help="A variable, as NAME=VALUE.")
]
Scale = Annotated[
    int | None,
    typer.Option("-s", "--scale", min=1, help="Of pgbench's tables; read from them without."),
]
Placement = Annotated[
    str,
    typer.Option(
        help="symmetric: each backend on the processor of its driver thread; free; or auto: "
        "symmetric for scripts that only read, on a server of this machine, with a thread for "
        "every processor."
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Of all random keys.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("drive")(drive)


def drive(
    target: TargetText = "",
    file: Files = None,
    builtin: Builtins = None,
    clients: Clients = 1,
    threads: Threads = 1,
    seconds: Seconds = 10.0,
    mode: Mode = "simple",
    define: Definitions = None,
    scale: Scale = None,
    placement: Placement = "auto",
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Put one server under load, as pgbench does, and show throughput and percentiles.

    It runs what the scripts say: the built-in ones but select-only change the pgbench tables.
    """
    if mode not in MODES:
        raise UsageError(f'unrecognized protocol: "{mode}"', hint=f"Accepted: {', '.join(MODES)}.")
    if placement not in PLACEMENTS:
        hint = f"Accepted: {', '.join(PLACEMENTS)}."
        raise UsageError(f'unrecognized placement: "{placement}"', hint=hint)
    found = read_target(target)
    variables = _definitions(define or [])
    uses_builtin = bool(builtin) or not file
    scripts = _scripts(file or [], builtin or [], {"scale": "1", **variables})
    if "scale" not in variables:
        variables["scale"] = str(scale or (_scale_of(found) if uses_builtin else 1))
    plan = DrivePlan(
        arms=(_arm(found, clients),),
        scripts=scripts,
        threads=min(threads, clients),
        seed=int.from_bytes(os.urandom(4), "big") if seed is None else seed,
        mode=cast(QueryMode, mode),
        variables=variables,
    )
    driver, placed = _start(plan, found, placement)
    with driver:
        slices = list(driver.run([SliceRequest(arm=0, length_ns=round(seconds * NS_PER_S))]))
    summary = {
        **summarize(slices),
        "clients": clients,
        "threads": plan.threads,
        "mode": mode,
        "placement": placed,
        "seed": plan.seed,
    }
    if as_json:
        sys.stdout.write(json.dumps(summary) + "\n")
    else:
        sys.stdout.write("\n".join(_readable(summary)) + "\n")


def _arm(target: Target, clients: int) -> DriveArm:
    return DriveArm(
        name="target",
        host=target.host,
        port=target.port,
        user=target.user,
        database=target.database,
        password=target.password,
        clients=clients,
    )


def _start(plan: DrivePlan, target: Target, placement: str) -> tuple[Driver, str]:
    """A connected driver, and the placement that it really has."""
    from steelyard.driver.beside import allowed_processors, place_beside

    processors = allowed_processors()
    symmetric = placement == "symmetric" or (
        placement == "auto"
        and target.host.startswith("/")
        and plan.threads >= len(processors)
        and all(_only_reads(script, plan) for script in plan.scripts)
    )
    if symmetric:
        driver = Driver.start(replace(plan, processors=processors))
        try:
            place_beside(target, driver.connected["target"], plan.threads, processors)
            return driver, "symmetric"
        except (DriverError, EngineError):
            driver.close()
            if placement == "symmetric":
                raise
    return Driver.start(plan), "free"


def _only_reads(script: DriveScript, plan: DrivePlan) -> bool:
    variables = {name: str(value) for name, value in plan.variables.items()}
    try:
        sent = _core.script_statements(script.name, script.text, {**AUTOMATIC, **variables})
    except ValueError:
        return False  # an expression without a result: the driver will say so
    return all(statement.lstrip().lower().startswith("select") for statement in sent)


def _definitions(defined: list[str]) -> dict[str, Any]:
    variables = {}
    for definition in defined:
        name, equals, value = definition.partition("=")
        if not equals or not name:
            raise UsageError(f'invalid variable definition: "{definition}"; accepted: NAME=VALUE')
        variables[name] = value
    return variables


def _scale_of(target: Target) -> int:
    """The scale of pgbench's tables, as pgbench reads it."""
    try:
        rows = _core.ask(
            "SELECT count(*) FROM pgbench_branches",
            host=target.host,
            port=target.port,
            user=target.user,
            database=target.database,
            password=target.password,
        )
    except DriverError as error:
        if error.detail is None or "42P01" not in error.detail:
            raise
        raise DriverError(
            f'database "{target.database}" holds no pgbench tables: table "pgbench_branches" does '
            "not exist",
            hint="Fill it with `pgbench -i`, or drive a script of your own with -f.",
        ) from error
    return int(rows[0][0] or 0) or 1


def _scripts(
    files: list[str], builtins: list[str], variables: dict[str, Any]
) -> tuple[DriveScript, ...]:
    if not files and not builtins:
        builtins = ["tpcb-like"]
    scripts = []
    for asked in builtins:
        name, weight = _weighted(asked)
        text = _core.builtin_script(name)
        if text is None:
            hint = f"There are {', '.join(BUILTIN_NAMES)}."
            raise UsageError(f'unrecognized built-in script: "{name}"', hint=hint)
        scripts.append(DriveScript(name, text, weight, BUILTIN_ROWS.get(name)))
    for asked in files:
        path, weight = _weighted(asked)
        scripts.append(DriveScript(path, _read(path, variables), weight))
    return tuple(scripts)


def _weighted(asked: str) -> tuple[str, int]:
    name, at, weight = asked.rpartition("@")
    if not at:
        return asked, 1
    if not weight.isdecimal():
        raise UsageError(f'invalid weight of script "{name}": "{weight}"; accepted: whole numbers')
    return name, int(weight)


def _read(path: str, variables: dict[str, Any]) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f'could not read script "{path}": {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise UsageError(f'cannot drive script "{path}": it is not UTF-8 text') from error
    try:
        _core.script_statements(path, text, {**AUTOMATIC, **variables}, count=0)
    except ValueError as error:
        raise UsageError(f'cannot drive script "{path}"', detail=str(error)) from error
    return text


def _readable(summary: dict[str, Any]) -> list[str]:
    latency = summary["latency_us"]
    lines = [
        f"transactions   {summary['transactions']} in {summary['seconds']:.2f} s "
        f"({summary['clients']} clients, {summary['threads']} threads, {summary['mode']}, "
        f"placement {summary['placement']}, seed {summary['seed']})",
        f"throughput     {summary['throughput']:.1f} per second",
    ]
    if latency["mean"] is not None:
        shown = "  ".join(f"{name} {_milliseconds(value)}" for name, value in latency.items())
        lines.append(f"latency (ms)   {shown}")
        cpu = summary["driver_cpu_us_per_transaction"]
        lines.append(f"driver CPU     {cpu:.2f} µs per transaction")
    for script in summary["scripts"] if len(summary["scripts"]) > 1 else []:
        percentiles = script["latency_us"]
        if percentiles["mean"] is not None:
            mean, p99 = _milliseconds(percentiles["mean"]), _milliseconds(percentiles["p99"])
            tail = f"mean {mean}  p99 {p99}"
        else:
            tail = "none"
        lines.append(f"  {script['name']}: {script['transactions']} transactions, {tail}")
    lines.append(f"failed         {summary['failed']}")
    for state, times in sorted(summary["errors"].items()):
        lines.append(f"  SQLSTATE {state}: {times} ({summary['error_messages'].get(state, '')})")
    for name, meaning in (
        ("lost", "connections lost"),
        ("capped", "clients did not come back and were cancelled"),
        ("wrong_rows", "transactions returned a wrong number of rows"),
    ):
        if summary[name]:
            lines.append(f"  {summary[name]} {meaning}")
    return lines


def _milliseconds(microseconds: float) -> str:
    return f"{microseconds / 1000:.3f}"
