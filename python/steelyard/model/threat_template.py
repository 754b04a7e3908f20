"""Holds what a threat of each kind says beside what was seen, of numbers from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.model.threat_kind import ThreatKind


@dataclass(frozen=True, slots=True)
class ThreatTemplate:
    """The likely cause, and what to do."""

    cause: str
    advice: str
    invalidates: bool = False
    in_turns: str = ""
    """Advice for a weighing in turns, where it is another."""


OF_NUMBERS: dict[ThreatKind, ThreatTemplate] = {
    ThreatKind.OBSERVATIONAL: ThreatTemplate(
        "chance did not draw which arm was measured when, or this is not stated: whatever "
        "else differed between the arms is part of the effect",
        "measure the arms in random order inside every row; where that was done, say "
        "--order random",
    ),
    ThreatKind.ONE_AFTER_OTHER: ThreatTemplate(
        "what changed on the machine between the arms (caches, clocks, neighbours, the disk) looks "
        "like the arm; no interval holds it",
        "measure the arms by turns, in random order: in simulated drift one arm after the other "
        "calls equal things different in 78 % of cases",
    ),
    ThreatKind.CONDITIONS_DIFFER: ThreatTemplate(
        "the runs were not asked for the same work, or not asked in the same way: what differs "
        "besides the arm is part of the effect",
        "run both arms by the same job file and the same version; where one of these is what is "
        "compared, see that it is the only one",
    ),
    ThreatKind.DRIFT_OR_ARM: ThreatTemplate(
        "arms were measured one after the other, and the level moved inside an arm by half of what "
        "they differ or more: a course of time like that explains the difference too",
        "measure again, the arms by turns in random order",
        invalidates=True,
    ),
    ThreatKind.LEVEL_MOVED: ThreatTemplate(
        "something besides the arms changed while they were measured: other load, caches, a full "
        "disk, maintenance",
        "find what happened then; compare row by row, so that both arms of a row share it",
    ),
    ThreatKind.ROWS_DEPEND: ThreatTemplate(
        "a row resembles the one before it, or so few rows cannot rule it out: then they tell less "
        "than their number says",
        "draw the order of the arms at random, which makes rows independent (--order random says "
        "so), or measure more rows",
    ),
    ThreatKind.FEW_ROWS_DECIDE: ThreatTemplate(
        "a storm, a stall or a slip of the pen: the result rests on a few rows",
        "look at those rows; they stay in, since a stall is a part of what users feel",
    ),
    ThreatKind.CENTRES_DISAGREE: ThreatTemplate(
        "the effect sits in a few rows, or rows are skewed: totals and typical rows tell different "
        "stories",
        "say which is asked: what the work takes in all (mean) or a typical row (median)",
    ),
    ThreatKind.ORDER_LOST: ThreatTemplate(
        "rows out of their order in time (sorted, named, in files of unknown order) hide drift, "
        "steps and what neighbours share",
        "judge the numbers in the order in which they were measured, and say --order",
    ),
    ThreatKind.TOO_FEW_ROWS: ThreatTemplate(
        "no valid test can tell chance from effect with fewer than 8 independent repetitions",
        "measure more of them; the interval shown is a t interval",
    ),
    ThreatKind.ONE_RUN: ThreatTemplate(
        "seconds and transactions of one run are no repetitions: starts of the same server have "
        "differed by 4–7 %, and the interval holds none of that",
        "measure every arm at least 8 times, restarted, in random order, and give every run as a "
        "file of its own",
    ),
    ThreatKind.NO_SPREAD: ThreatTemplate(
        "one value per arm has no spread: the same arm measured again may differ as much",
        "repeat both arms in random order; the repetitions needed are named above",
    ),
}
