"""Runs the stages of a weighing in order, and does nothing else."""

from __future__ import annotations

from steelyard.record.verdict import Verdict
from steelyard.report.page import write_report
from steelyard.running.laboratory import Laboratory
from steelyard.running.layout_choice import choose
from steelyard.running.measuring.settling import publish, settle
from steelyard.running.preparing.inspection import inspect_arms
from steelyard.running.preparing.planning import recall_choices, write_plan
from steelyard.running.preparing.preparation import prepare
from steelyard.running.preparing.recording import Question, open_record
from steelyard.running.preparing.script_trial import try_scripts
from steelyard.running.stopwatch import Progress


def weigh(question: Question, laboratory: Laboratory, progress: Progress) -> Verdict:
    """Weigh the arms of a study and return the verdict.

    Raises a SteelyardError when the weighing cannot be completed; what was measured is kept, and
    one that lost too many epochs is judged and published before it is raised.
    """
    opened = open_record(question, laboratory.clock.now_ns)  # --resume: plan, epochs there are
    with prepare(opened, laboratory, progress) as prepared:  # engines, data loaded once, slots
        setup = try_scripts(prepared, opened, progress)  # captured writes: without what fails
        inspected = inspect_arms(question, setup, progress)  # arms differ only where declared
        setup = inspected.setup  # each script was executed once: without what fails
        choices = recall_choices(opened) or choose(setup, progress)  # the pilot: slices, placement
        planned = setup.with_choices(choices)  # longer epochs for slow pools; slices by count
        plan = write_plan(planned, choices, opened, progress)  # fixed before the first slice
        outcome = settle(planned, choices, plan, inspected, opened, progress)  # until decided
    verdict = publish(opened, outcome, progress)  # a function of the record; the A/A ledger
    write_report(opened.record.directory)
    progress.verdict(verdict)
    if outcome.failure is not None:
        raise outcome.failure
    return verdict
