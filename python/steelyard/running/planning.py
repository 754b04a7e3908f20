"""Writes down what is decided before the first slice, and recalls it when a weighing goes on."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path
from typing import Any

from steelyard.analysis.decision.looks import ALPHAS
from steelyard.model.errors import RecordError
from steelyard.record.record import FORMAT, Record
from steelyard.running.choices import Choices
from steelyard.running.counted import counted_blocks
from steelyard.running.load import thread_count
from steelyard.running.progress import Progress
from steelyard.running.recording import Kept
from steelyard.running.setup import Setup
from steelyard.study.plan import block_count
from steelyard.study.study import Study
from steelyard.workloads.loading.template import description

Json = dict[str, Any]


def recall_choices(kept: Kept) -> Choices | None:
    """The choices of the weighing that is gone on with; None for a new one."""
    return Choices.from_json(kept.record.read("plan.json")) if kept.resumed else None


def write_plan(setup: Setup, choices: Choices, kept: Kept, progress: Progress) -> Json:
    """plan.json: seed, order, rule, margins and choices; a resumed weighing keeps its own, and
    learns how often it was judged and shown before."""
    if kept.resumed:
        plan = {**kept.record.read("plan.json"), "looked": kept.looked}
    else:
        plan = _plan(setup, choices, kept)
        kept.record.write("plan.json", plan)
    progress.plan(plan)
    return plan


def _plan(setup: Setup, choices: Choices, kept: Kept) -> Json:
    study, design, workload = setup.study, setup.design, setup.study.workload
    processors = list(setup.laboratory.host.processors())
    return {
        "format": FORMAT,
        "weighing": secrets.token_hex(8),  # what the balance's ledger knows it by
        "study": study.name,
        "question": study.question,
        "seed": design.seed,
        "metric": study.decision.metric,
        "margin": study.decision.margin,
        "alpha": list(ALPHAS),
        "epochs": design.epochs,
        "look": design.first_look,
        "open_ended": study.decision.open_ended,
        "first_verdict": study.decision.first_verdict,
        "judged": study.decision.judged,
        "layout": "slices",
        "epoch_ns": design.epoch_ns,
        "blocks_per_epoch": (
            counted_blocks(study, study.budget.counted)[1]
            if study.budget.counted is not None
            else block_count(design.epoch_ns, len(design.arms), choices.visit_ns)
        ),
        "threads": thread_count(study, processors),
        "clients": workload.clients,
        "processors": processors,
        "control": study.control.name,
        "arms": list(design.arms),
        "assignment": [list(row) for row in design.assignment],
        "start_orders": [list(row) for row in design.start_orders],
        "loads": _loads(setup),
        "defaults": setup.builds.to_json(),
        "writes": any(script.writes for script in setup.scripts),
        "attempt": attempt_number(kept.record, study),
        "command": shlex.join(kept.question.command),
        **choices.to_json(),
    }


def _loads(setup: Setup) -> Json:
    """How the data of each arm was loaded, how often, and what that took when it was done."""
    builds, arms = setup.builds, setup.slots.arms
    loads = {}
    for arm, loader in builds.loaders.items():
        made = [description(template) for template in arms[arm].templates]
        seconds = [one["seconds"] for one in made if "seconds" in one]
        loads[arm] = {"by": loader, "count": builds.loads, "seconds": round(sum(seconds), 1)}
    return {"shared": builds.shared, "arms": loads}


def attempt_number(record: Record, study: Study) -> int:
    """1, or one more than the attempts of this study beside this record that were inconclusive.

    A weighing repeated because it was inconclusive gets more chances to be wrong: 10 % after two.
    Arms judged separately are not asked for a decision, so there is nothing to try again.
    """
    if study.decision.judged == "separately":
        return 1
    own = (record.directory / "study.toml").read_text(encoding="utf-8")
    attempts = 0
    for sibling in sorted(_siblings(record.directory)):
        try:
            earlier = Record.open(sibling)
            same = (sibling / "study.toml").read_text(encoding="utf-8") == own
            contrasts = earlier.read("verdict.json").get("contrasts", []) if same else []
        except (RecordError, OSError):
            continue
        if contrasts and contrasts[0].get("verdict") == "inconclusive":
            attempts += 1
        elif contrasts:
            attempts = 0
    return attempts + 1


def _siblings(directory: Path) -> list[Path]:
    parent = directory.parent
    return [p for p in parent.iterdir() if p.is_dir() and not p.is_symlink() and p != directory]
