"""Runs `steelyard weigh --sweep`: one study at several values of a key, in random order.

Formats a sweep for a terminal: its sentences, a beam a point, and where the records are.
"""

from __future__ import annotations

import random
import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from steelyard.cli.command_line import say
from steelyard.cli.options.address_options import require_agreed, require_own_servers
from steelyard.cli.options.arm_options import require_unlike, with_known_changes
from steelyard.cli.options.study_resolution import resolve_arms, with_data
from steelyard.cli.views.text_layout import broken, hanging, terminal_width
from steelyard.cli.weighing.campaign import Campaign, CampaignKind, show
from steelyard.model.errors import SteelyardError, StudyError, UsageError
from steelyard.model.secrets.redaction import is_secret_setting
from steelyard.record.record import folder_name
from steelyard.record.sweep import (
    POINTS,
    SWEEP_FILE,
    SWEPT_FILE,
    SweepPlan,
    Swept,
    SweptContrast,
    SweptRow,
)
from steelyard.record.verdict import Verdict
from steelyard.report.sweep_page import write_sweep_page
from steelyard.report.tables import amount
from steelyard.running.layout_choice import require_effect
from steelyard.study.change import Change, says_key, short_key
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.study.sweep import Sweep, read_sweep
from steelyard.verdict.swept import swept
from steelyard.wording.sweep_sentences import reading
from steelyard.workloads.loading.imported_data import drop_backup, without_backup
from steelyard.workloads.reading.resolved import resolve, resolve_workload

SWEEP = CampaignKind("a sweep", SWEEP_FILE, ("weigh",))


def sweep_lines(swept: Swept, record: str, width: int) -> Iterator[str]:
    """The printed lines of a sweep."""
    yield ""
    for sentence in swept.sentences:
        yield from broken(f"{sentence} (joint 95 % intervals)", width)
    for row in swept.rows:
        yield ""
        yield from (part for line in _table(swept, row) for part in hanging(line, width))
    for point in swept.points:
        if point.failed:
            yield f"{swept.key} = {point.value} could not be weighed: {point.failed}"
    yield ""
    yield f"record  {record}"
    yield f"report  {record}/report.html"
    if swept.command:
        yield f"repeat  {swept.command}"


def _table(swept: Swept, row: SweptRow) -> Iterator[str]:
    name, rows = short_key(swept.key), swept.contrasts_of(row)
    wide = max(len(name), *(len(value) for value, _ in rows))
    rates = [_rates(contrast) for _, contrast in rows]
    fast = max(map(len, ("throughput", *rates))) if any(rates) else 0
    readings = [reading(contrast) for _, contrast in rows]
    reach = max(map(len, readings))
    title = f"{row.arm} against {row.control}"
    head = f"{'throughput':<{fast}}  " if fast else ""
    yield f"{name:>{wide}}  {head}{title:<{reach}}  verdict"
    for (value, contrast), text, rate in zip(rows, readings, rates, strict=True):
        column = f"{rate:<{fast}}  " if fast else ""
        yield f"{value:>{wide}}  {column}{text:<{reach}}  {_verdict(contrast)}"


def _rates(contrast: SweptContrast) -> str:
    """`"1 655 → 3 350 /s"`, the control's first; empty where it was not kept."""
    rates = contrast.control_throughput, contrast.arm_throughput
    return "" if None in rates else f"{amount(rates[0])} → {amount(rates[1])} /s"


def _verdict(contrast: SweptContrast) -> str:
    doubts: Sequence[str] = contrast.threats
    cause = f", by {contrast.cause}" if contrast.cause else ""
    return contrast.verdict + cause + (f" ({', '.join(doubts)})" if doubts else "")


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
    agreed: bool = False
    """To write at an address."""
    arms: tuple[str | None, str | None] = (None, None)
    """The values of `--control` and `--arm`."""


def begin_sweep(request: SweepRequest) -> None:
    """Weigh all points of a new sweep, and print what came of it.

    UsageError or StudyError: the study is wrong at every point.
    """
    if request.study is None:
        raise UsageError("no study was named", hint="Name what is swept: steelyard weigh checksums")
    sweep = require_weighable(request.study, request.sweep, request.changes, request.arms)
    _require_effect(request.study, sweep, request.changes)
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
        if _are_of_the_datas_version(first) and not _names_version(request):
            changes.append(Change("version", first.control.version))
    changes += _common_names(request.study, sweep, changes)
    if any(request.arms):
        points = [partial(sweep.overrides, value=value) for value in sweep.values]
        changes = with_known_changes(request.study, changes, points, *request.arms, request.account)
        _require_a_difference(request.study, sweep, changes, request.arms)
    plan = SweepPlan(
        key=sweep.key,
        values=sweep.values,
        order=tuple(order),
        seed=seed,
        changes=tuple(changes),
        study=request.study,
        command=shlex.join(request.command),
    )
    _require_agreed(plan, request.account, agreed=request.agreed)
    usual = folder_name(f"{first.name}-by-{sweep.name}")
    campaign = SWEEP.begin(request.record, usual, plan.to_json(), request.account)
    _go_on(plan, replace(campaign, agreed=request.agreed), as_json=request.as_json)


def _are_of_the_datas_version(study: Study) -> bool:
    """Whether all arms have the version of the data, and one of them no directory of its own."""
    versions = {arm.version for arm in study.every_arm}
    return len(versions) == 1 and any(arm.bindir is None for arm in study.every_arm)


def require_weighable(
    study: str, text: str, changes: Sequence[str], arms: tuple[str | None, str | None]
) -> Sweep:
    """The sweep of `--sweep`. UsageError or StudyError, before anything is loaded: its values may
    be secrets, the arms are equal at all of them, or the study is wrong at one. `arms`: the values
    of `--control` and `--arm`."""
    sweep = read_sweep(text)
    if any(is_secret_setting(sweep.key, value) for value in sweep.values):
        raise UsageError(
            f'cannot sweep "{sweep.key}": its values may be passwords, keys or tokens',
            detail="They would stand in the record.",
        )
    _require_a_difference(study, sweep, changes, arms)
    _require_values(study, sweep, changes)
    return sweep


def _require_values(study: str, sweep: Sweep, changes: Sequence[str]) -> None:
    """StudyError: at a value the study is wrong, which is known before any is weighed. At all of
    them: then it is no matter of the value."""
    refusals = dict[str, UsageError]()
    for value in sweep.values:
        try:
            point = resolve_workload(read_study(study, sweep.overrides(changes, value)))
            resolve(point.workload, point.engine)
        except UsageError as refusal:
            refusals[value] = refusal
        except SteelyardError:  # what this machine lacks is said when the value is weighed
            continue
    if not refusals:
        return
    value, first = next(iter(refusals.items()))
    others = [other for other in sweep.values if other not in refusals]
    if not others:
        raise first
    option, rest = "--sweep" if len(others) > 1 else "--set", f"{sweep.key}={','.join(others)}"
    hints = [first.hint, f"Without what cannot be weighed: {option} {shlex.quote(rest)}"]
    raise StudyError(
        f"cannot sweep {sweep.key} = {value}: {first.primary}",
        detail=first.detail,
        hint=" ".join(filter(None, hints)),
    )


def _require_a_difference(
    name: str, sweep: Sweep, changes: Sequence[str], arms: tuple[str | None, str | None]
) -> None:
    """UsageError: the arms are equal at every value, so that no point has anything to weigh."""
    equal: UsageError | None = None
    for value in sweep.values:
        try:
            study = read_study(name, sweep.overrides(changes, value))
            require_unlike(study, *arms)
        except StudyError:  # `_require_values` says so
            continue
        except UsageError as refusal:
            equal = refusal
        else:
            return
    if equal is not None and sweep.key.startswith(_OF_ALL_ARMS):
        alone = shlex.quote(f"arm.{sweep.key}={','.join(sweep.values)}")
        raise UsageError(
            f"arm and control are equal at every value of {sweep.key}: it is that of both",
            hint=f"Sweep that of the arm, against the control's: --sweep {alone}",
        )
    if equal is not None:
        raise equal


def _require_effect(study: str, sweep: Sweep, changes: Sequence[str]) -> None:
    """StudyError: a change, or what is swept, counts at no value in the layout that is chosen."""
    refusals = dict[str, StudyError]()
    for value in sweep.values:
        overrides = sweep.overrides(changes, value)
        try:
            require_effect(resolve_workload(read_study(study, overrides)), overrides)
        except StudyError as refusal:
            refusals[refusal.primary] = refusal
        except SteelyardError:
            continue
        else:
            return
    if len(refusals) == 1:
        raise next(iter(refusals.values()))


_OF_ALL_ARMS = ("settings.", "version", "directory", "wal_directory")
"""Keys, or how they begin, that an override sets in the control and the arm alike."""


def _common_names(study: str, sweep: Sweep, changes: Sequence[str]) -> list[str]:
    """Names of arms that are named by what is swept: one for all points, so that each arm is one
    row. Of several arms it is the role, or the name that the study has for it."""
    points = [read_study(study, sweep.overrides(changes, value)) for value in sweep.values]
    if len({len(point.arms) for point in points}) > 1:
        return []
    alone = len(points[0].arms) == 1
    names: list[str] = []
    for number, arms in enumerate(zip(*(point.every_arm for point in points), strict=True)):
        if len({arm.name for arm in arms}) > 1:
            role = next((arm.role for arm in arms if arm.role), arms[0].name)
            if number == 0 or alone:
                role = place = "arm" if number else "control"
            else:
                place = f"arm.{role}"
            names.append(Change(f"{place}.name", role))
    return names


def resume_sweep(folder: Path, account: str | None, *, as_json: bool, agreed: bool = False) -> None:
    """Weigh the points that are missing, and print what came of all. `agreed`: to write at an
    address."""
    campaign = SWEEP.open(folder, account)
    plan = SweepPlan.of_json(campaign.plan(), str(campaign.plan_file))
    _require_agreed(plan, account, agreed=agreed)
    _go_on(plan, replace(campaign, agreed=agreed), as_json=as_json)


def _require_agreed(plan: SweepPlan, account: str | None, *, agreed: bool) -> None:
    """UsageError: a point would write at an address without a yes, or an account is named for a
    server that runs. One that is wrong is no reason: it says so when it is weighed."""
    sweep = Sweep(plan.key, plan.values)
    for value in plan.values:
        try:
            study = read_study(plan.study, sweep.overrides(plan.changes, value))
            study = resolve_workload(study) if study.is_external else study
        except SteelyardError:
            continue
        require_agreed(study, agreed=agreed)
        require_own_servers(study, account)


def _go_on(plan: SweepPlan, campaign: Campaign, *, as_json: bool) -> None:
    sweep, records = Sweep(plan.key, plan.values), point_records(plan.values)
    weighed: dict[str, Verdict | str] = {}
    question = ""

    def study_at(value: str) -> Study:
        nonlocal question
        study = resolve_workload(read_study(plan.study, sweep.overrides(plan.changes, value)))
        question = study.question
        return resolve_arms(without_backup(study), campaign.account)

    with campaign.resumable():
        for done, number in enumerate(plan.order, 1):
            value = plan.values[number]
            say(f"point {done} of {len(plan.order)}: {plan.key} = {value}")
            weighed[value] = campaign.try_to_weigh(
                partial(study_at, value), plan.seed + number, records[value]
            )
            if isinstance(weighed[value], str):
                say(f"{plan.key} = {value} could not be weighed: {weighed[value]}")
    if all(isinstance(outcome, str) for outcome in weighed.values()):
        first = next(iter(weighed.values()))
        raise SteelyardError(f"no point of the sweep could be weighed: {first}")
    if not any(isinstance(outcome, str) for outcome in weighed.values()):
        _drop_backup(plan)
    result = swept(plan, question, weighed, records.__getitem__)
    campaign.keep(SWEPT_FILE, result.to_json())
    write_sweep_page(result, campaign.folder)
    folder = str(campaign.folder)
    document = {"sweep": result.to_json(), "record": folder, "study": result.study}
    show(document, sweep_lines(result, folder, terminal_width()), as_json=as_json)


def _drop_backup(plan: SweepPlan) -> None:
    """The one that was taken for the sweep: each version has its data from it by now."""
    changes = Sweep(plan.key, plan.values).overrides(plan.changes, plan.values[0])
    source = read_study(plan.study, changes).source
    if source is not None:
        drop_backup(source)


def _study(
    name: str, sweep: Sweep, changes: Sequence[str], value: str, request: SweepRequest
) -> Study:
    study = read_study(name, sweep.overrides(changes, value))
    return with_data(study, name, version_named=_names_version(request))


def _names_version(request: SweepRequest) -> bool:
    """Whether the command says which version or build an arm is, or its values do."""
    return request.version_named or says_key(request.sweep, "version", "bindir")


def point_records(values: Sequence[str]) -> Mapping[str, str]:
    """Value → the folder of its point, within the sweep's: another one for each, since what stands
    in a folder is taken for its point."""
    records: dict[str, str] = {}
    for number, value in enumerate(values, 1):
        name = "".join(char if char.isalnum() or char in "._+-" else "_" for char in value) or "_"
        if name.startswith("."):  # such a folder is in no history, and ".." is another one
            name = f"0{name}" if name[1:2].isdigit() else f"_{name}"
        name = name[:_MOST_LETTERS]
        while f"{POINTS}/{name}" in records.values():
            name = f"{name}-{number}"
        records[value] = f"{POINTS}/{name}"
    return records


_MOST_LETTERS = 60
"""Of the name of a point's folder: of four bytes each, a file system takes 63 of them."""
