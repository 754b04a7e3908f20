"""Runs `steelyard tune --search`: weighs candidates in rounds, and confirms the winner.

Formats the result of a search for settings: its attempts, the winner, the fresh weighing.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.cli.command_line import say
from steelyard.cli.options.weigh_options import changes_of
from steelyard.cli.views.text_layout import terminal_width, wrapped
from steelyard.cli.views.verdict_view import render_verdict
from steelyard.cli.weighing.campaign import (
    Campaign,
    CampaignKind,
    show,
    verdict_in,
    was_given_up,
    weigh_into,
)
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.cache import cache_root, open_cache
from steelyard.model.errors import UsageError, WeighingError
from steelyard.model.files.own_directory import write_whole
from steelyard.model.latency_goal import metric_words
from steelyard.model.readings import ProfileName, WorkKind
from steelyard.model.units import counted, format_bytes, format_percent
from steelyard.record.verdict import Verdict
from steelyard.running.layout_choice import LAYOUTS, layout_beforehand
from steelyard.study.change import key_of
from steelyard.study.read import read_recorded_study, read_study, write_study
from steelyard.study.study import LayoutName, Study
from steelyard.tuning.profile.advice import TuningProfile
from steelyard.tuning.profile.arms import places_of, work_of
from steelyard.tuning.profile.basis import memory_here
from steelyard.tuning.profile.proposing import (
    Accepting,
    ProfileRequest,
    propose,
    read_allowed_settings,
)
from steelyard.tuning.search.race import BATCH, Field, search
from steelyard.tuning.search.sampling import require_optuna
from steelyard.tuning.search.space import Room, ranges
from steelyard.tuning.search.trial import BEST_FILE, SEARCH_FILE, BestCandidate, SearchPlan, Trial
from steelyard.wording.contrast_text import ends_of, reading_text
from steelyard.workloads.reading.resolved import data_bytes, resolve_workload

SEARCH = CampaignKind("a search", SEARCH_FILE, ("tune",))
STUDY_FILE = "study.toml"


def search_lines(best: BestCandidate, width: int) -> list[str]:
    """Attempts are counted; only the confirmation has an interval."""
    counts = [counted(len(best.trials), "candidates"), counted(best.weighings, "weighings")]
    metric = metric_words(best.metric)
    lines = [*wrapped(f"{' in '.join(counts)}; change of {metric} against the control", width, "")]
    lines.append("")
    lines += [_row(trial, best.metric) for trial in best.trials]
    lines.append("")
    if best.winner is None or best.confirmed is None:
        failed = all(trial.failed for trial in best.trials)
        why = "every candidate failed" if failed else "no candidate was better than the control"
        lines += wrapped(f"{why} in the search: nothing to confirm", width, "")
        return [*lines, "", f"record  {best.record}"]
    lines += [*render_verdict(best.confirmed, width).splitlines(), ""]
    lines += wrapped(_shrinkage(best.winner, best), width, "")
    lines += [f"{name} = {value}" for name, value in best.winner.settings.items()]
    return [*lines, "", f"search  {best.record}"]


def _row(trial: Trial, metric: str) -> str:
    change = trial.change_percent(metric)
    reading = "-" if change is None else format_percent(change, 1)
    epochs = counted(len(trial.log_ratios), "epochs")
    return f"{trial.name:<10}{reading:>10}  {epochs}  {trial.outcome}"


def _shrinkage(winner: Trial, best: BestCandidate) -> str:
    assert best.confirmed is not None
    [line] = [contrast for contrast in best.confirmed.contrasts if contrast.arm == winner.name]
    confirmed = "nothing" if line.estimate_percent is None else reading_text(line)
    sought = format_percent(winner.change_percent(best.metric) or 0.0, 1)
    low, high = ends_of(line)
    gained = (low or 0) > 0 if line.higher_is_better else (high or 0) < 0
    unproved = "" if gained else "It does not show a gain. "
    counts = "that one counts"
    if line.verdict == "invalid":
        counts, unproved = "but it is invalid, so that nothing is shown", ""
    return (
        f"{winner.name} read {sought} in the search, the best of {len(best.trials)}: luck "
        f"flatters such a figure. The fresh weighing read {confirmed}; {counts}. "
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
    """Begin or resume a search, and print its result.

    UsageError or StudyError: nothing can be searched so. RecordError: the folder is another's.
    """
    require_optuna()
    if request.resume is None:
        study = _study_without_arms(request)
        accepting = _allowed_settings(study, request.account)
        plan, study = _planned(request, study, accepting)
        campaign = SEARCH.begin(request.record, "search", plan.to_json(), request.account)
        write_whole(campaign.folder / STUDY_FILE, write_study(study))
    else:
        campaign = SEARCH.open(request.resume, request.account)
        plan = SearchPlan.of_json(campaign.plan(), str(campaign.plan_file))
        study = read_recorded_study(campaign.folder / STUDY_FILE)
        accepting = _allowed_settings(study, request.account)
    field = Field(
        study=study,
        space=ranges(plan.basis, accepting.allowed, plan.durability),
        basis=plan.basis,
        allowed=accepting.allowed,
        first=plan.first,
    )
    best = _best(field, plan, campaign)
    document = best.to_json()
    campaign.keep(BEST_FILE, document)
    show(document, search_lines(best, terminal_width()), as_json=request.as_json)


def _best(field: Field, plan: SearchPlan, campaign: Campaign) -> BestCandidate:
    def weigh_candidates(study: Study, seed: int, directory: Path) -> Verdict:
        lost = verdict_in(directory)
        if lost is not None and was_given_up(directory):  # so it is not tried again
            return lost
        try:
            return weigh_into(study, seed, directory, campaign.account)
        except WeighingError:
            # Where too many epochs were lost, the verdict says by which arm.
            verdict = verdict_in(directory)
            if verdict is None or verdict.interrupted:
                raise
            return verdict

    with campaign.resumable():
        return search(field, plan.trials, plan.seed, campaign.folder, weigh_candidates, say)


def _study_without_arms(request: SearchRequest) -> Study:
    changes = changes_of(request.overrides, request.budget, None, None)
    study = read_study(request.study, changes)
    of_arms = next((key for key in map(key_of, changes) if f"{key}.".startswith("arm.")), None)
    if of_arms is not None:
        raise UsageError(
            f'override "{of_arms}" has no effect: a search weighs candidates of its own in place '
            "of the arms",
            hint="What they are weighed against is the control: --set control.settings.NAME=VALUE. "
            "What the first candidate is: --profile, --work.",
        )
    if study.is_external:
        raise UsageError(
            f'cannot search at an address: candidates of study "{study.name}" are servers that are '
            "started with their settings",
            hint="Leave the address out; settings of sessions are weighed one by one: steelyard "
            "weigh sessions --address DSN -f FILE --set arm.settings.NAME=VALUE",
        )
    study = resolve_workload(study)
    if study.control.profile is not None:
        raise UsageError(
            f'cannot search against a profile: control "{study.control.name}" of study '
            f'"{study.name}" has one',
            hint="Name a study whose control has settings: --study tuning. The first candidate is "
            "the profile.",
        )
    return study.model_copy(update={"arms": study.arms[:1], "factors": None, "fraction": None})


def _allowed_settings(study: Study, account: str | None) -> Accepting:
    return read_allowed_settings(
        study.engine, BuildRequest(study.control.version, study.control.bindir), account
    )


def _planned(
    request: SearchRequest, study: Study, accepting: Accepting
) -> tuple[SearchPlan, Study]:
    """What is searched, and the study whose control candidates are weighed against."""
    first, layout = _proposed(request, study, accepting)
    ranges(first.basis, accepting.allowed, request.durability)  # refuses names before any work
    room = Room(first.basis, accepting.allowed, study.settings_of(study.control))
    for settings in (first.for_arm(), {}):  # and what leaves no memory, as every other candidate
        room.fit(settings)
    memory = f"{format_bytes(first.basis.memory_bytes)} of memory ({first.basis.memory_from})"
    say(f"candidates take at most {memory}, as {first.basis.kind}")
    plan = SearchPlan(
        seed=secrets.randbelow(2**31) if request.seed is None else request.seed,
        trials=request.trials,
        durability=tuple(request.durability),
        basis=first.basis,
        first=first.for_arm(),
    )
    bare = study.arms[0].model_copy(update={"profile": None})
    return plan, study.model_copy(update={"arms": (bare,), "layout": layout})


def _proposed(
    request: SearchRequest, study: Study, accepting: Accepting
) -> tuple[TuningProfile, LayoutName]:
    """The first candidate, and the layout of all weighings: with `auto` that of its settings, since
    candidates were made for so many servers at once, whatever they differ in."""
    place, log = places_of(study.control, open_cache().root)
    wish = ProfileRequest(
        name=request.profile,
        kind=request.work or work_of(study),
        clients=study.workload.clients,
        processors=request.processors,
        data_bytes=request.data_bytes or data_bytes(study),
        log_directory=log,
    )

    def profile_for(servers: int) -> TuningProfile:
        cap, at_most = study.memory, request.memory_bytes
        if at_most is not None and at_most < memory_here(cap, servers)[0]:
            cap = at_most
        sized = replace(wish, servers=servers, cap_bytes=cap)
        return propose(sized, accepting, place, cache_root())

    def layout_of(profile: TuningProfile) -> LayoutName:
        settings = {"settings": profile.for_arm(), "profile": None}
        batch = [
            study.arms[0].model_copy(update={**settings, "name": str(n)}) for n in range(BATCH)
        ]
        return layout_beforehand(study.model_copy(update={"arms": tuple(batch)}))

    first = profile_for(BATCH + 1)
    layout = layout_of(first)
    if LAYOUTS[layout].concurrent_servers(study) == 1:
        first = profile_for(1)
    return first, layout
