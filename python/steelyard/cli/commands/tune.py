"""`steelyard tune`: proposes settings from memory, processors, storage and the kind of work."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from steelyard.cli.options import tune_options as own
from steelyard.cli.options import weigh_parameters as parameter
from steelyard.cli.options.records_option import require_unchanged, write_output
from steelyard.cli.options.sizes import size_option
from steelyard.cli.options.tune_options import PRINTED, SIZED, SOUGHT, WEIGHED, TuneOptions
from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from steelyard.tuning.profile.advice import TuningProfile
    from steelyard.tuning.profile.proposing import ProfileRequest

STUDY, VERSION = "tuning", "18"
TRIALS = 16
"""Candidates of a search."""
_VERSION_OF_DATA = re.compile(r"[1-9][0-9](?:\.0)?|9\.[0-9]")
_OWN_CONFIGURATION = re.compile("# (ours|theirs|theirs-literal)(?: for [^:\n]+)?: ")
"""What a configuration begins with that was written by this command."""


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
    options = TuneOptions(
        directory, memory, processors, work, clients, data, disk, servers, profile, form,
        output, version, bindir, account, trials, durability, study, resume, overrides, budget,
        seed, record, as_json,
    )  # fmt: skip
    if ablate and search:
        raise UsageError("options --ablate and --search exclude each other")
    if ablate:
        _ablate(options)
    elif search or resume is not None:
        _search(options)
    else:
        _print(options)


def _ablate(options: TuneOptions) -> None:
    """Weigh the study, or go on with a weighing of it."""
    from steelyard.cli.commands.weigh import weigh
    from steelyard.cli.options.arm_options import ABLATION, ablation_changes

    if options.resume is not None:
        require_unchanged("a weighing", "tune --ablate", changed=options.changes_study)
        weigh(resume=options.resume, account=options.account, as_json=options.as_json)
        return
    options.refuse(
        (*PRINTED, *SIZED),
        "a proposal, not to --ablate",
        detail="Profiles of a weighing are made for this machine's processors, the study's data, "
        "and as many servers as stand at once.",
        hint="Keys of the study are changed by --set: --set workload.scale=64",
    )
    options.refuse(SOUGHT, "--search")
    size_option("--memory", options.memory)
    weigh(
        options.study or ABLATION,
        overrides=ablation_changes(options, _changes(options)),
        budget=options.budget,
        seed=options.seed,
        record=options.record,
        account=options.account,
        as_json=options.as_json,
    )


def _search(options: TuneOptions) -> None:
    """Begin a search, or go on with one."""
    from steelyard.cli.weighing.search import SearchRequest, search_settings
    from steelyard.study.change import Change

    if options.resume is not None:
        require_unchanged("a search", "tune", changed=options.changes_study)
    options.refuse(
        PRINTED,
        "a proposal, not to --search",
        detail="Candidates are made for as many servers as stand at once.",
    )
    build: list[str] = (
        [] if options.version is None else [Change("control.version", options.version)]
    )
    if options.bindir is not None:
        build.append(Change("control.bindir", str(options.bindir.resolve())))
    search_settings(
        SearchRequest(
            study=options.study or STUDY,
            overrides=[*build, *_changes(options)],
            budget=options.budget,
            trials=options.trials or TRIALS,
            durability=options.durability or (),
            profile=options.profile or "ours",
            work=options.work,
            memory_bytes=size_option("--memory", options.memory),
            processors=options.processors,
            data_bytes=size_option("--data", options.data),
            seed=options.seed,
            record=options.record,
            resume=options.resume,
            account=options.account,
            as_json=options.as_json,
        )
    )


def _changes(options: TuneOptions) -> list[str]:
    """Overrides of the study."""
    from steelyard.study.change import Change

    clients = [] if options.clients is None else [Change("workload.clients", options.clients)]
    return [*clients, *(options.overrides or ())]


def _print(options: TuneOptions) -> None:
    """Propose a profile, on standard output or into a file."""
    from steelyard.tuning.profile.proposing import ProfileRequest

    options.refuse(SOUGHT, "--search")
    options.refuse(WEIGHED, "--ablate or --search")
    if options.output is not None:
        _require_replaceable(options.output)
    wish = ProfileRequest(
        name=options.profile or "ours",
        kind=options.work or "oltp",
        clients=options.clients,
        cap_bytes=size_option("--memory", options.memory),
        servers=options.servers or 1,
        processors=options.processors,
        data_bytes=size_option("--data", options.data),
        disk_bytes=size_option("--disk", options.disk),
    )
    profile, name = _propose(wish, options)
    as_json, form = options.as_json, options.form or "text"
    text = json.dumps(profile.to_json()) + "\n" if as_json else _form(profile, form, name)
    if options.output is None:
        typer.echo(text, nl=False)
        return
    write_output(options.output, text)
    typer.echo(f"{len(profile.advice)} settings written to {options.output}", err=True)


def _require_replaceable(file: Path) -> None:
    """UsageError: what is to be written over is a server's configuration, which would be lost."""
    try:
        present = file.suffix == ".conf" and file.is_file()
        text = file.read_text(encoding="utf-8", errors="replace") if present else ""
    except OSError:
        return  # whether it can be written is said when that is tried
    if text.strip() and _OWN_CONFIGURATION.match(text) is None:
        raise UsageError(
            f'cannot write over "{file}": it is a configuration that `tune` did not write',
            hint="Name another file, and include it there: include = '/PATH/tuned.conf'",
        )


def _propose(wish: ProfileRequest, options: TuneOptions) -> tuple[TuningProfile, str]:
    """The profile, and the build that it is for: one of the version that the data in DIR are of.
    UsageError: another one was named."""
    from steelyard.engines.builds.same_builder import BuildRequest
    from steelyard.engines.cache import cache_root, open_cache
    from steelyard.tuning.profile.proposing import propose, read_allowed_settings

    directory, of_data = options.directory, _version_of_data(options.directory)
    request = BuildRequest(options.version or of_data or VERSION, options.bindir)
    accepting = read_allowed_settings("postgres", request, options.account)
    if of_data and accepting.identity.version_number // 10000 != int(float(of_data)):
        raise UsageError(
            f'"{directory}" holds data of PostgreSQL {of_data}, and settings of '
            f"{accepting.identity.version} may keep its server from starting",
            hint="Name a build of that version, or, for one after an upgrade, the directory above, "
            "which is on the same device as a rule.",
        )
    another = wish.cap_bytes is not None or wish.processors is not None  # machine, perhaps
    location = directory or (None if another else open_cache().root)
    profile = propose(wish, accepting, location, cache_root())
    return profile, f"PostgreSQL {accepting.identity.version}"


def _version_of_data(directory: Path | None) -> str:
    """What a data directory of PostgreSQL says that it is of; empty: it is none, or says nothing
    that can be read."""
    from steelyard.model.files.small_file import MOST_OF_LOCK, read_small

    try:
        file = None if directory is None else directory / "PG_VERSION"
        text = "" if file is None else read_small(file, MOST_OF_LOCK).strip()
    except (OSError, ValueError):
        return ""
    return text if _VERSION_OF_DATA.fullmatch(text) else ""


def _form(profile: TuningProfile, form: own.Form, build: str) -> str:
    from steelyard.cli.views.storage_view import profile_lines
    from steelyard.cli.views.text_layout import terminal_width
    from steelyard.tuning.profile.advice import as_arm, as_configuration, as_sql

    if form == "text":
        return "\n".join(profile_lines(profile, build, terminal_width())) + "\n"
    if form == "arm":
        return as_arm(profile)
    return (as_configuration if form == "conf" else as_sql)(profile, build)
