"""Writes down what is decided before the first slice, and recalls it when a weighing goes on."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path
from typing import Any

from steelyard.analysis.decision.looks import ALPHAS
from steelyard.model.errors import RecordError, StudyError
from steelyard.record.environment import OF_SCRIPT
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
from steelyard.workloads.loading.template import description


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
    counted, cells = study.budget.counted, study.factorial
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
        epoch_ns=design.epoch_ns,
        blocks_per_epoch=(
            counted_blocks(study, counted)[1]
            if counted is not None
            else block_count(
                choices.load_ns(design.epoch_ns, design.arms), len(design.arms), choices.visit_ns
            )
        ),
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
