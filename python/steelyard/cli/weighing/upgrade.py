"""Weighs the user's own work after the rehearsal of an upgrade, by study `upgrade`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.cli.options.weigh_options import changes_of
from steelyard.cli.weighing.campaign import verdict_in
from steelyard.cli.weighing.reproduce import run
from steelyard.model.errors import SteelyardError, UsageError
from steelyard.record.record import PLAN, require_unused, stamp
from steelyard.record.verdict import Verdict
from steelyard.study.read import read_study
from steelyard.workloads.reading.resolved import resolve, resolve_workload

STUDY = "upgrade"


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
