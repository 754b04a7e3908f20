"""Runs `steelyard history bisect`: weighs the ends of a row, and then middles beside them.

Formats a search for a terminal: its answer, every weighing of it, and where the records are.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import subprocess
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard.cli.command_line import say
from steelyard.cli.options.address_options import require_agreed, require_own_servers
from steelyard.cli.views.text_layout import terminal_width
from steelyard.cli.weighing.campaign import Campaign, CampaignKind, show
from steelyard.history.bisect import (
    BISECT_FILE,
    BISECTED_FILE,
    STEPS,
    Bisected,
    BisectPlan,
    bisect,
    epochs_required,
    require_places,
    words,
)
from steelyard.history.trend import read_commits
from steelyard.model.errors import UsageError
from steelyard.model.files.own_directory import OwnDirectory
from steelyard.model.secrets.redaction import holds_secret
from steelyard.record.verdict import Verdict
from steelyard.running.layout_choice import require_effect
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.study.sweep import values_of
from steelyard.workloads.reading.resolved import resolve_workload

BISECTION = CampaignKind("a search", BISECT_FILE, ("history", "bisect"))
BUILDS = "builds"


def bisect_lines(bisected: Bisected, folder: str, width: int) -> Iterator[str]:
    """The printed lines of a search."""
    yield ""
    yield from textwrap.wrap(bisected.sentence, width)
    yield ""
    for step in bisected.steps:
        line = words(step, bisected.places, bisected.metric)
        yield from textwrap.wrap(line, width, subsequent_indent="  ")
    yield ""
    yield f"record  {folder}"
    if bisected.command:
        yield f"repeat  {bisected.command}"


@dataclass(frozen=True)
class BisectRequest:
    """What was asked for on the command line."""

    study: str | None
    along: str | None
    commits: Path | None
    build: str | None
    changes: Sequence[str]
    seed: int | None
    record: Path | None
    account: str | None
    command: tuple[str, ...]
    as_json: bool
    agreed: bool = False
    """To write at an address."""


def begin_bisect(request: BisectRequest) -> None:
    """Search a new row, and print what came of it.

    UsageError or StudyError: the row or the study is wrong.
    """
    if request.study is None:
        raise UsageError(
            "no study was named",
            hint="Name what is weighed: steelyard history bisect versions --along version=…",
        )
    key, places = _row(request)
    plan = BisectPlan(
        study=request.study,
        changes=tuple(request.changes),
        key=key,
        places=places,
        build=request.build or "",
        seed=secrets.randbelow(2**31) if request.seed is None else request.seed,
        command=shlex.join(request.command),
    )
    if not plan.build:  # a value that no arm can have is refused before any work
        for place in plan.places:
            study = _study_at(plan, place, place)
            require_own_servers(study, request.account)
            if study.is_external:
                require_agreed(resolve_workload(study), agreed=request.agreed)
        ends = _study_at(plan, plan.places[0], plan.places[-1])
        require_effect(resolve_workload(ends), plan.changes)
    usual = f"bisect-{Path(request.study).stem}"
    campaign = BISECTION.begin(request.record, usual, plan.to_json(), request.account)
    _search(plan, replace(campaign, agreed=request.agreed), as_json=request.as_json)


def resume_bisect(
    folder: Path, account: str | None, *, as_json: bool, agreed: bool = False
) -> None:
    """Go on where it was interrupted; weighings that are complete are read. `agreed`: to write at
    an address."""
    campaign = replace(BISECTION.open(folder, account), agreed=agreed)
    plan = BisectPlan.of_json(campaign.plan(), str(campaign.plan_file))
    _search(plan, campaign, as_json=as_json)


def _row(request: BisectRequest) -> tuple[str, tuple[str, ...]]:
    """The key of an arm that differs, and its values in their order."""
    if (request.along is None) == (request.commits is None):
        raise UsageError("either --along or --commits says what is walked")
    if request.commits is not None:
        if not request.build:
            raise UsageError(
                "--commits needs --build: the shell command that makes a commit's build",
                hint="--build ./build finds the commit in $COMMIT and installs into $PREFIX",
            )
        if holds_secret(request.build):
            raise UsageError(
                "--build may say a password, key or token, which would stand in the record",
                hint="Export it as a variable: the command is run in this environment.",
            )
        commits = read_commits(request.commits)
        _require_names(commits, request.commits)
        return "bindir", require_places(commits, "bindir", str(request.study))
    if request.build:
        raise UsageError("--build belongs to --commits")
    key, equals, listed = str(request.along).partition("=")
    if not equals or not key.strip():
        raise UsageError(
            f'invalid row: "{request.along}"',
            hint="Write it as KEY=V,V,...: --along version=16.14,17.0,18.4",
        )
    return key.strip(), require_places(values_of(listed), key.strip(), str(request.study))


def _require_names(commits: Sequence[str], file: Path) -> None:
    """UsageError: one is no name of a folder, which its build has."""
    path = next((commit for commit in commits if "/" in commit or commit.startswith(".")), None)
    if path is not None:
        raise UsageError(
            f'"{path}" in "{file}" is no commit, but a branch or a path',
            hint="git log --reverse --format=%H FIRST..LAST writes commits.",
        )


def _search(plan: BisectPlan, campaign: Campaign, *, as_json: bool) -> None:
    weighings = _Weighings(plan, campaign)
    metric = weighings.metric
    with campaign.resumable():
        bisected = bisect(plan, weighings.weigh, weighings.record_of, say, metric)
    campaign.keep(BISECTED_FILE, bisected.to_json())
    folder = str(campaign.folder)
    document = {"bisected": bisected.to_json(), "record": folder}
    show(document, bisect_lines(bisected, folder, terminal_width()), as_json=as_json)


@dataclass
class _Weighings:
    """The weighings of a search, each into its record."""

    plan: BisectPlan
    campaign: Campaign
    _failed: dict[str, str] = field(default_factory=dict)
    """Place → why it has no build."""

    @property
    def metric(self) -> str:
        """What its study decides by. StudyError: the study is wrong."""
        first, last = map(self._value, (self.plan.places[0], self.plan.places[-1]))
        return _study_at(self.plan, first, last).decision.metric

    def weigh(self, middle: int | None, attempt: int) -> Verdict | str:
        """The verdict; or why this place has none."""
        plan, number = self.plan, -1 if middle is None else middle
        first, last = plan.places[0], plan.places[-1]
        places = [first, last] if middle is None else [first, plan.places[middle], last]
        for place in places:
            refused = self._built(place)
            if refused:
                return refused
        name = self.record_of(middle, attempt)
        say(f"{Path(name).name}: {' and '.join(places[1:])} against {first}")
        seed = plan.seed + 10 * (number + 1) + attempt
        if middle is None:
            return self.campaign.weigh(self._study(places, attempt), seed, name)
        return self.campaign.try_to_weigh(lambda: self._study(places, attempt), seed, name)

    def record_of(self, middle: int | None, attempt: int) -> str:
        """The folder of a weighing, within the search's."""
        name = "ends" if middle is None else f"place-{middle}"
        return f"{STEPS}/{name}{'-longer' if attempt else ''}"

    def _study(self, places: Sequence[str], attempt: int) -> Study:
        values = [self._value(place) for place in places]
        first, *others = values
        study = resolve_workload(_study_at(self.plan, first, others[-1]))
        arms = []
        names = ("last",) if len(others) == 1 else ("middle", "last")
        for name, value in zip(names, others, strict=True):
            [arm] = _study_at(self.plan, first, value).arms
            arms.append(arm.model_copy(update={"name": name}))
        budget = study.budget
        longer = 2 if attempt else 1
        budget = budget.times(longer).model_copy(
            update={"epochs": (budget.epochs or epochs_required(len(self.plan.places))) * longer}
        )
        control = study.control.model_copy(update={"name": "first"})
        return study.model_copy(update={"control": control, "arms": tuple(arms), "budget": budget})

    def _value(self, place: str) -> str:
        return json.dumps(str(self._prefix(place) / "bin")) if self.plan.build else place

    def _prefix(self, place: str) -> Path:
        return (self.campaign.folder / BUILDS / place).absolute()

    def _built(self, place: str) -> str:
        """Why a commit has no build; empty: it has one, or is none."""
        if not self.plan.build:
            return ""
        if place not in self._failed:
            self._failed[place] = self._build(place)
        return self._failed[place]

    def _build(self, commit: str) -> str:
        prefix = self._prefix(commit)
        server, log = prefix / "bin" / "postgres", prefix.with_name(f"{commit}.log")
        complete = prefix.with_name(f"{commit}.built")
        if complete.is_file() and server.is_file():
            return ""
        say(f"builds {commit}")
        OwnDirectory.make(prefix)
        with OwnDirectory.open(log.parent) as builds:
            with builds.draft(log.name) as output:
                done = subprocess.run(
                    self.plan.build,
                    shell=True,  # it is the user's own command
                    env={**os.environ, "COMMIT": commit, "PREFIX": str(prefix)},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    check=False,
                )
            if done.returncode != 0:
                return f"it was not built: status {done.returncode}, {log}"
            if not server.is_file():
                return f"it was not built: no bin/postgres in {prefix}, {log}"
            builds.write(complete.name, "")  # a build that failed or was killed has none
        return ""


def _study_at(plan: BisectPlan, control: str, arm: str) -> Study:
    key = plan.key
    changes = [*plan.changes, f"control.{key}={control}", f"arm.{key}={arm}"]
    return read_study(plan.study, [*changes, "decision.judged=separately"])
