"""Weighs the user's own work after the rehearsal of an upgrade, by study `upgrade`, and words that
for its page: the command, the parts, the plans.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten

from steelyard.cli.options.weigh_options import changes_of
from steelyard.cli.views.text_layout import rest_in_report
from steelyard.cli.views.upgrades.sections import Block, Commands, Section, SectionTable
from steelyard.cli.weighing.campaign import verdict_in
from steelyard.cli.weighing.reproduce import run
from steelyard.engines.postgres.upgrade.outcome import UpgradeOutcome
from steelyard.model.errors import SteelyardError, UsageError
from steelyard.model.latency_goal import metric_words
from steelyard.record.record import PLAN, require_unused, stamp
from steelyard.record.verdict import FlippedPlan, ScriptTime, Verdict
from steelyard.report.answer.scripts import script_counts, script_rows
from steelyard.report.plans import time_text
from steelyard.study.read import read_study
from steelyard.wording.contrast_text import reading_text, shown_sentence
from steelyard.workloads.reading.resolved import resolve, resolve_workload

STUDY = "upgrade"
TITLE = "Faster or slower for you"
_MOST_SCRIPTS, _MOST_PLANS, _MOST_STATEMENT = 10, 8, 60
_YOURS = ("-f", "YOUR.sql", "--budget", "20m")
_SYSTEM = ("postgres", "template1")


@dataclass(frozen=True)
class OwnWork:
    """What is driven on the old version and on the new one, and for how long."""

    workload: str | None
    files: tuple[str, ...]
    budget: str | None
    database: str | None
    changes: tuple[str, ...]
    record: Path | None

    @property
    def given(self) -> bool:
        """Whether there is anything to drive."""
        return bool(self.workload or self.files)

    def require_sound(self) -> None:
        """UsageError, StudyError or RecordError, before anything is copied: an option that belongs
        to work which is not named, a key that the study has not, a script that is missing or wrong,
        a place for the record where something stands."""
        if not self.given:
            options = {
                "--budget": self.budget,
                "--database": self.database,
                "--set": self.changes,
                "--record": self.record,
            }
            unused = [name for name, value in options.items() if value]
            if unused:
                raise UsageError(
                    f"option {unused[0]} belongs to the weighing of your own work",
                    hint="Name what is to be driven: -f SCRIPT or --workload FOLDER.",
                )
            return
        changes = changes_of(self.changes, self.budget, self.workload, self.files)
        study = resolve_workload(read_study(STUDY, changes))
        resolve(study.workload, study.engine)
        if self.record is not None:
            require_unused(self.record)

    def options(self) -> list[str]:
        """As `steelyard weigh` has them."""
        pairs = [
            *[("--workload", self.workload or "")][: bool(self.workload)],
            *(("-f", file) for file in self.files),
            *[("--database", self.database or "")][: bool(self.database)],
            *[("--budget", self.budget or "")][: bool(self.budget)],
            *(("--set", change) for change in self.changes),
        ]
        return [word for pair in pairs for word in pair]


def weigh_own_work(arguments: Sequence[str], record: Path | None, account: str | None) -> Verdict:
    """The verdict of `steelyard ARGUMENTS`, a process of its own. SteelyardError: it failed;
    KeyboardInterrupt: it was interrupted. What was measured is kept in its record."""
    directory = record or Path("records") / STUDY / stamp()
    more = [] if account is None else ["--as", account]
    status = run([*arguments, *more, "--record", str(directory)])
    verdict = verdict_in(directory)
    if status != 0 or verdict is None:
        planned = (directory / PLAN).is_file()
        resume = ["steelyard", "weigh", "--resume", str(directory)]
        raise SteelyardError(
            f"your work could not be weighed: `steelyard weigh` ended with status {status}",
            detail="Its error stands above. The rehearsal itself is complete.",
            hint=f"Resume it: {shlex.join(resume)}" if planned else None,
        )
    return verdict


def weighing_words(
    outcome: UpgradeOutcome, source: Sequence[str], work: Sequence[str]
) -> tuple[str, ...]:
    """The arguments of `steelyard` that weigh study `upgrade` with the builds and the checksums of
    the rehearsal. One load of each: all are copies of one original, and share its pages. `source`:
    options of the data; `work`: of what is driven, and how long."""
    changes = [("control", outcome.old_engine, outcome.old_bindir, outcome.old_checksums)]
    for arm in ("after", "checksums", "shipped"):
        checksums = outcome.old_checksums is (arm != "checksums")
        changes.append((f"arm.{arm}", outcome.new_engine, outcome.new_bindir, checksums))
    arguments = ["weigh", "upgrade", *source, "--set", "workload.loads=1", *work]
    for arm, engine, bindir, checksums in changes:
        build = f"version={engine}" if engine else f"bindir={bindir}"
        arguments += ["--set", f"{arm}.{build}"]
        if checksums is not (arm == "arm.checksums"):  # as the study has it
            arguments += ["--set", f"{arm}.checksums={'true' if checksums else 'false'}"]
    return tuple(arguments)


def proposed_weighing(
    outcome: UpgradeOutcome, source: Sequence[str], builds: Sequence[str]
) -> Section:
    """The section where nothing was driven: what weighs it. `builds`: options that name them."""
    data = [*source, "--database", largest_database(outcome)]
    again = shlex.join(["steelyard", "upgrade", *data, "--to", outcome.new_major, *builds])
    arguments = weighing_words(outcome, data, _YOURS)
    return Section(
        TITLE,
        (
            "Not weighed. Name your scripts (-f q.sql) or captured work (--workload FOLDER) and a "
            "budget, and the rehearsal weighs it on this data in both versions, and puts it here:",
            Commands((f"{again} {shlex.join(_YOURS)}",)),
            "Without another rehearsal:",
            Commands((f"steelyard {shlex.join(arguments)}",)),
        ),
    )


def largest_database(outcome: UpgradeOutcome) -> str:
    """The name of the largest one that is a user's."""
    sizes = {name: size for name, size in outcome.databases.items() if name not in _SYSTEM}
    return max(sizes or outcome.databases, key=outcome.databases.__getitem__, default="postgres")


def weighed_section(outcome: UpgradeOutcome, verdict: Verdict, again: Sequence[str]) -> Section:
    """The section of a weighing of study `upgrade`. `again`: its arguments."""
    return Section(TITLE, tuple(_blocks(outcome, verdict, again)))


def _blocks(outcome: UpgradeOutcome, verdict: Verdict, again: Sequence[str]) -> Iterator[Block]:
    yield shown_sentence(verdict.contrasts[0])
    labels = _labels(outcome)
    lines = verdict.every_contrast
    yield SectionTable(
        ("", metric_words(verdict.contrasts[0].metric), "verdict"),
        tuple((labels[n], reading_text(line), line.verdict) for n, line in enumerate(lines)),
    )
    yield (
        f"95 % intervals, each its own, {verdict.contrasts[0].epochs} epochs in {verdict.layout}. "
        "The lines of one thing alone are parts of those above them, over the same epochs."
    )
    for label, contrast in zip(labels, verdict.contrasts, strict=False):
        arm = contrast.arm
        yield from _scripts(label, [row for row in verdict.scripts if row.arm == arm])
        yield from _plans(label, [row for row in verdict.plans if row.arm == arm])
    doubts = dict.fromkeys(threat.name for line in lines for threat in line.threats)
    if doubts:
        yield f"doubts, with causes and advice in the report: {', '.join(doubts)}"
    yield f"record {verdict.record}; its report.html shows epochs, times and every plan. Again:"
    yield Commands((f"steelyard {shlex.join(again)}",))


def _labels(outcome: UpgradeOutcome) -> tuple[str, ...]:
    """What the arms of the study stand for, its contrasts first, then its pairs."""
    other = "without" if outcome.old_checksums else "with"
    return (
        "the upgrade, all else as before",
        f"it {other} checksums",
        "it with new defaults",
        "checksums alone" if not outcome.old_checksums else "no checksums alone",
        "new defaults alone",
    )


def _scripts(label: str, rows: Sequence[ScriptTime]) -> Iterator[Block]:
    """Each script of a mix by itself, the worst first."""
    if not rows:
        return
    yield f"scripts, {label}: {script_counts(rows)}"
    worst = script_rows(rows)[:_MOST_SCRIPTS]
    yield SectionTable(
        ("script", "of time", "before", "after", "change"),
        tuple(
            (row["metric"], row["share"], row["control"], row["arm"], row["reading"])
            for row in worst
        ),
    )
    yield from rest_in_report(len(rows) - len(worst))


def _plans(label: str, rows: Sequence[FlippedPlan]) -> Iterator[Block]:
    for row in rows[:_MOST_PLANS]:
        time = f"; {time_text(row.time)}" if row.time else ""
        statement = shorten(row.statement, _MOST_STATEMENT, placeholder=" …")
        yield f"- plan flipped, {label}: {'; '.join(row.flips)}{time} ({statement})"
    yield from rest_in_report(len(rows) - _MOST_PLANS, "plans")
