"""`steelyard tune`: proposes settings from memory, processors, storage and the kind of work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from steelyard.cli.options import tune_parameters as own
from steelyard.cli.options import weigh_parameters as parameter
from steelyard.cli.options.sizes import size_option
from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from steelyard.tuning.profile.advice import Profile
    from steelyard.tuning.profile.proposing import Wish

ABLATION, STUDY = "tuning-ablation", "tuning"
CLIENTS = 100
"""A server's own default of max_connections."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("tune")(tune)


def tune(
    directory: own.Place = None,
    memory: own.Memory = None,
    processors: own.Processors = None,
    work: own.Kind = "oltp",
    clients: own.Clients = None,
    data: own.Data = None,
    servers: own.Servers = 1,
    profile: own.Name = "ours",
    form: own.Forms = "text",
    output: own.Output = None,
    version: own.Version = "18",
    bindir: own.Bindir = None,
    account: own.AsUser = None,
    ablate: own.Ablate = False,
    search: own.Search = False,
    trials: own.Trials = 16,
    durability: own.Durability = None,
    study: own.StudyName = None,
    resume: own.Resume = None,
    overrides: parameter.Overrides = None,
    budget: parameter.Budget = None,
    seed: parameter.Seed = None,
    record: parameter.RecordPlace = None,
    as_json: parameter.AsJson = False,
) -> None:
    """Propose settings: each with its reason and source, and where sources disagree.

    It prints and changes nothing. What the build accepts is asked of a server made for that. With
    --ablate it weighs study tuning-ablation, with --search candidates against a study's control.
    """
    from steelyard.tuning.profile.proposing import Wish

    changes = [*([] if clients is None else [f"workload.clients={clients}"]), *(overrides or ())]
    cap, size = size_option(memory), size_option(data)
    wish = Wish(profile, work, clients or CLIENTS, cap, servers, processors, size)
    if ablate:
        from steelyard.cli.commands.weigh import weigh

        weigh(
            study or ABLATION,
            overrides=changes,
            budget=budget,
            seed=seed,
            record=record,
            account=account,
            as_json=as_json,
        )
    elif search or resume is not None:
        from steelyard.cli.weighing.search import SearchRequest, search_settings

        question = (study or STUDY, changes, budget, trials, durability or (), wish, seed)
        search_settings(SearchRequest(*question, record, resume, account, as_json))
    elif overrides or budget or seed is not None or record or study or durability:
        raise UsageError(
            "options --study, --set, --budget, --seed, --record and --durability belong to "
            "--ablate or --search"
        )
    else:
        made, build = _propose(wish, directory, version, bindir, account)
        text = json.dumps(made.to_json()) + "\n" if as_json else _form(made, form, build)
        if output is None:
            typer.echo(text, nl=False)
            return
        output.write_text(text, encoding="utf-8")
        typer.echo(f"{len(made.advice)} settings written to {output}", err=True)


def _propose(
    wish: Wish, directory: Path | None, version: str, bindir: Path | None, account: str | None
) -> tuple[Profile, str]:
    """The profile, and the build that it is for."""
    from steelyard.engines.adapters import Wanted
    from steelyard.engines.cache import cache_root, open_cache
    from steelyard.tuning.profile.asking import ask_build
    from steelyard.tuning.profile.proposing import propose

    accepting = ask_build("postgres", Wanted(version, bindir), account)
    made = propose(wish, accepting, directory or open_cache().root, cache_root())
    return made, f"PostgreSQL {accepting.identity.version}"


def _form(made: Profile, form: own.Form, build: str) -> str:
    from steelyard.cli.views.machine.profile_view import profile_lines
    from steelyard.cli.views.text_layout import terminal_width
    from steelyard.tuning.profile.forms import as_arm, as_configuration, as_sql

    if form == "text":
        return "\n".join(profile_lines(made, build, terminal_width())) + "\n"
    return {"conf": as_configuration, "sql": as_sql, "arm": as_arm}[form](made)
