"""`steelyard tune`: proposes settings from memory, processors, storage and the kind of work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from steelyard.cli.options import tune_parameters as own
from steelyard.cli.options import weigh_parameters as parameter
from steelyard.cli.options.records_option import require_unchanged
from steelyard.cli.options.sizes import size_option
from steelyard.cli.options.tune_options import PRINTED, SIZED, SOUGHT, WEIGHED, TuneOptions
from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from steelyard.tuning.profile.advice import TuningProfile
    from steelyard.tuning.profile.proposing import ProfileRequest

STUDY, VERSION = "tuning", "18"
TRIALS = 16
"""Candidates of a search."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("tune")(tune)


def tune(
    directory: own.Place = None,
    memory: own.Memory = None,
    processors: own.Processors = None,
    work: own.Kind = None,
    clients: own.Clients = None,
    data: own.Data = None,
    disk: own.Disk = None,
    servers: own.Servers = None,
    profile: own.Name = None,
    form: own.Forms = None,
    output: own.Output = None,
    version: own.Version = None,
    bindir: own.Bindir = None,
    account: own.AsUser = None,
    ablate: own.Ablate = False,
    search: own.Search = False,
    trials: own.Trials = None,
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
    given = TuneOptions(
        directory, memory, processors, work, clients, data, disk, servers, profile, form,
        output, version, bindir, account, trials, durability, study, resume, overrides, budget,
        seed, record, as_json,
    )  # fmt: skip
    if ablate and search:
        raise UsageError("options --ablate and --search exclude each other")
    if ablate:
        _ablate(given)
    elif search or resume is not None:
        _search(given)
    else:
        _print(given)


def _ablate(given: TuneOptions) -> None:
    """Weigh the study, or go on with a weighing of it."""
    from steelyard.cli.commands.weigh import weigh
    from steelyard.cli.options.ablation import ABLATION, AblationOptions

    if given.resume is not None:
        require_unchanged("a weighing", "tune --ablate", changed=given.changes_study)
        weigh(resume=given.resume, account=given.account, as_json=given.as_json)
        return
    given.refuse(
        (*PRINTED, *SIZED),
        "a proposal, not to --ablate",
        detail="Profiles of a weighing are made for this machine's processors, the study's data, "
        "and as many servers as stand at once.",
        hint="Keys of the study are changed by --set: --set workload.scale=64",
    )
    given.refuse(SOUGHT, "--search")
    size_option("--memory", given.memory)
    options = AblationOptions(
        given.study, given.profile, given.work, given.memory, given.version, given.bindir
    )
    weigh(
        given.study or ABLATION,
        overrides=options.changes(_changes(given)),
        budget=given.budget,
        seed=given.seed,
        record=given.record,
        account=given.account,
        as_json=given.as_json,
    )


def _search(given: TuneOptions) -> None:
    """Begin a search, or go on with one."""
    from steelyard.cli.weighing.search import SearchRequest, search_settings
    from steelyard.study.change import Change

    if given.resume is not None:
        require_unchanged("a search", "tune", changed=given.changes_study)
    given.refuse(
        PRINTED,
        "a proposal, not to --search",
        detail="Candidates are made for as many servers as stand at once.",
    )
    build: list[str] = [] if given.version is None else [Change("control.version", given.version)]
    if given.bindir is not None:
        build.append(Change("control.bindir", str(given.bindir.resolve())))
    search_settings(
        SearchRequest(
            study=given.study or STUDY,
            overrides=[*build, *_changes(given)],
            budget=given.budget,
            trials=given.trials or TRIALS,
            durability=given.durability or (),
            profile=given.profile or "ours",
            work=given.work,
            memory_bytes=size_option("--memory", given.memory),
            processors=given.processors,
            data_bytes=size_option("--data", given.data),
            seed=given.seed,
            record=given.record,
            resume=given.resume,
            account=given.account,
            as_json=given.as_json,
        )
    )


def _changes(given: TuneOptions) -> list[str]:
    """Overrides of the study."""
    from steelyard.study.change import Change

    clients = [] if given.clients is None else [Change("workload.clients", given.clients)]
    return [*clients, *(given.overrides or ())]


def _print(given: TuneOptions) -> None:
    """Propose a profile, on standard output or into a file."""
    from steelyard.model.files.own_directory import write_named
    from steelyard.tuning.profile.proposing import ProfileRequest

    given.refuse(SOUGHT, "--search")
    given.refuse(WEIGHED, "--ablate or --search")
    wish = ProfileRequest(
        name=given.profile or "ours",
        kind=given.work or "oltp",
        clients=given.clients,
        cap_bytes=size_option("--memory", given.memory),
        servers=given.servers or 1,
        processors=given.processors,
        data_bytes=size_option("--data", given.data),
        disk_bytes=size_option("--disk", given.disk),
    )
    build = (given.version or VERSION, given.bindir, given.account)
    made, name = _propose(wish, given.directory, *build)
    as_json, form = given.as_json, given.form or "text"
    text = json.dumps(made.to_json()) + "\n" if as_json else _form(made, form, name)
    if given.output is None:
        typer.echo(text, nl=False)
        return
    write_named(given.output, text)
    typer.echo(f"{len(made.advice)} settings written to {given.output}", err=True)


def _propose(
    wish: ProfileRequest,
    directory: Path | None,
    version: str,
    bindir: Path | None,
    account: str | None,
) -> tuple[TuningProfile, str]:
    """The profile, and the build that it is for."""
    from steelyard.engines.builds.same_builder import BuildRequest
    from steelyard.engines.cache import cache_root, open_cache
    from steelyard.tuning.profile.allowed_settings import read_allowed_settings
    from steelyard.tuning.profile.proposing import propose

    accepting = read_allowed_settings("postgres", BuildRequest(version, bindir), account)
    another = wish.cap_bytes is not None or wish.processors is not None  # machine, perhaps
    place = directory or (None if another else open_cache().root)
    made = propose(wish, accepting, place, cache_root())
    return made, f"PostgreSQL {accepting.identity.version}"


def _form(made: TuningProfile, form: own.Form, build: str) -> str:
    from steelyard.cli.views.machine.profile_view import profile_lines
    from steelyard.cli.views.text_layout import terminal_width
    from steelyard.tuning.profile.advice import as_arm, as_configuration, as_sql

    if form == "text":
        return "\n".join(profile_lines(made, build, terminal_width())) + "\n"
    return {"conf": as_configuration, "sql": as_sql, "arm": as_arm}[form](made)
