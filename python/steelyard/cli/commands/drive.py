"""`steelyard drive`: puts one server under load and shows throughput and percentiles."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from typing import Any

import typer

from steelyard import _core
from steelyard.cli.commands import drive_options as option
from steelyard.cli.commands.drive_asked import Asked
from steelyard.cli.commands.drive_scripts import (
    only_reads,
    read_definitions,
    read_scripts,
    shown_script,
)
from steelyard.cli.commands.pgbench_options import epilog
from steelyard.cli.views.drive_summary import readable
from steelyard.driver.answer import summarize
from steelyard.driver.client import Driver
from steelyard.driver.plan import DriveArm, DrivePlan
from steelyard.driver.ramp import summarize_ramp
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import DriverError, EngineError

_LOST_STATEMENTS = {"26000", "42P05"}
"""SQLSTATEs of a statement that does not exist, and of one that exists already."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    # As with pgbench, -h is the host.
    names = {"help_option_names": ["-?", "--help"]}
    app.command("drive", context_settings=names, epilog=epilog())(drive)


def drive(
    target: option.TargetText = "",
    dbname: option.Database = None,
    host: option.Host = None,
    port: option.Port = None,
    username: option.User = None,
    file: option.Files = None,
    builtin: option.Builtins = None,
    select_only: option.SelectOnly = False,
    skip_some_updates: option.SkipUpdates = False,
    clients: option.Clients = 1,
    threads: option.Threads = 1,
    seconds: option.Seconds = None,
    transactions: option.Transactions = None,
    mode: option.Mode = "simple",
    define: option.Definitions = None,
    scale: option.Scale = None,
    rate: option.Rate = None,
    ramp: option.Ramp = None,
    latency_limit: option.LatencyLimit = None,
    max_tries: option.MaxTries = 1,
    connect: option.Connect = False,
    report_per_command: option.PerCommand = False,
    progress: option.Progress = None,
    log: option.LogToFile = False,
    log_prefix: option.LogPrefix = "pgbench_log",
    aggregate_interval: option.AggregateInterval = None,
    sampling_rate: option.SamplingRate = None,
    failures_detailed: option.FailuresDetailed = False,
    progress_timestamp: option.ProgressTimestamp = False,
    no_vacuum: option.NoVacuum = False,
    show_script: option.ShowScript = None,
    placement: option.Placement = "auto",
    seed: option.Seed = None,
    as_json: option.AsJson = False,
) -> None:
    """Put one server under load, as pgbench does, and show throughput and percentiles.

    It runs what the scripts say: the built-in ones but select-only change the pgbench tables.
    Options of pgbench's name mean what they mean there. What a TARGET may be is in
    docs/reference/connections.md, what a script may hold in docs/reference/scripts.md.
    """
    answer(Asked(**locals()))  # every option by its name


def answer(asked: Asked) -> None:
    """Do what is asked."""
    if asked.show_script is not None or "list" in asked.builtins:
        sys.stdout.write(shown_script(asked.show_script))
        return
    asked.check()
    target = asked.read_target()
    arm = DriveArm.at(target, "target", asked.clients)
    variables = read_definitions(asked.define or [])
    files = asked.file or []
    scripts = read_scripts(files, asked.builtins, {"scale": "1", **variables}, asked.mode)
    if "scale" not in variables:
        reads = bool(asked.builtins) or not files
        variables["scale"] = str(asked.scale or (_scale_of(arm) if reads else 1))
    plan = asked.plan(arm, scripts, variables)
    driver, placed = _start(plan, target, asked.placement)
    lines = asked.progress_lines()
    with driver:
        slices = list(driver.run(asked.slices(), lambda counts: _say(lines.line(counts))))
    summary = {
        **summarize(slices),
        "clients": asked.clients,
        "threads": plan.threads,
        "mode": plan.mode,
        "placement": placed,
        "io": driver.io,
        "encryption": driver.encryption["target"],
        "seed": plan.seed,
        "rate": asked.rate,
        "latency_limit_ms": asked.latency_limit,
        "max_tries": plan.max_tries,
    }
    if asked.rates:
        summary["ramp"] = summarize_ramp(asked.rates, slices, asked.latency_limit)
    _show(summary, as_json=asked.as_json)


def _show(summary: dict[str, Any], *, as_json: bool) -> None:
    for said in summary.pop("debug"):
        _say(said)
    if _LOST_STATEMENTS & set(summary["errors"]) and summary["mode"] == "prepared":
        _say(
            "HINT:  Prepared statements are lost between transactions: behind a pooler, use "
            "-M extended or simple, or let it keep them (PgBouncer: max_prepared_statements)."
        )
    if as_json:
        sys.stdout.write(json.dumps(summary) + "\n")
    else:
        sys.stdout.write("\n".join(readable(summary)) + "\n")


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _start(plan: DrivePlan, target: Endpoint, placement: str) -> tuple[Driver, str]:
    """A connected driver, and the placement that it really has."""
    from steelyard.driver.beside import place_beside
    from steelyard.telemetry.processors import allowed_processors

    processors = tuple(allowed_processors())
    symmetric = placement == "symmetric" or (
        placement == "auto"
        and target.host.startswith("/")
        and plan.threads >= len(processors)
        and not plan.connect
        and all(only_reads(script, dict(plan.variables)) for script in plan.scripts)
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


def _scale_of(arm: DriveArm) -> int:
    """The scale of pgbench's tables, as pgbench reads it."""
    try:
        rows = _core.ask(json.dumps(asdict(arm)), "SELECT count(*) FROM pgbench_branches")
    except DriverError as error:
        if error.detail is None or "42P01" not in error.detail:
            raise
        raise DriverError(
            f'database "{arm.database}" holds no pgbench tables: table "pgbench_branches" does '
            "not exist",
            hint="Fill it with `pgbench -i`, or drive a script of your own with -f.",
        ) from error
    return int(rows[0][0] or 0) or 1
