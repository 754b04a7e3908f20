"""Drives a workload that `workloads load` put into a server: its scripts, mix and counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.cli.options.drive_options import DriveOptions
from steelyard.driver.answer import SliceAnswer
from steelyard.driver.client import Driver
from steelyard.driver.plan import (
    DriveArm,
    DrivePlan,
    DriveScript,
    QueryMode,
    Replay,
    SliceRequest,
    Variable,
)
from steelyard.driver.read_only import ON, READ_ONLY, why_not_read_only
from steelyard.driver.trial import execute, longest_try_ns, try_each
from steelyard.engines.adapters import workload_database
from steelyard.engines.loading import DATABASE, WorkloadDatabase
from steelyard.model.endpoint import POSTGRES, Endpoint
from steelyard.model.errors import UsageError
from steelyard.model.units import format_digits
from steelyard.running.measuring.load import driven, numbered
from steelyard.running.replaying import replay_of
from steelyard.study.study import LEAVE_OUT, Failing, WorkloadChoice
from steelyard.workloads.checks import consistency, count_work
from steelyard.workloads.loading.load import loaded_workload, require_workload
from steelyard.workloads.reading.command_words import scale_and_options, workload_of
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.resolved import resolve
from steelyard.workloads.reading.scripts import Script
from steelyard.workloads.reading.workload import Workload


@dataclass(frozen=True)
class DrivenWorkload:
    """A workload as loaded in a server, ready to be driven."""

    workload: Workload
    database: WorkloadDatabase
    target: Endpoint
    """Its database, whatever database the target named; of data that Steelyard did not load, the
    one that it named."""
    scale: int
    scripts: tuple[Script, ...]
    variables: dict[str, Variable]
    mode: QueryMode
    failing: Failing | None
    """What becomes of a script that fails when it is executed once; None: none is."""

    @property
    def drive_scripts(self) -> tuple[DriveScript, ...]:
        """As the driver takes them; each transaction's rows are counted."""
        return driven(self.scripts)

    def orders(self, clients: int) -> tuple[tuple[int, ...], ...]:
        """Streams by the numbers of their scripts; none: drawn by weight."""
        return numbered(self.workload.streams_of(clients), self.scripts)

    def replay(self, pace: float) -> Replay:
        """Its arrivals at so many times their pace. UsageError: it has none."""
        return replay_of(self.workload, self.scripts, pace)

    def counts(self) -> dict[str, float]:
        """What the workload counts of its work, so far."""
        return count_work(self.workload, self.database)

    def violations(self) -> list[str]:
        """What is wrong with the data now; empty when every condition holds."""
        return consistency(self.workload, self.database, self.scale, self.scripts)


def open_workload(
    options: DriveOptions, target: Endpoint, variables: Mapping[str, str]
) -> DrivenWorkload:
    """The workload that was named, as the server says that it was loaded. `variables`: those of
    the command line.

    One without data of its own, as a captured one, is driven on whatever the target holds.
    UsageError: the server holds none, or another, or it was loaded with other options.
    """
    assert options.workload is not None  # the caller asks where there is one
    name = workload_of(options.workload)
    scale, chosen = scale_and_options(name, options.overrides or ())
    database = workload_database(target)
    external = not find_workload(name).loaded
    if external:
        _refuse_check(options)
        loaded = None
    else:
        loaded = loaded_workload(database)
    choice = WorkloadChoice(
        name=name,
        scale=scale or (loaded.scale if loaded else None),
        options=dict(chosen),
        clients=options.clients,
        variables=dict(variables),
        mode=options.query_mode,
        failing=options.failing_rule,
    )
    resolved = resolve(choice, database.kind)
    if resolved.workload.tried_first and resolved.writes and not options.yes:
        _refuse_writes(options, target)
    if resolved.begins_read_only and target.protocol == POSTGRES and not options.yes:
        target = _with_read_only_sessions(options, target)
    if not external:
        require_workload(resolved.workload, resolved.scale, loaded, target.host)
    return DrivenWorkload(
        workload=resolved.workload,
        database=database,
        target=target if external else replace(target, database=DATABASE),
        scale=resolved.scale,
        scripts=resolved.scripts,
        variables=dict(resolved.variables),
        mode=options.query_mode or resolved.workload.mode,
        failing=resolved.failing,
    )


def without_failing(workload: DrivenWorkload, report: Callable[[str], None]) -> DrivenWorkload:
    """The workload without the reads that fail when each is executed once by one client, each
    reported with its share; as it is where they are Steelyard's own. What writes is not executed:
    each transaction of the load is one that was ordered.

    UsageError: nothing is left, or what fails is refused.
    """
    reads = [script for script in workload.scripts if not script.writes]
    if workload.failing is None or not reads:
        return workload
    names = [script.name for script in reads]
    tried = try_each(names, lambda pending, number: _executed(workload, pending, number))
    out = [script for script in reads if tried[script.name].never_works]
    if not out:
        return workload
    rest = tuple(script for script in workload.scripts if script not in out)
    agree = f" {_AGREE}" if any(tried[script.name].would_write for script in out) else ""
    if workload.failing != LEAVE_OUT or not rest or workload.workload.streams:
        raise UsageError(
            f'script "{out[0].name}" cannot work on the server at "{workload.target.host}": '
            f"{tried[out[0].name].error}",
            detail="; ".join(f"{script.name}: {tried[script.name].error}" for script in out[1:4])
            or None,
            hint=f"{f'--failing {LEAVE_OUT} leaves out what fails.' if rest else ''}{agree}".strip()
            or None,
        )
    whole = sum(script.weight for script in workload.scripts)
    for script in out:
        report(
            f'left out script "{script.name}", {format_digits(100 * script.weight / whole, 2)} % '
            f"of the transactions: {tried[script.name].error}"
        )
    if agree:
        report(f"HINT: {agree}")
    return replace(workload, scripts=rest)


def _executed(workload: DrivenWorkload, names: Sequence[str], seed: int) -> list[SliceAnswer]:
    """Scripts executed once each by one client."""
    scripts = driven(script for script in workload.scripts if script.name in names)
    plan = DrivePlan(
        arms=(DriveArm("target", workload.target, 1, session=workload.database.session),),
        scripts=scripts,
        orders=(tuple(range(len(scripts))),),
        seed=seed,
        mode=workload.mode,
        variables=workload.variables,
        tables=workload.workload.draws,
    )
    request = SliceRequest(arm=0, length_ns=longest_try_ns(len(scripts)), each=1)
    with Driver.start(plan) as driver:
        return [execute(lambda: driver.run_one(request)) for _ in scripts]


def _refuse_check(options: DriveOptions) -> None:
    if options.check:
        raise UsageError(
            f'cannot check workload "{options.workload}": its data are not Steelyard\'s'
        )


_AGREE = "Say --yes if this server's data may be changed."


def _refuse_writes(options: DriveOptions, target: Endpoint) -> None:
    """UsageError: the scripts would change the data of this server."""
    raise UsageError(
        f'not driving workload "{options.workload}" on the server at "{target.host}": it was '
        "captured with transactions that write",
        detail="They would change that server's data. `weigh --from` drives them on a copy.",
        hint=_AGREE,
    )


def _with_read_only_sessions(options: DriveOptions, target: Endpoint) -> Endpoint:
    """The target whose sessions begin read-only: what functions of a query do, its text does not
    say. UsageError: they do not, as behind a pooler that does not pass on how they begin."""
    reading = replace(target, settings=(*target.settings, (READ_ONLY, ON)))
    why = why_not_read_only(reading)
    if why is not None:
        raise UsageError(
            f'not driving workload "{options.workload}" on the server at "{target.host}": sessions '
            "there do not begin read-only",
            detail=why,
            hint=f"Name the server itself where this is a pooler. {_AGREE}",
        )
    return reading
