"""Tells the story of a weighing: every stage in order, and nothing else."""

from __future__ import annotations

from typing import Any

from steelyard.running.aa_ledger import consult
from steelyard.running.inspection import inspect_arms
from steelyard.running.laboratory import Laboratory
from steelyard.running.pilot import Pilot
from steelyard.running.planning import recall_choices, write_plan
from steelyard.running.preparation import prepare
from steelyard.running.progress import Progress
from steelyard.running.publication import publish
from steelyard.running.question import Question
from steelyard.running.recording import open_record
from steelyard.running.settling import settle


def weigh(question: Question, laboratory: Laboratory, progress: Progress) -> dict[str, Any]:
    """Weigh the arms of a study and return the verdict, as verdict.json holds it.

    Raises a SteelyardError when the weighing cannot be completed; what was measured is kept.
    """
    kept = open_record(question)  # study.toml; for --resume: the seed, the epochs there are
    with prepare(kept, laboratory, progress) as setup:  # engines, data loaded once, slots
        seen = inspect_arms(setup, progress)  # arms differ only where declared
        inspection = consult(question, seen, progress)  # the ledger: is this balance true?
        choices = recall_choices(kept) or Pilot(setup, progress).run()  # slices, placement
        plan = write_plan(setup, choices, kept, progress)  # fixed before the first slice
        outcome = settle(setup, choices, plan, inspection, kept, progress)  # until decided
    return publish(kept, plan, inspection, outcome, progress)  # verdict, ledger, report
