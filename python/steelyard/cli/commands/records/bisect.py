"""`steelyard history bisect`: finds in which version, commit or value an answer changed."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.options import weigh_parameters as parameter
from steelyard.cli.options.records_option import require_own_place, require_unchanged


def bisect(
    study: Annotated[
        str | None, typer.Argument(help="A study of one arm: versions, builds, settings, a file.")
    ] = None,
    along: Annotated[
        str | None,
        typer.Option(
            metavar="KEY=V,V,...",
            help="Values of an arm's key in their order: version=16.14,17.0,18.4",
        ),
    ] = None,
    commits: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Commits, oldest first: git log --reverse --format=%H FROM..TO"
        ),
    ] = None,
    build: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", help="Builds $COMMIT into $PREFIX, for which it needs bin/postgres."
        ),
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
) -> None:
    """Weigh the ends of a row, then what lies in the middle beside both, until one step is left."""
    from steelyard.cli.options.weigh_options import changes_of, repeating_command
    from steelyard.cli.weighing.bisect import BisectRequest, begin_bisect, resume_bisect

    require_own_place("history bisect", resume, seed, record)
    changes = changes_of(overrides, budget, workload, file)
    if resume is not None:
        changed = bool(study or changes or along or commits or build)
        require_unchanged("a search", "history bisect", changed=changed)
        resume_bisect(resume, account, as_json=as_json, agreed=yes)
        return
    drawn = secrets.randbelow(2**31) if seed is None else seed
    command = repeating_command(sys.argv[1:], drawn)
    begin_bisect(
        BisectRequest(
            study=study,
            along=along,
            commits=commits,
            build=build,
            changes=changes,
            seed=drawn,
            record=record,
            account=account,
            command=command,
            as_json=as_json,
            agreed=yes,
        )
    )
