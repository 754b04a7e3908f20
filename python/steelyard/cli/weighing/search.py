"""Runs `steelyard tune --search`: weighs candidates in rounds, and confirms the winner.

Formats the result of a search for settings: its attempts, the winner, the fresh weighing.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from steelyard.cli.command_line import say
from steelyard.cli.options.weigh_options import changes_of
from steelyard.cli.views.text_layout import terminal_width, wrapped
from steelyard.cli.views.verdict_view import render_verdict
from steelyard.cli.weighing.kept import going_on, weigh_into
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.cache import cache_root, open_cache
from steelyard.model.errors import UsageError, WeighingError
from steelyard.model.files.own_directory import write_whole
from steelyard.model.readings import ProfileName, WorkKind
from steelyard.model.units import format_bytes, format_percent, percent_of_log
from steelyard.record.reader import VERDICT, read_verdict
from steelyard.record.record import Record, stamp
from steelyard.record.verdict import Verdict
from steelyard.report.contrast_text import ends_of, reading_text
from steelyard.running.layouts.choice import LAYOUTS, layout_beforehand
from steelyard.study.read import read_study
from steelyard.study.study import LayoutName, Study
from steelyard.tuning.profile.advice import TuningProfile
from steelyard.tuning.profile.allowed_settings import Accepting, read_allowed_settings
from steelyard.tuning.profile.arms import work_of
from steelyard.tuning.profile.basis import memory_here
from steelyard.tuning.profile.proposing import ProfileRequest, propose
from steelyard.tuning.search.race import BATCH, Field, search
from steelyard.tuning.search.sampling import require_optuna
from steelyard.tuning.search.search_plan import SearchPlan, keep_plan, read_plan
from steelyard.tuning.search.space import Room, ranges
from steelyard.tuning.search.trial import BestCandidate, Trial
from steelyard.workloads.reading.resolved import data_bytes, resolve_workload


def search_lines(found: BestCandidate, width: int) -> list[str]:
    """Attempts are counted; only the confirmation has an interval."""
    lines = [f"{len(found.trials)} candidates in {found.weighings} weighings", ""]
    lines += [_row(one) for one in found.trials]
    lines.append("")
    if found.winner is None or found.confirmed is None:
        failed = all(one.failed for one in found.trials)
        why = "every candidate failed" if failed else "no candidate was better than the control"
        lines += wrapped(f"{why} in the search: nothing to confirm", width, "")
        return [*lines, "", f"record  {found.record}"]
    lines += [*render_verdict(found.confirmed, width).splitlines(), ""]
    lines += wrapped(_shrinkage(found.winner, found), width, "")
    lines += [f"{name} = {value}" for name, value in found.winner.settings.items()]
    return [*lines, "", f"search  {found.record}"]


def _row(one: Trial) -> str:
    ratio = one.log_ratio
    shown = "-" if ratio is None else format_percent(percent_of_log(ratio), 1)
    return f"{one.name:<10}{shown:>10}  {len(one.log_ratios)} epochs  {one.outcome}"


def _shrinkage(winner: Trial, found: BestCandidate) -> str:
    assert found.confirmed is not None
    [line] = [one for one in found.confirmed.contrasts if one.arm == winner.name]
    confirmed = "nothing" if line.estimate_percent is None else reading_text(line)
    sought = format_percent(percent_of_log(winner.log_ratio or 0.0), 1)
    low, high = ends_of(line)
    gained = (low or 0) > 0 if line.higher_is_better else (high or 0) < 0
    unproved = "" if gained else "It does not show a gain. "
    return (
        f"{winner.name} read {sought} in the search, the best of {len(found.trials)}: luck "
        f"flatters such a figure. The fresh weighing read {confirmed}; that one counts. "
        f"{unproved}Its settings:"
    )


@dataclass(frozen=True)
class SearchRequest:
    """What was asked for on the command line."""

    study: str
    overrides: Sequence[str]
    budget: str | None
    trials: int
    durability: Sequence[str]
    profile: ProfileName
    work: WorkKind | None
    """None: as the study's workload is."""
    memory_bytes: int | None
    """That no candidate may exceed; None: all that a server of the study has."""
    processors: int | None
    data_bytes: int | None
    """None: as the study's workload says."""
    seed: int | None
    record: Path | None
    resume: Path | None
    account: str | None
    as_json: bool


def search_settings(request: SearchRequest) -> None:
    """Begin or resume a search, and print its result."""
    require_optuna()
    folder = request.resume or request.record or _folder()
    if request.resume is None:
        study = _searched(request)
        accepting = _asked(study, request.account)
        plan, study = _begun(request, study, accepting, folder)
    else:
        plan, study = read_plan(folder)
        accepting = _asked(study, request.account)
    field = Field(
        study=study,
        space=ranges(plan.basis, accepting.allowed, plan.durability),
        basis=plan.basis,
        allowed=accepting.allowed,
        first=plan.first,
    )

    def weigh_one(question: Study, seed: int, place: Path) -> Verdict:
        try:
            return weigh_into(question, seed, place, request.account)
        except WeighingError:
            # Where too many epochs were lost, the verdict says by which arm.
            lost = read_verdict(Record.open(place)) if (place / VERDICT).is_file() else None
            if lost is None or lost.interrupted:
                raise
            return lost

    with going_on("tune", "--resume", str(folder)):
        found = search(field, plan.trials, plan.seed, folder, weigh_one, say)
    write_whole(folder / "found.json", json.dumps(found.to_json()))
    if request.as_json:
        typer.echo(json.dumps(found.to_json()))
    else:
        typer.echo("\n".join(search_lines(found, terminal_width())))


def _searched(request: SearchRequest) -> Study:
    changes = changes_of(request.overrides, request.budget, None, None)
    study = resolve_workload(read_study(request.study, changes))
    if study.control.profile is not None:
        raise UsageError(
            f'cannot search against a profile: control "{study.control.name}" of study '
            f'"{study.name}" has one',
            hint="Name a study whose control has settings: --study tuning. The first candidate is "
            "the profile.",
        )
    return study.model_copy(update={"arms": study.arms[:1], "factors": None, "fraction": None})


def _asked(study: Study, account: str | None) -> Accepting:
    return read_allowed_settings(
        study.engine, BuildRequest(study.control.version, study.control.bindir), account
    )


def _begun(
    request: SearchRequest, study: Study, accepting: Accepting, folder: Path
) -> tuple[SearchPlan, Study]:
    first, layout = _proposed(request, study, accepting)
    ranges(first.basis, accepting.allowed, request.durability)  # refuses names before any work
    room = Room(first.basis, accepting.allowed, study.settings_of(study.control))
    for settings in (first.for_arm(), {}):  # and what leaves no memory, as every other candidate
        room.fit(settings)
    held = f"{format_bytes(first.basis.memory_bytes)} of memory ({first.basis.memory_from})"
    say(f"candidates take at most {held}, as {first.basis.kind}")
    plan = SearchPlan(
        seed=secrets.randbelow(2**31) if request.seed is None else request.seed,
        trials=request.trials,
        durability=tuple(request.durability),
        basis=first.basis,
        first=first.for_arm(),
    )
    bare = study.arms[0].model_copy(update={"profile": None})
    study = study.model_copy(update={"arms": (bare,), "layout": layout})
    keep_plan(folder, plan, study)
    return plan, study


def _proposed(
    request: SearchRequest, study: Study, accepting: Accepting
) -> tuple[TuningProfile, LayoutName]:
    """The first candidate, and the layout of all weighings: with `auto` that of its settings, since
    candidates were made for so many servers at once, whatever they differ in."""
    wish = ProfileRequest(
        name=request.profile,
        kind=request.work or work_of(study),
        clients=study.workload.clients,
        processors=request.processors,
        data_bytes=request.data_bytes or data_bytes(study),
    )

    def made(servers: int) -> TuningProfile:
        cap, asked = study.memory, request.memory_bytes
        if asked is not None and asked < memory_here(cap, servers)[0]:
            cap = asked
        own = replace(wish, servers=servers, cap_bytes=cap)
        return propose(own, accepting, open_cache().root, cache_root())

    def chosen(profile: TuningProfile) -> LayoutName:
        settings = {"settings": profile.for_arm(), "profile": None}
        batch = [
            study.arms[0].model_copy(update={**settings, "name": str(n)}) for n in range(BATCH)
        ]
        return layout_beforehand(study.model_copy(update={"arms": tuple(batch)}))

    first = made(BATCH + 1)
    layout = chosen(first)
    if LAYOUTS[layout].servers_at_once(study) == 1:
        first = made(1)
    return first, layout


def _folder() -> Path:
    return Path("records") / "search" / stamp()
