"""Runs `steelyard weigh --sweep`: one study at several values of a key, in random order.

Formats a sweep for a terminal: its sentences, a beam a point, and where the records are.
"""

from __future__ import annotations

import json
import random
import secrets
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from steelyard.cli.command_line import say
from steelyard.cli.options.weigh_options import resolve_arms
from steelyard.cli.views.text_layout import hanging, terminal_width
from steelyard.cli.weighing.kept import begin_folder, going_on, weigh_into, write_plan
from steelyard.evaluation.sweep import reading, swept
from steelyard.model.errors import SteelyardError, UsageError
from steelyard.model.secrets.redaction import is_secret_setting
from steelyard.record.record import read_object
from steelyard.record.sweep import POINTS, SWEEP_FILE, SWEPT_FILE, SweepPlan, Swept, SweptContrast
from steelyard.record.verdict import Verdict
from steelyard.report.sweep_page import write_sweep_page
from steelyard.report.tables import amount
from steelyard.study.change import Change
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.study.sweep import Sweep, read_sweep
from steelyard.workloads.loading.imported_data import resolve_source
from steelyard.workloads.reading.resolved import resolve_workload


def sweep_lines(swept: Swept, record: str, width: int) -> Iterator[str]:
    """The printed lines of a sweep."""
    yield ""
    for sentence in swept.sentences:
        yield from textwrap.wrap(f"{sentence} (joint 95 % intervals)", width)
    for arm in _arms(swept):
        yield ""
        yield from (part for line in _table(swept, arm) for part in hanging(line, width))
    for point in swept.points:
        if point.failed:
            yield f"{swept.key} = {point.value} could not be weighed: {point.failed}"
    yield ""
    yield f"record  {record}"
    yield f"report  {record}/report.html"
    if swept.command:
        yield f"repeat  {swept.command}"


def _arms(swept: Swept) -> list[str]:
    return list(dict.fromkeys(one.arm for point in swept.points for one in point.contrasts))


def _table(swept: Swept, arm: str) -> Iterator[str]:
    name = swept.key.rpartition(".")[2]
    rows = [
        (point.value, one) for point in swept.points for one in point.contrasts if one.arm == arm
    ]
    wide = max(len(name), *(len(value) for value, _ in rows))
    rates = [_rates(contrast) for _, contrast in rows]
    fast = max(map(len, ("throughput", *rates))) if any(rates) else 0
    told = [reading(one) for _, one in rows]
    reach = max(map(len, told))
    title = f"{arm} against {rows[0][1].control}"
    head = f"{'throughput':<{fast}}  " if fast else ""
    yield f"{name:>{wide}}  {head}{title:<{reach}}  verdict"
    for (value, one), words, rate in zip(rows, told, rates, strict=True):
        shown = f"{rate:<{fast}}  " if fast else ""
        yield f"{value:>{wide}}  {shown}{words:<{reach}}  {_verdict(one)}"


def _rates(contrast: SweptContrast) -> str:
    """`"1 655 → 3 350 /s"`, the control's first; empty where it was not kept."""
    rates = contrast.control_throughput, contrast.arm_throughput
    return "" if None in rates else f"{amount(rates[0])} → {amount(rates[1])} /s"


def _verdict(one: SweptContrast) -> str:
    doubts: Sequence[str] = one.threats
    cause = f", by {one.cause}" if one.cause else ""
    return one.verdict + cause + (f" ({', '.join(doubts)})" if doubts else "")


@dataclass(frozen=True)
class SweepRequest:
    """What was asked for on the command line."""

    study: str | None
    sweep: str
    changes: Sequence[str]
    version_named: bool
    seed: int | None
    record: Path | None
    account: str | None
    command: tuple[str, ...]
    as_json: bool


def begin_sweep(request: SweepRequest) -> None:
    """Weigh all points of a new sweep, and print what came of it.

    UsageError or StudyError: the study is wrong at every point.
    """
    if request.study is None:
        raise UsageError("no study was named", hint="Name what is swept: steelyard weigh checksums")
    sweep = read_sweep(request.sweep)
    if any(is_secret_setting(sweep.key, value) for value in sweep.values):
        raise UsageError(
            f'cannot sweep "{sweep.key}": its values may be passwords, keys or tokens',
            detail="They would stand in the record.",
        )
    seed = secrets.randbelow(2**31) if request.seed is None else request.seed
    order = list(range(len(sweep.values)))
    random.Random(f"{seed}/sweep").shuffle(order)
    changes = list(request.changes)
    first = _study(request.study, sweep, changes, sweep.values[0], request)
    if first.source is not None:  # every point on the same files
        changes += [
            Change(f"source.{name}", value)
            for name, value in first.source.model_dump(exclude_none=True).items()
            if name != "beneath"  # every point's study has it from the built-in one
        ]
        if not request.version_named:
            own = {} if first.factors is not None else {f"arm.{a.name}": a for a in first.arms}
            arms = {"control": first.control, **own}
            changes += [Change(f"{place}.version", a.version) for place, a in arms.items()]
    changes += _common_names(sweep, changes, first, request)
    plan = SweepPlan(
        key=sweep.key,
        values=sweep.values,
        order=tuple(order),
        seed=seed,
        changes=tuple(changes),
        study=request.study,
        command=shlex.join(request.command),
    )
    usual = f"{first.name}-by-{sweep.name}"
    folder = begin_folder(request.record, usual, "a sweep", SWEEP_FILE, plan.to_json())
    with going_on("weigh", "--resume", str(folder)):
        _go_on(plan, folder, request.account, as_json=request.as_json)


def _common_names(
    sweep: Sweep, changes: Sequence[str], first: Study, request: SweepRequest
) -> list[str]:
    """Names of arms that are named by what is swept: one for all points, so that they are one
    row."""
    assert request.study is not None  # the caller refuses where there is none
    last = read_study(request.study, sweep.overrides(changes, sweep.values[-1]))
    places = ["control", *("arm" for _ in first.arms)]
    if len(places) > 2:
        return []
    return [
        Change(f"{place}.name", place)
        for place, one, other in zip(places, first.every_arm, last.every_arm, strict=True)
        if one.name != other.name
    ]


def resume_sweep(folder: Path, account: str | None, *, as_json: bool) -> None:
    """Weigh the points that are missing, and print what came of all."""
    kept = read_object(folder / SWEEP_FILE)
    plan = SweepPlan.of_json(kept, str(folder / SWEEP_FILE))
    with going_on("weigh", "--resume", str(folder)):
        _go_on(plan, folder, account, as_json=as_json)


def _go_on(plan: SweepPlan, folder: Path, account: str | None, *, as_json: bool) -> None:
    sweep = Sweep(plan.key, plan.values)
    weighed: dict[str, Verdict | str] = {}
    question = ""
    for done, number in enumerate(plan.order, 1):
        value = plan.values[number]
        say(f"point {done} of {len(plan.order)}: {plan.key} = {value}")
        try:
            study = resolve_workload(read_study(plan.study, sweep.overrides(plan.changes, value)))
            study = resolve_arms(study, account)
            question = study.question
            verdict = weigh_into(study, plan.seed + number, folder / POINTS / _name(value), account)
        except SteelyardError as failure:
            words = str(failure).splitlines()[0].removeprefix("error: ")
            say(f"{plan.key} = {value} could not be weighed: {words}")
            weighed[value] = words
            continue
        if verdict.interrupted:
            raise KeyboardInterrupt
        weighed[value] = verdict
    if all(isinstance(one, str) for one in weighed.values()):
        first = next(iter(weighed.values()))
        raise SteelyardError(f"no point of the sweep could be weighed: {first}")
    result = swept(plan, question, weighed, lambda value: f"{POINTS}/{_name(value)}")
    write_plan(folder / SWEPT_FILE, result.to_json())
    write_sweep_page(result, folder)
    _show(result, folder, as_json=as_json)


def _show(result: Swept, folder: Path, *, as_json: bool) -> None:
    if as_json:
        told = {"sweep": result.to_json(), "record": str(folder), "study": result.study}
        typer.echo(json.dumps(told))
    else:
        typer.echo("\n".join(sweep_lines(result, str(folder), terminal_width())))


def _study(
    name: str, sweep: Sweep, changes: Sequence[str], value: str, request: SweepRequest
) -> Study:
    study = read_study(name, sweep.overrides(changes, value))
    return resolve_source(study, version_named=request.version_named)


def _name(value: str) -> str:
    """A folder's name of a value."""
    return "".join(one if one.isalnum() or one in "._+-" else "_" for one in value) or "_"
