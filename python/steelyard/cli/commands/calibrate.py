"""`steelyard calibrate`: weighs known weights, and prints which differences can be detected."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.cli.options import weigh_parameters as parameter
from steelyard.cli.options.records_option import require_own_place
from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from steelyard.study.study import Study

STUDY = "calibrate"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(STUDY)(calibrate)


def calibrate(
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="PERCENT", help="Add this weight: 0.5% to 50%; default: 3%."),
    ] = None,
    budget: parameter.Budget = None,
    overrides: parameter.Overrides = None,
    file: parameter.Scripts = None,
    workload: parameter.Workload = None,
    yes: parameter.YesAtAddress = False,
    seed: parameter.Seed = None,
    record: parameter.RecordPlace = None,
    resume: parameter.Resume = None,
    account: parameter.AccountName = None,
    as_json: parameter.AsJson = False,
    new_ledger: Annotated[
        bool, typer.Option("--new-ledger", help="Begin a new A/A ledger, after a repair.")
    ] = False,
) -> None:
    """Weigh equal arms and known weights: readings beside truths, and what to trust them for."""
    from steelyard.cli.options.weigh_options import changes_of, repeating_command
    from steelyard.study.calibration import lay_out, parse_weight

    require_own_place(STUDY, resume, seed, record)
    shares = [parse_weight(text) for text in weight or ()]
    changes = changes_of(overrides, budget, workload, file)
    if resume is None:
        chosen = _study(changes, account, agreed=yes)
    else:
        chosen = _resumed_study(resume, account, changed=bool(changes or shares), agreed=yes)
        if new_ledger:
            raise UsageError("cannot begin a new ledger with a resumed weighing")

    from steelyard.cli.views.live_view import open_view
    from steelyard.cli.views.many_arms_view import render_calibration
    from steelyard.cli.views.text_layout import terminal_width
    from steelyard.cli.views.verdict_view import verdict_json
    from steelyard.cli.weighing.campaign import resumable_by
    from steelyard.record.ledger import LEDGER
    from steelyard.running.layout_choice import LAYOUTS, choose_layout
    from steelyard.running.preparing.recording import Question
    from steelyard.running.world import LocalLaboratory
    from steelyard.weigh import weigh

    drawn = secrets.randbelow(2**31) if seed is None else seed
    command = repeating_command(sys.argv[1:], drawn)
    with LocalLaboratory(account) as world:
        with open_view(sys.stderr) as view:
            if resume is None:
                scripts = world.data.open(chosen).scripts
                layout = LAYOUTS[choose_layout(chosen, scripts).name]
                cost, _ = layout.cost(chosen, scripts)
                laid = lay_out(chosen, shares, whole=cost != "foreground")
                chosen = laid.study
                for what, why in laid.left_out:
                    view.note(f"{what} left out: {why}")
            question = Question(
                chosen, drawn, record, resume, command, LEDGER, new_ledger, resumed_by=(STUDY,)
            )
            verdict = weigh(question, world, view)
        # Before the laboratory is cleaned up: what cannot be removed must not hide it.
        if as_json:
            typer.echo(verdict_json(verdict))
        else:
            typer.echo(render_calibration(verdict, chosen, terminal_width()))
        if verdict.interrupted:
            with resumable_by(STUDY, "--resume", verdict.record):
                raise KeyboardInterrupt


def _resumed_study(resume: Path, account: str | None, *, changed: bool, agreed: bool) -> Study:
    """That of the record. UsageError: options changed it, or it would write at an address."""
    from steelyard.cli.options.address_options import require_agreed, require_own_servers
    from steelyard.cli.options.study_resolution import resumed_study

    study = resumed_study(resume, changed=changed)
    require_agreed(study, agreed=agreed)
    require_own_servers(study, account)
    return study


def _study(changes: Sequence[str], account: str | None, *, agreed: bool = False) -> Study:
    """The study of a calibration. UsageError: it would write at an address, or a change has no
    effect."""
    from steelyard.cli.options.address_options import agreed_at_address, require_own_servers
    from steelyard.cli.options.study_resolution import resolve_profiles
    from steelyard.running.layout_choice import require_effect
    from steelyard.study.read import read_study
    from steelyard.workloads.loading.imported_data import resolve_source
    from steelyard.workloads.reading.resolved import resolve_workload

    study = resolve_source(read_study(STUDY, changes), version_named=True)
    study = resolve_profiles(resolve_workload(study), account)
    require_own_servers(study, account)
    require_effect(study, changes)
    return agreed_at_address(study, agreed=agreed)
