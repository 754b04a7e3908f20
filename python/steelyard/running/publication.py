"""Publishes the outcome: the A/A ledger, the end of the record, verdict.json."""

from __future__ import annotations

from dataclasses import replace

from steelyard.evaluation.rejudge import rejudge
from steelyard.record.recorded import TELEMETRY, VERDICT
from steelyard.record.verdict import Verdict
from steelyard.running.aa_ledger import update
from steelyard.running.progress import Progress
from steelyard.running.recording import Kept
from steelyard.running.settling import Outcome


def publish(kept: Kept, outcome: Outcome, progress: Progress) -> Verdict:
    """Write what a weighing came to; nothing is measured any more."""
    recorded = outcome.recorded
    machine = recorded.environment.machine
    standing = update(kept.question, recorded.plan, machine, outcome.contrasts, progress)
    end = outcome.end.model_copy(update={"ledger": standing})
    kept.record.append(TELEMETRY, end.to_json())
    verdict = rejudge(replace(recorded, end=end))
    kept.record.write(VERDICT, verdict.to_json())
    kept.record.close()
    return verdict
