"""`steelyard reproduce`: lists published studies, or repeats one and writes its page."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from steelyard.cli.options import weigh_parameters as parameter
from steelyard.cli.options.records_option import require_own_place, require_unchanged

SEED = 17


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    name: Annotated[
        str | None, typer.Argument(help="A published study; without one they are listed.")
    ] = None,
    only: Annotated[str | None, typer.Option(metavar="STEP", help="Weigh only this step.")] = None,
    longer: Annotated[
        bool, typer.Option("--longer", help="Weigh the steps of more than half an hour as well.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="At the scale of the published study.")
    ] = False,
    overrides: parameter.Overrides = None,
    seed: parameter.Seed = SEED,
    record: parameter.RecordPlace = None,
    resume: parameter.Resume = None,
    account: parameter.AccountName = None,
    as_json: parameter.AsJson = False,
) -> None:
    """List published studies, or repeat one: its weighings, and a page that sets both side by
    side."""
    if name is None and resume is None:
        _list(as_json=as_json)
        return
    from steelyard.cli.weighing.reproduce import (
        ReproduceRequest,
        begin_reproduction,
        resume_reproduction,
    )

    if resume is not None:
        require_own_place("reproduce", resume, None if seed == SEED else seed, record)
        changed = bool(name or only or longer or full or overrides)
        require_unchanged("a repetition", "reproduce", changed=changed)
        resume_reproduction(resume, account, as_json=as_json)
        return
    assert name is not None  # it is listed where there is none
    begin_reproduction(
        ReproduceRequest(
            name=name,
            only=only,
            longer=longer,
            full=full,
            changes=overrides or (),
            seed=SEED if seed is None else seed,
            record=record,
            account=account,
            as_json=as_json,
        )
    )


def _list(*, as_json: bool) -> None:
    from steelyard.reproductions.reproduction import claim_names, names, read_reproduction

    studies = [read_reproduction(name) for name in names()]
    claims = [read_reproduction(name) for name in claim_names()]
    if as_json:
        study_facts = [
            {
                "name": study.name,
                "title": study.title,
                "question": study.question,
                "minutes": study.minutes,
                "steps": [step.name for step in study.steps],
                "longer": [step.name for step in study.steps if step.longer],
            }
            for study in studies
        ]
        listed = [
            {
                "name": claim.name,
                "title": claim.title,
                "claimed": claim.claimed,
                "minutes": sum(step.minutes for step in claim.steps),
                "steps": [step.name for step in claim.steps],
            }
            for claim in claims
        ]
        typer.echo(json.dumps({"studies": study_facts, "claims": listed}))
        return
    wide = max(len(study.name) for study in (*studies, *claims))
    for study in studies:
        typer.echo(f"{study.name:<{wide}}  {study.minutes:>3} min  {study.title}")
    typer.echo("\nclaims that are cited:")
    for claim in claims:
        minutes = sum(step.minutes for step in claim.steps)
        length = f"{minutes:>3} min" if minutes else "not here"
        typer.echo(f"{claim.name:<{wide}}  {length:<8} {claim.title}")
