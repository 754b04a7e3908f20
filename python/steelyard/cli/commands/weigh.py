"""`steelyard weigh`: weighs the arms of a study against each other and prints the verdict."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from steelyard.cli.options import weigh_parameters as parameter
from steelyard.cli.options.records_option import (
    require_own_place,
    require_unchanged,
    require_writable,
    write_output,
)
from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from steelyard.evaluation.rule import FailCondition
    from steelyard.record.verdict import Verdict
    from steelyard.study.study import Study

FAILED = 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("weigh")(weigh)


def weigh(
    study: parameter.StudyName = None,
    control: parameter.ControlIs = None,
    arm: parameter.ArmIs = None,
    budget: parameter.Budget = None,
    overrides: parameter.Overrides = None,
    metric: parameter.Metric = None,
    file: parameter.Scripts = None,
    workload: parameter.Workload = None,
    source: parameter.From = None,
    address: parameter.Address = None,
    database: parameter.Database = None,
    config: parameter.Config = None,
    yes: parameter.Yes = False,
    sweep: parameter.SweepOf = None,
    pace: parameter.Pace = None,
    machines: parameter.Machines = None,
    ray: parameter.Ray = None,
    seed: parameter.Seed = None,
    record: parameter.RecordPlace = None,
    resume: parameter.Resume = None,
    account: parameter.AccountName = None,
    as_json: parameter.AsJson = False,
    fail_if: parameter.FailIf = None,
    summary: parameter.Summary = None,
    junit: parameter.JUnit = None,
    first_verdict: parameter.FirstVerdict = False,
    open_ended: parameter.OpenEnded = False,
) -> None:
    """Weigh the arms of a study against each other: a verdict, its interval, cause and doubts."""
    from steelyard.cli.options.address_options import address_password, with_addresses
    from steelyard.cli.options.arm_options import arm_changes
    from steelyard.cli.options.source_options import SourceOptions
    from steelyard.cli.options.weigh_options import (
        changes_of,
        ending_changes,
        one_query_changes,
        repeating_command,
    )
    from steelyard.cli.weighing.together import machine_changes

    require_own_place("weigh", resume, seed, record)
    _require_places(record if resume is None and sweep is None else None, summary, junit)
    conditions = _conditions(fail_if)  # a wrong one is refused before data are copied
    changes = arm_changes(study, control, arm, account)  # beneath --set
    changes += changes_of(overrides, budget, workload, file, pace, metric)
    password = address_password(address, control, arm)
    changes = with_addresses(changes, address, control, arm, study)
    if password is not None:
        password.export()
    changes += one_query_changes(study, changes, file)
    data = SourceOptions(source, database, config, yes, account)
    driven = data.driven(changes, study)
    if study is not None and resume is None:  # which names no study, and says so
        _require_weighable(study, sweep, (changes, driven), source, (control, arm))
    changes = driven if resume is not None else data.located(driven)
    changes += [*ending_changes(first_verdict, open_ended), *machine_changes(machines)]
    drawn = secrets.randbelow(2**31) if seed is None else seed
    command = repeating_command(sys.argv[1:], drawn)
    if sweep is not None or _is_sweep(resume):
        request = (study, sweep, changes, (control, arm), drawn, record, resume, account, command)
        refused = bool(fail_if or summary or junit or machines or ray)
        _sweep(*request, as_json=as_json, agreed=yes, refused=refused)
        return
    from steelyard.cli.options.study_resolution import StudyRequest, resolve_study

    chosen = resolve_study(StudyRequest(study, changes, control, arm, resume, account, agreed=yes))
    publish = partial(_publish, conditions, summary, junit, as_json=as_json)
    verdict = _weighed(chosen, drawn, record, resume, command, account, ray, publish)
    _end(verdict, conditions)


def _require_weighable(
    study: str,
    sweep: str | None,
    changes: tuple[Sequence[str], Sequence[str]],
    source: str | None,
    arms: tuple[str | None, str | None],
) -> None:
    """UsageError: the arms are equal, or a value of a sweep is wrong; said before data are copied.
    Above the settings that a built-in study has for all arms stand those of the data's server,
    which are not known yet. `changes`: without, and with what is driven on data."""
    from steelyard.cli.options.arm_options import require_unlike
    from steelyard.study.change import Change
    from steelyard.study.read import read_study

    usual = [] if source is None else [Change("settings", {})]
    plain, driven = changes
    if sweep is None:
        require_unlike(read_study(study, [*usual, *plain]), *arms)
    elif source is not None:  # else a sweep says so itself
        from steelyard.cli.weighing.sweep import require_weighable

        require_weighable(study, sweep, [*usual, *driven, Change("source.place", "/")], arms)


def _require_places(record: Path | None, *files: Path | None) -> None:
    """RecordError, UsageError: something stands where a new record is to be, or a file cannot be
    written; said before data are copied."""
    from steelyard.record.record import require_unused

    for file in files:
        require_writable(file)
    places = [file.absolute() for file in files if file is not None]
    if len(set(places)) < len(places):
        raise UsageError(
            f'--summary and --junit name one file: "{files[0]}"', hint="Give each its own."
        )
    if record is not None:
        require_unused(record)


def _is_sweep(resume: Path | None) -> bool:
    return resume is not None and (resume / "sweep.json").is_file()


def _sweep(
    study: str | None,
    sweep: str | None,
    changes: list[str],
    arms: tuple[str | None, str | None],
    seed: int,
    record: Path | None,
    resume: Path | None,
    account: str | None,
    command: tuple[str, ...],
    *,
    as_json: bool,
    agreed: bool,
    refused: bool,
) -> None:
    from steelyard.cli.options.study_resolution import names_version
    from steelyard.cli.weighing.sweep import SweepRequest, begin_sweep, resume_sweep

    if refused:
        raise UsageError(
            "options --fail-if, --summary, --junit, --machines and --ray belong to a single "
            "weighing"
        )
    if resume is not None:
        changed = bool(study or changes or sweep)
        require_unchanged("a sweep", "weigh", changed=changed)
        resume_sweep(resume, account, as_json=as_json, agreed=agreed)
        return
    assert sweep is not None  # the caller asks where there is one
    has_version = names_version(changes)
    request = SweepRequest(
        study, sweep, changes, has_version, seed, record, account, command, as_json, agreed, arms
    )
    begin_sweep(request)


def _conditions(fail_if: Sequence[str] | None) -> list[FailCondition]:
    if not fail_if:
        return []
    from steelyard.evaluation.rule import FailCondition

    return [FailCondition.parse(text) for text in fail_if]


def _weighed(
    study: Study,
    seed: int,
    record: Path | None,
    resume: Path | None,
    command: tuple[str, ...],
    account: str | None,
    ray: str | None,
    publish: Callable[[Verdict], None],
) -> Verdict:
    """The verdict, published before the laboratory is cleaned up: what cannot be removed, or load
    machines that cannot be given back, must not hide it."""
    from steelyard.cli.views.live_view import open_view
    from steelyard.cli.weighing.together import load_machines
    from steelyard.record.ledger import LEDGER
    from steelyard.running.preparing.recording import Question
    from steelyard.running.world import LocalLaboratory
    from steelyard.weigh import weigh as weigh_question

    question = Question(study, seed, record, resume, command, LEDGER, resumed_by=("weigh",))
    with load_machines(study, ray) as drivers, LocalLaboratory(account, drivers) as world:
        with open_view(sys.stderr) as view:
            verdict = weigh_question(question, world, view)
        publish(verdict)
    return verdict


def _publish(
    conditions: Sequence[FailCondition],
    summary: Path | None,
    xml: Path | None,
    verdict: Verdict,
    *,
    as_json: bool,
) -> None:
    """Print it, and write the files that continuous integration asked for; end here where it was
    interrupted."""
    _show(verdict, conditions, as_json=as_json)
    _write_for_ci(verdict, conditions, summary, xml)
    if verdict.interrupted:
        _end(verdict, ())


def _show(verdict: Verdict, conditions: Sequence[FailCondition], *, as_json: bool) -> None:
    from steelyard.cli.views.many_arms_view import render_factors
    from steelyard.cli.views.text_layout import hanging, sentence_width, terminal_width
    from steelyard.cli.views.verdict_view import render_verdict, verdict_json
    from steelyard.report.answer.first_page import gate_lines

    if as_json:
        typer.echo(verdict_json(verdict))
    elif verdict.factors is not None:
        typer.echo(render_factors(verdict, verdict.factors, terminal_width()))
    else:
        typer.echo(render_verdict(verdict, terminal_width()))
    if not as_json:
        for gate in gate_lines(conditions, verdict.every_contrast):
            typer.echo("\n".join(hanging(gate, sentence_width())))


def _end(verdict: Verdict, conditions: Sequence[FailCondition]) -> None:
    """As the exit status has it."""
    from steelyard.cli.weighing.campaign import resumable_by

    if verdict.interrupted:
        with resumable_by("weigh", "--resume", verdict.record):
            raise KeyboardInterrupt
    if any(condition.holds(verdict.every_contrast) for condition in conditions):
        raise typer.Exit(FAILED)


def _write_for_ci(
    verdict: Verdict, conditions: Sequence[FailCondition], summary: Path | None, xml: Path | None
) -> None:
    """The files that continuous integration asked for; those that are not None."""
    from steelyard.cli.views.ci import junit, markdown

    if summary is not None:
        write_output(summary, markdown(verdict, conditions))
    if xml is not None:
        write_output(xml, junit(verdict, conditions))
