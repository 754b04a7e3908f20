"""Runs the load that the options of `steelyard drive` describe, and prints its summary."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from steelyard import _core
from steelyard.cli.command_line import say
from steelyard.cli.options.drive_options import DriveOptions
from steelyard.cli.options.drive_parameters import BUILTIN_NAMES
from steelyard.cli.views.drive_summary import Driven, summary_lines
from steelyard.driver.client import Driver
from steelyard.driver.placement import place_backends
from steelyard.driver.plan import DriveArm, DrivePlan, DriveScript
from steelyard.driver.summary import summarize, summarize_ramp
from steelyard.engines.defer_signals import interruptible
from steelyard.engines.sqlserver.licence import NOTICE
from steelyard.model.endpoint import POSTGRES, SQLSERVER, Endpoint
from steelyard.model.errors import DriverError, EngineError, UsageError
from steelyard.model.files.small_file import read_small
from steelyard.model.units import whole_number
from steelyard.telemetry.capacity import allowed_processors
from steelyard.telemetry.host import host_readings, sample_host
from steelyard.workloads.reading.dialects import language
from steelyard.workloads.reading.statements import Assignments, any_writes, every_statement

BROKEN = 1
"""Exit status where --check finds the data inconsistent."""
INCOMPLETE = 2
"""Exit status of a load that did nothing or was ended early, as pgbench's."""
_LOST_STATEMENTS = {"26000", "42P05"}
"""SQLSTATEs of a statement that does not exist, and of one that exists already."""


def run_drive(options: DriveOptions) -> None:
    """Drive the load, or print a built-in script where that was chosen."""
    if options.show_script is not None or "list" in options.builtins:
        sys.stdout.write(shown_script(options.show_script))
        return
    options.refuse()
    target = options.read_target()
    for line in NOTICE if target.protocol == SQLSERVER else ():
        say(line)
    if options.workload is None:
        _drive_scripts(options, target)
        return
    from steelyard.cli.driving.workload import open_workload, without_failing

    workload = open_workload(options, target, read_definitions(options.define or []))
    workload = without_failing(workload, say)
    session = workload.database.session
    arm = DriveArm("target", workload.target, options.clients, session=session)
    orders = workload.orders(options.clients)
    plan = options.plan(arm, workload.drive_scripts, workload.variables, workload.mode, orders)
    replay = None if options.pace is None else workload.replay(options.pace)
    plan = replace(plan, tables=workload.workload.draws, replay=replay)
    before = workload.counts()
    driven = _drive(plan, workload.target, options)
    minutes = driven.load.seconds / 60
    work = {n: (count - before[n]) / minutes for n, count in workload.counts().items() if minutes}
    violations = tuple(workload.violations()) if options.check else None
    _show(replace(driven, work=work, violations=violations), as_json=options.as_json)
    _require_work(driven)
    if violations:
        raise typer.Exit(BROKEN)


def _drive_scripts(options: DriveOptions, target: Endpoint) -> None:
    """Drive scripts on the tables that the target has."""
    arm = DriveArm("target", target, options.clients)
    variables = read_definitions(options.define or [])
    mode = options.query_mode or "simple"
    definitions = {"scale": "1", **variables}
    scripts = read_scripts(options.scripts, definitions, mode, target.protocol)
    if "scale" not in variables:
        variables["scale"] = str(_scale(options, arm))
    plan = options.plan(arm, scripts, variables, mode)
    driven = _drive(plan, target, options)
    _show(driven, as_json=options.as_json)
    _require_work(driven)


def _drive(plan: DrivePlan, target: Endpoint, options: DriveOptions) -> Driven:
    """Drive a plan to its end."""
    driver, placed, give_back = _start(plan, target, options.placement)
    lines = options.progress_lines()
    before = sample_host(Path())
    with ExitStack() as stack:
        stack.callback(give_back)
        stack.enter_context(driver)
        slices = list(
            driver.run(options.slices(plan.replay), lambda counts: say(lines.line(counts)))
        )
    machine = host_readings(before, sample_host(Path()))
    return Driven(
        load=summarize(slices),
        clients=options.clients,
        threads=plan.threads,
        mode=plan.mode,
        placement=placed,
        io=driver.io,
        encryption=driver.encryption["target"],
        seed=plan.seed,
        rate=options.rate,
        pace=options.pace,
        latency_limit_ms=options.latency_limit,
        max_tries=plan.max_tries,
        ramp=(
            summarize_ramp(options.rates, slices, options.latency_limit) if options.rates else None
        ),
        protocol=target.protocol,
        machine=machine,
    )


def _show(driven: Driven, *, as_json: bool) -> None:
    for message in driven.load.debug:
        say(message)
    if _LOST_STATEMENTS & set(driven.load.errors) and driven.mode == "prepared":
        say(
            "HINT:  Prepared statements are lost between transactions: behind a pooler, use "
            "-M extended or simple, or let it keep them (PgBouncer: max_prepared_statements)."
        )
    if as_json:
        sys.stdout.write(json.dumps(driven.to_json()) + "\n")
    else:
        sys.stdout.write("\n".join(summary_lines(driven)) + "\n")


def _require_work(driven: Driven) -> None:
    """Exit status INCOMPLETE, with words, where the figures above are not those of the load."""
    load = driven.load
    if load.aborted is not None:
        error = DriverError(
            "the load was ended early (--exit-on-abort): the results are incomplete",
            detail=load.aborted,
        )
    elif load.lost >= driven.clients:
        error = DriverError("every connection was lost: the results are incomplete")
    elif load.transactions == 0:
        error = DriverError("no transaction succeeded: there is nothing to measure")
    elif load.lost:
        error = DriverError(
            f"{load.lost} of {driven.clients} connections were lost: the results are incomplete"
        )
    else:
        return
    say(str(error))
    raise typer.Exit(INCOMPLETE)


def _start(
    plan: DrivePlan, target: Endpoint, placement: str
) -> tuple[Driver, str, Callable[[], None]]:
    """A connected driver, the placement that it really has, and what undoes that at the end."""
    processors = tuple(allowed_processors())
    symmetric = placement == "symmetric" or (
        placement == "auto"
        and target.protocol == POSTGRES
        and target.host.startswith("/")
        and plan.threads >= len(processors)
        and not plan.connect
        and only_reads(plan)
    )
    if symmetric:
        driver = Driver.start(replace(plan, processors=processors))
        try:
            connected = driver.connected["target"]
            return driver, "symmetric", place_backends(target, connected, plan.threads, processors)
        except (DriverError, EngineError):
            driver.close()
            if placement == "symmetric":
                raise
    return Driver.start(plan), "free", lambda: None


def _scale(options: DriveOptions, arm: DriveArm) -> int:
    """As with pgbench: of built-in scripts that of the tables, whatever -s says."""
    builtin = bool(options.builtins) or not options.file
    if not builtin or arm.endpoint.protocol != POSTGRES:
        return options.scale or 1
    counted = _scale_of(arm)
    if options.scale is not None:
        say(f"warning: scale option ignored, using count from pgbench_branches table ({counted})")
    return counted


def _scale_of(arm: DriveArm) -> int:
    """The scale of pgbench's tables, as pgbench reads it."""
    try:
        query = "SELECT count(*) FROM pgbench_branches"
        rows = interruptible(lambda: _core.ask(json.dumps(arm.to_json()), query))
    except DriverError as error:
        if error.detail is None or "42P01" not in error.detail:
            raise
        raise DriverError(
            f'database "{arm.endpoint.database}" holds no pgbench tables: table "pgbench_branches" '
            "does not exist",
            hint="Fill it with `pgbench -i`, or drive a script of your own with -f.",
        ) from error
    return int(rows[0][0] or 0) or 1


_VARIABLE = re.compile(r"[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*", re.ASCII)
"""pgbench.c, valid_variable_name."""
AUTOMATIC = {"client_id": "0", "random_seed": "0", "default_seed": "0"}
_BUILTIN_ROWS = {"tpcb-like": 1, "simple-update": 1, "select-only": 1}


def read_definitions(defined: list[str]) -> dict[str, Any]:
    """Variables given as NAME=VALUE. UsageError: another form."""
    variables = {}
    for definition in defined:
        name, equals, value = definition.partition("=")
        if not equals or not value or _VARIABLE.fullmatch(name) is None:
            raise UsageError(
                f'invalid variable definition: "{definition}"; accepted: NAME=VALUE',
                hint="A name holds letters, digits and underscores, and begins with no digit.",
            )
        variables[name] = value
    return variables


def read_scripts(
    named: Sequence[tuple[bool, str]],
    variables: dict[str, Any],
    mode: str,
    protocol: str = POSTGRES,
) -> tuple[DriveScript, ...]:
    """The scripts named on the command line (whether built in, and by what), in its order, checked
    together as statements of a protocol's servers. UsageError: one is wrong."""
    named = named or [(True, "tpcb-like")]
    scripts = [_builtin(text) if is_builtin else _own(text) for is_builtin, text in named]
    try:
        texts = [(script.name, script.text) for script in scripts]
        _core.check_scripts(texts, {**AUTOMATIC, **variables}, mode, dialect=language(protocol))
    except ValueError as error:
        path = str(error).split(":", 1)[0]
        raise UsageError(f'cannot drive script "{path}"', detail=str(error)) from error
    return tuple(scripts)


def only_reads(plan: DrivePlan) -> bool:
    """Whether every statement of its scripts, in all of their branches, is a SELECT that neither
    writes nor locks."""
    definitions = {name: str(value) for name, value in plan.variables.items()}
    assigned = Assignments.of(script.text for script in plan.scripts)
    for script in plan.scripts:
        try:
            statements = every_statement(script.name, script.text, definitions, assigned)
        except ValueError:
            return False  # they cannot be told apart
        queries = [statement for statement in statements if statement.strip() != ";"]
        if any(not query.lstrip().lower().startswith("select") for query in queries):
            return False
        if any_writes(queries):
            return False
    return True


def _own(text: str) -> DriveScript:
    path, weight = _weighted(text)
    return DriveScript(path, _text(path), weight)


def _builtin(text: str) -> DriveScript:
    """A built-in script; as with pgbench, the beginning of a name is enough."""
    name, weight = _weighted(text)
    matches = [builtin for builtin in BUILTIN_NAMES if name and builtin.startswith(name)]
    script = _core.builtin_script(matches[0]) if len(matches) == 1 else None
    if script is None:
        kind = "ambiguous" if matches else "unrecognized"
        hint = f"There are {', '.join(BUILTIN_NAMES)}."
        raise UsageError(f'{kind} built-in script: "{name}"', hint=hint)
    return DriveScript(matches[0], script, weight, _BUILTIN_ROWS[matches[0]])


def shown_script(name: str | None) -> str:
    """What a built-in script holds, or which ones there are. UsageError: there is none."""
    if name is None:
        return "".join(f"{builtin}\n" for builtin in BUILTIN_NAMES)
    return _builtin(name).text


def _weighted(text: str) -> tuple[str, int]:
    name, at, share = text.rpartition("@")
    if not at:
        return text, 1
    weight = whole_number(share)
    if weight is None:
        raise UsageError(f'invalid weight of script "{name}": "{share}"; accepted: whole numbers')
    return name, weight


def _text(path: str) -> str:
    try:
        return read_small(Path("/dev/stdin" if path == "-" else path))
    except OSError as error:
        raise UsageError(f'could not read script "{path}": {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise UsageError(f'cannot drive script "{path}": it is not UTF-8 text') from error
