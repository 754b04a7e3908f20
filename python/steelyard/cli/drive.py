"""`steelyard drive`: puts one server under load and shows throughput and percentiles."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from typing import cast

import typer

from steelyard import _core
from steelyard.cli import drive_options as option
from steelyard.cli.drive_scripts import only_reads, read_definitions, read_scripts
from steelyard.cli.drive_summary import ProgressLines, readable
from steelyard.driver.answer import summarize
from steelyard.driver.client import Driver
from steelyard.driver.plan import DriveArm, DriveLog, DrivePlan, QueryMode, SliceRequest
from steelyard.driver.target import Target, read_target
from steelyard.errors import DriverError, EngineError, UsageError
from steelyard.units import NS_PER_S

MODES = ("simple", "extended", "prepared")
PLACEMENTS = ("auto", "symmetric", "free")
DEFAULT_SECONDS = 10.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("drive")(drive)


def drive(
    target: option.TargetText = "",
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
    placement: option.Placement = "auto",
    seed: option.Seed = None,
    as_json: option.AsJson = False,
) -> None:
    """Put one server under load, as pgbench does, and show throughput and percentiles.

    It runs what the scripts say: the built-in ones but select-only change the pgbench tables.
    Options of pgbench's name mean what they mean there; docs/reference/scripts.md maps them all.
    """
    _check(mode, placement, seconds, transactions, rate, latency_limit, max_tries)
    found = read_target(target)
    variables = read_definitions(define or [])
    builtins = [
        *(builtin or []),
        *(["select-only"] if select_only else []),
        *(["simple-update"] if skip_some_updates else []),
    ]
    scripts = read_scripts(file or [], builtins, {"scale": "1", **variables}, mode)
    if "scale" not in variables:
        reads = bool(builtins) or not file
        variables["scale"] = str(scale or (_scale_of(found) if reads else 1))
    plan = DrivePlan(
        arms=(_arm(found, clients),),
        scripts=scripts,
        threads=min(threads, clients),
        seed=int.from_bytes(os.urandom(4), "big") if seed is None else seed,
        mode=cast(QueryMode, mode),
        variables=variables,
        max_tries=max_tries,
        latency_limit_ns=None if latency_limit is None else round(latency_limit * 1e6),
        connect=connect,
        timed=report_per_command,
        log=_log(log, log_prefix, aggregate_interval, sampling_rate, failures_detailed),
    )
    length_s = None if transactions else seconds or DEFAULT_SECONDS
    asked = SliceRequest(
        arm=0,
        length_ns=None if length_s is None else round(length_s * NS_PER_S),
        each=transactions,
        rate=rate,
        progress_ns=None if progress is None else round(progress * NS_PER_S),
    )
    _drive(plan, asked, found, placement, as_json)


def _drive(
    plan: DrivePlan, asked: SliceRequest, target: Target, placement: str, as_json: bool
) -> None:
    limit_ns = plan.latency_limit_ns
    lines = ProgressLines(
        (asked.progress_ns or NS_PER_S) / NS_PER_S,
        rate=asked.rate is not None,
        limit=limit_ns is not None,
        retries=plan.max_tries != 1,
    )
    driver, placed = _start(plan, target, placement)
    with driver:
        slices = list(driver.run([asked], lambda counts: _say(lines.line(counts))))
    summary = {
        **summarize(slices),
        "clients": plan.arms[0].clients,
        "threads": plan.threads,
        "mode": plan.mode,
        "placement": placed,
        "io": driver.io,
        "seed": plan.seed,
        "rate": asked.rate,
        "latency_limit_ms": None if limit_ns is None else limit_ns / 1e6,
        "max_tries": plan.max_tries,
    }
    for said in summary.pop("debug"):
        _say(said)
    if as_json:
        sys.stdout.write(json.dumps(summary) + "\n")
    else:
        sys.stdout.write("\n".join(readable(summary)) + "\n")


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _check(
    mode: str,
    placement: str,
    seconds: float | None,
    transactions: int | None,
    rate: float | None,
    latency_limit: float | None,
    max_tries: int,
) -> None:
    if mode not in MODES:
        raise UsageError(f'unrecognized protocol: "{mode}"', hint=f"Accepted: {', '.join(MODES)}.")
    if placement not in PLACEMENTS:
        hint = f"Accepted: {', '.join(PLACEMENTS)}."
        raise UsageError(f'unrecognized placement: "{placement}"', hint=hint)
    if seconds is not None and transactions is not None:
        raise UsageError("cannot drive for a time (-T) and by count (-t) at once")
    for name, value in (("rate", rate), ("latency limit", latency_limit)):
        if value is not None and not 0 < value < float("inf"):
            raise UsageError(f"invalid {name}: {value}; accepted: more than 0")
    if max_tries == 0 and transactions is not None and latency_limit is None:
        raise UsageError(
            "cannot try without a limit: neither a time (-T) nor a latency limit (-L) ends it"
        )


def _log(
    wanted: bool, prefix: str, aggregate_s: int | None, sampling: float | None, detailed: bool
) -> DriveLog | None:
    if not wanted:
        if aggregate_s is not None or sampling is not None:
            raise UsageError("cannot aggregate or sample a log that is not written: add --log")
        return None
    if aggregate_s is not None and sampling is not None:
        raise UsageError("cannot aggregate a sample: the totals would not be totals")
    path = os.path.abspath(f"{prefix}.{os.getpid()}")
    return DriveLog(path, aggregate_s, sampling, detailed)


def _arm(target: Target, clients: int) -> DriveArm:
    return DriveArm(
        name="target",
        host=target.host,
        port=target.port,
        user=target.user,
        database=target.database,
        password=target.password,
        options=target.options,
        application_name=target.application_name,
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
            options=target.options,
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
