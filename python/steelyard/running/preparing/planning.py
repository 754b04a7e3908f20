"""Writes down what is decided before the first slice, recalls it when a weighing goes on, and
requires that it goes on with the scripts, builds and rows that it began with.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from steelyard.analysis.decision.looks import ALPHAS
from steelyard.model.errors import RecordError, StudyError, UsageError
from steelyard.record.environment import OF_SCRIPT, Environment
from steelyard.record.factors import FactorsPlan
from steelyard.record.plan import BuildDefaultDifferences, Choices, Loads, LoadsOfArm, Plan
from steelyard.record.reader import read_environment, read_study_file, read_verdict
from steelyard.record.record import FORMAT, PLAN, STUDY_FILE, Record, stamp
from steelyard.running.measuring.counted import counted_blocks
from steelyard.running.measuring.load import thread_count
from steelyard.running.measuring.slots import Slots
from steelyard.running.preparing.build_comparison import BuildComparison
from steelyard.running.preparing.recording import OpenRecord
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.study.design import block_count
from steelyard.study.reaching.replication import replication_words
from steelyard.study.study import Study
from steelyard.telemetry.environment import file_sha256
from steelyard.workloads.loading.template import TemplateDescription, description


def recall_choices(opened: OpenRecord) -> Choices | None:
    """The choices of a weighing that is resumed; None for a new one."""
    return opened.plan


def write_plan(setup: Setup, choices: Choices, opened: OpenRecord, progress: Progress) -> Plan:
    """plan.json: seed, order, rule, margins and choices; a resumed weighing keeps its own."""
    plan = opened.plan
    if plan is None:
        plan = _plan(setup, choices, opened)
        opened.record.write(PLAN, plan.to_json())
        opened.record.point_latest()
    progress.plan(plan)
    return plan


def _plan(setup: Setup, choices: Choices, opened: OpenRecord) -> Plan:
    study, design, workload = setup.study, setup.design, setup.study.workload
    processors = list(setup.laboratory.host.processors())
    cells = study.factorial
    blocks, epoch_ns = _blocks_and_load(setup, choices)
    plan = Plan(
        format=FORMAT,
        weighing=secrets.token_hex(8),
        at=stamp(),
        study=study.name,
        study_sha256=file_sha256(opened.record.directory / STUDY_FILE),
        question=study.question,
        seed=design.seed,
        metric=study.decision.metric,
        margin=study.decision.margin,
        alpha=ALPHAS,
        look=design.first_look,
        open_ended=study.decision.open_ended,
        first_verdict=study.decision.first_verdict,
        judged=study.decision.judged,
        epoch_ns=epoch_ns,
        blocks_per_epoch=blocks,
        threads=thread_count(study, processors),
        clients=workload.clients,
        processors=tuple(processors),
        control=study.control.name,
        arms=design.arms,
        assignment=design.assignment,
        start_orders=design.start_orders,
        residency=setup.slots.residency,
        loads=_loads(setup),
        defaults=_defaults(setup.builds),
        memory=setup.memory,
        **_own_data(study),
        **_ways(study),
        **_places(setup),
        **_standbys(study),
        writes=any(script.writes for script in setup.scripts),
        left_out=setup.left_out,
        attempt=attempt_number(opened.record, study),
        command=shlex.join(opened.question.command),
        **{name: getattr(choices, name) for name in Choices.model_fields},
    )
    return plan if cells is None else plan.model_copy(update={"factors": FactorsPlan.of(cells)})


def _blocks_and_load(setup: Setup, choices: Choices) -> tuple[int, int]:
    """Blocks of an epoch, and its load in nanoseconds, all arms together."""
    design, counted = setup.design, setup.study.budget.counted
    arms, visit_ns = len(design.arms), choices.visit_ns
    if counted is not None:
        blocks = counted_blocks(setup.study, counted)[1]
        return blocks, blocks * arms * visit_ns
    load_ns = choices.load_ns(design.epoch_ns, design.arms)
    return block_count(load_ns, arms, visit_ns), design.epoch_ns


def _own_data(study: Study) -> dict[str, Any]:
    """What the plan says of arms with SQL; nothing where there is none."""
    sql = {arm.name: study.sql_of(arm) for arm in study.every_arm if study.sql_of(arm)}
    return {"sql": sql} if sql else {}


def _places(setup: Setup) -> dict[str, Any]:
    """Where the files of each arm are; nothing of servers that are not ours."""
    if not setup.places:
        return {}
    return {"places": setup.places, "places_drawn": setup.places_drawn}


def _ways(study: Study) -> dict[str, Any]:
    """What it says of how clients reach the arms; nothing where all come by the socket."""
    ways = {arm.name: arm.connect for arm in study.every_arm}
    return {"connect": ways} if set(ways.values()) != {"socket"} else {}


def _standbys(study: Study) -> dict[str, Any]:
    """What it says of standbys; nothing where no arm has any."""
    replication = {arm.name: replication_words(arm.replication) for arm in study.every_arm}
    return {"replication": replication} if set(replication.values()) != {"none"} else {}


def _defaults(builds: BuildComparison) -> BuildDefaultDifferences:
    alignment = builds.alignment
    return BuildDefaultDifferences(
        rule=builds.defaults,
        alike=dict(alignment.settings),
        shipped=tuple(arm for arm in alignment.changed if arm in builds.shipped),
        changed={arm: tuple(differences) for arm, differences in alignment.changed.items()},
        added={arm: tuple(names) for arm, names in alignment.added.items()},
        removed={arm: tuple(names) for arm, names in alignment.removed.items()},
    )


def _loads(setup: Setup) -> Loads:
    """How the data of each arm was loaded, how often, and what that took when it was done."""
    if not isinstance(setup.slots, Slots):
        return Loads()
    builds, arms = setup.builds, setup.slots.arms
    loads = {}
    for arm, loader in builds.loaders.items():
        descriptions = [description(template) for template in arms[arm].templates]
        seconds = [facts.seconds for facts in descriptions if facts is not None]
        loads[arm] = LoadsOfArm(by=loader, count=builds.loads, seconds=round(sum(seconds), 1))
    return Loads(shared=builds.shared, arms=loads)


def attempt_number(record: Record, study: Study) -> int:
    """1, or one more than the attempts at this question beside this record that were inconclusive.

    A weighing repeated because it was inconclusive gets more chances to be wrong: 10 % after two.
    It is one whatever it is called and however much it measures: a longer budget is the usual way.
    Arms judged separately are not asked for a decision, so there is nothing to try again.
    """
    if study.decision.judged == "separately":
        return 1
    question, attempts = _question(record), 0
    for sibling in sorted(_siblings(record.directory)):
        try:
            earlier = Record.open(sibling)
            verdict = read_verdict(earlier) if question == _question(earlier) else None
        except (RecordError, StudyError, OSError):
            continue
        if verdict is not None and verdict.contrasts[0].verdict == "inconclusive":
            attempts += 1
        elif verdict is not None:
            attempts = 0
    return attempts + 1


def _question(record: Record) -> tuple[str, dict[str, str]]:
    """What a record asks: its study without its words, how much is measured and until when, and
    where processes are placed; and the texts of its scripts."""
    left_out: dict[str, Any] = {
        **dict.fromkeys(("name", "title", "question", "group", "answer"), True),
        **dict.fromkeys(("budget", "placement"), True),
        "decision": {"margin", "first_verdict", "open_ended", "judged"},
        "workload": {"threads", "loads", "timed"},
        "source": {"partial", "backup"},
        "control": {"role", "price"},
        "arms": {"__all__": {"role", "price"}},
    }
    study, environment = read_study_file(record), read_environment(record)
    files = {} if environment is None else environment.files
    scripts = {what: digest for what, digest in files.items() if what.startswith(OF_SCRIPT)}
    return study.model_dump_json(exclude=left_out), scripts


def _siblings(directory: Path) -> list[Path]:
    parent = directory.parent
    return [p for p in parent.iterdir() if p.is_dir() and not p.is_symlink() and p != directory]


OF_ROWS = "rows of "
"""Before the name of an arm among the `files` of an environment: what its data hold."""
OF_LOADS = "loads of "
"""Before it likewise: the loads themselves, each of which lays the same rows out in its own way."""
_CONTROL_FILE = "template pg_control"
"""Of the first arm's load, which is all that an older record says of any."""


def files_of_loads(templates: Mapping[str, Sequence[Path]]) -> dict[str, str]:
    """What → its digest, of the rows and the loads of every arm; `templates`: arm → its loads.
    Nothing of an arm of whose data no more is known than that they are there."""
    files = {}
    for arm, loads in templates.items():
        described = [facts for facts in map(description, loads) if facts is not None]
        if described:
            files[f"{OF_ROWS}{arm}"] = _digest([_rows(facts) for facts in described])
            files[f"{OF_LOADS}{arm}"] = _digest([_load(facts) for facts in described])
    return files


def _rows(facts: TemplateDescription) -> object:
    name = (facts.source or {}).get("database")
    return [facts.digest, facts.scale, facts.options, facts.tables, facts.digests, facts.sql, name]


def _load(facts: TemplateDescription) -> object:
    return [facts.system_identifier, facts.made, facts.files]


def _digest(facts: object) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def changes_of_loads(before: Environment, now: Environment) -> list[str]:
    """In words that the data were loaded anew since the weighing began: the same rows, laid out in
    files and counted by ANALYZE anew. Empty: they were not, or a record does not say."""
    every = [what for what in before.files if what.startswith(OF_LOADS)] or [_CONTROL_FILE]
    anew = [
        what.removeprefix(OF_LOADS)
        for what in every
        if {what} <= {*before.files} & {*now.files} and before.files[what] != now.files[what]
    ]
    if not anew:
        return []
    some = f" of {' and '.join(anew)}" if 0 < len(anew) < len(every) else ""
    return [f"the data{some} were loaded anew"]


def require_same_work(record: Record, before: Environment, now: Environment) -> None:
    """UsageError: a script, a build or the rows are others than those of the epochs there are, so
    that those to come would be of other work."""
    others = (_other_scripts(before, now), _other_builds(before, now), _other_rows(before, now))
    changed = next(chain.from_iterable(others), None)
    if changed is not None:
        study = shlex.quote(str(record.directory / STUDY_FILE))
        raise UsageError(
            f'cannot resume "{record.directory}": {changed}',
            detail="The epochs that are measured, and those to come, would be of two kinds.",
            hint=f"Put it back as it was, or weigh anew: steelyard weigh {study}",
        )


def _other_scripts(before: Environment, now: Environment) -> Iterator[str]:
    """In words; an older record may hold no hashes."""
    ours, theirs = (
        {what: digest for what, digest in each.files.items() if what.startswith(OF_SCRIPT)}
        for each in (before, now)
    )
    for what in sorted({*ours, *theirs}) if ours else ():
        if ours.get(what) != theirs.get(what):
            name = what.removeprefix(OF_SCRIPT)
            yield f'script "{name}" is not what it was when the weighing began'


def _other_builds(before: Environment, now: Environment) -> Iterator[str]:
    """In words; where their programs are is no part of what they are."""
    for arm, facts in before.arms.items():
        build = now.arms[arm].build if arm in now.arms else {}
        for key in _OF_A_BUILD:
            if key in facts.build and key in build and facts.build[key] != build[key]:
                yield (
                    f'the build of arm "{arm}" is another one: its {key} was '
                    f'"{facts.build[key]}", is "{build[key]}"'
                )


_OF_A_BUILD = ("kind", "version", "builder", "configure", "cflags", "assertions")


def _other_rows(before: Environment, now: Environment) -> Iterator[str]:
    """In words; an older record may hold no digests."""
    for what, digest in before.files.items():
        if what.startswith(OF_ROWS) and now.files.get(what, digest) != digest:
            yield f'the data of arm "{what.removeprefix(OF_ROWS)}" hold other rows than they did'
