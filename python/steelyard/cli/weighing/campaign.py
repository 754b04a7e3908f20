"""Runs a campaign: several weighings in one folder, begun, interrupted and resumed as one.

A sweep, a bisection, a search of settings and a repetition of a published study differ in what they
weigh next. What they share is here: the plan that is written before the first weighing, a record
for each of them, the command that goes on with it, and what came of it, kept and shown.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from steelyard.cli.command_line import say
from steelyard.cli.options.address_options import agreed_at_address, require_own_servers
from steelyard.cli.views.live_view import open_view
from steelyard.history.question import keys_of
from steelyard.model.errors import EngineError, RecordError, SteelyardError, UsageError
from steelyard.model.files.own_directory import OwnDirectory, write_whole
from steelyard.model.secrets.redaction import redacted_json
from steelyard.record.ledger import LEDGER
from steelyard.record.reader import VERDICT, read_plan, read_telemetry, read_verdict
from steelyard.record.record import PLAN, STUDY_FILE, Json, Record, in_use, read_object, stamp
from steelyard.record.verdict import Verdict
from steelyard.report.page import write_report
from steelyard.running.measuring.epoch import COMPLETE
from steelyard.running.preparing.recording import Question
from steelyard.running.world import LocalLaboratory
from steelyard.study.read import read_recorded_study
from steelyard.study.study import Study
from steelyard.verdict.rejudge import MOST_LOST_IN_A_ROW
from steelyard.weigh import weigh
from steelyard.workloads.loading.imported_data import resolve_source


class OtherStudyError(UsageError):
    """A weighing of a campaign is there already, of another study than the one to be weighed."""


@dataclass(frozen=True)
class CampaignKind:
    """What campaigns of a kind are called, where they keep their plan, and what resumes one."""

    noun: str
    """With its article: `"a sweep"`."""
    plan_file: str
    resumed_by: tuple[str, ...]
    """The command, before the option --resume: `("history", "bisect")`."""

    def begin(
        self, folder: Path | None, usual: str, plan: Mapping[str, Any], account: str | None = None
    ) -> Campaign:
        """A new campaign with its plan written: in the folder that was asked for, or in one below
        `records/` and the `usual` one. RecordError: something is there already, or it cannot be
        made."""
        folder = folder or Path("records") / usual / stamp()
        campaign = Campaign(self, folder, account)
        if os.path.lexists(folder):
            begun = (folder / self.plan_file).is_file()
            raise RecordError(
                f'cannot keep {self.noun} in "{folder}": it exists',
                hint=f"Go on with the one in it: {campaign.resuming_command}" if begun else None,
            )
        try:
            OwnDirectory.make(folder)
        except OSError as reason:
            raise RecordError(
                f'cannot keep {self.noun} in "{folder}": {reason.strerror}',
                hint="Name a place that can be written: --record DIR",
            ) from reason
        campaign.keep(self.plan_file, plan)
        return campaign

    def open(self, folder: Path, account: str | None = None) -> Campaign:
        """The campaign of a folder. RecordError: it holds none of this kind."""
        if not (folder / self.plan_file).is_file():
            noun = self.noun.partition(" ")[2]
            raise RecordError(f'"{folder}" is no {noun}: it has no {self.plan_file}')
        return Campaign(self, folder, account)


@dataclass(frozen=True)
class Campaign:
    """Several weighings in a folder, which has a plan."""

    kind: CampaignKind
    folder: Path
    account: str | None = None
    """The servers' account."""
    agreed: bool = False
    """To write at an address."""

    @property
    def plan_file(self) -> Path:
        """Where its plan is."""
        return self.folder / self.kind.plan_file

    def plan(self) -> Json:
        """As it was written. RecordError: it cannot be read."""
        return read_object(self.plan_file)

    @property
    def resuming_command(self) -> str:
        """To be pasted."""
        return shlex.join(["steelyard", *self._resuming_words])

    @contextmanager
    def resumable(self) -> Iterator[None]:
        """Weigh into its folder from this process alone, and say what goes on with it where it is
        ended from outside. RecordError: another process does."""
        with OwnDirectory.open(self.folder) as folder:
            if not folder.hold():
                raise in_use(self.kind.noun.partition(" ")[2], self.folder)
            with resumable_by(*self._resuming_words):
                yield

    def weigh(self, study: Study, seed: int, name: str) -> Verdict:
        """The verdict of the record of that name, whatever of it was done before. UsageError: it
        would write at an address, or an account is named for a server that runs; KeyboardInterrupt:
        it was interrupted, and so is the campaign."""
        study = agreed_at_address(study, agreed=self.agreed)
        require_own_servers(study, self.account)
        verdict = weigh_into(study, seed, self.folder / name, self.account)
        if verdict.interrupted:
            raise KeyboardInterrupt
        return verdict

    def try_to_weigh(self, study: Callable[[], Study], seed: int, name: str) -> Verdict | str:
        """The same; why, in a line, where the study cannot be made or weighed. OtherStudyError."""
        try:
            return self.weigh(study(), seed, name)
        except OtherStudyError:
            raise
        except SteelyardError as failure:
            is_engines = isinstance(failure, EngineError)
            verdict = final_verdict(self.folder / name) if is_engines else None
            if verdict is not None:  # what failed was the cleanup after it
                say(str(failure))
            return verdict or failure.primary.partition("\n")[0]

    def keep(self, file: str, document: Mapping[str, Any]) -> None:
        """Write what is planned, or what came of it, without secrets."""
        text = json.dumps(redacted_json(document), indent=1)
        write_whole(self.folder / file, text + "\n")

    @property
    def _resuming_words(self) -> tuple[str, ...]:
        return (*self.kind.resumed_by, "--resume", str(self.folder))


def show(document: Mapping[str, Any], lines: Iterable[str], *, as_json: bool) -> None:
    """Print what came of a campaign: one JSON object, or lines for a terminal."""
    typer.echo(json.dumps(document) if as_json else "\n".join(lines))


@contextmanager
def resumable_by(*arguments: str) -> Iterator[None]:
    """Say where it is ended from outside what goes on with it: `steelyard ARGUMENTS`, to be
    pasted."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):  # by Ctrl-C, or by SIGTERM and the like
        say(f"go on: {shlex.join(['steelyard', *arguments])}")
        raise


def verdict_in(directory: Path) -> Verdict | None:
    """What a record came to; None: it was not judged, or is not there."""
    judged = (directory / VERDICT).is_file()
    return read_verdict(Record.open(directory)) if judged else None


def final_verdict(directory: Path) -> Verdict | None:
    """The same of one that does not go on. What was interrupted does, and what was given up: it has
    a verdict of what there was, which was an error when it was weighed."""
    verdict = verdict_in(directory)
    ended = verdict is not None and not verdict.interrupted and not was_given_up(directory)
    return verdict if ended else None


def was_given_up(directory: Path) -> bool:
    """Whether too many epochs in a row were lost before its plan ended: what keeps killing an arm
    may have been mended since."""
    record = Record.open(directory)
    outcomes = [line.outcome for line in read_telemetry(record).epochs]
    last = outcomes[-MOST_LOST_IN_A_ROW:]
    lost = len(last) == MOST_LOST_IN_A_ROW and COMPLETE not in last
    return lost and len(outcomes) < read_plan(record).epochs


_WORDS = frozenset({"name", "title", "question"})
"""Keys of a study that change nothing of what is weighed."""


def _require_same_study(directory: Path, study: Study) -> None:
    """OtherStudyError: the file of the study, or what it is made of, was changed since."""
    before, now = keys_of(read_recorded_study(directory / STUDY_FILE)), keys_of(study)
    apart = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    changed = [key for key in apart if key not in _WORDS]
    if changed:
        key, *more = changed
        raise OtherStudyError(
            f'"{directory}" was weighed by another study: {key} was '
            f"{before.get(key, 'not set')}, is {now.get(key, 'not set')}",
            detail=f"{len(more)} more keys differ: {', '.join(more)}." if more else None,
            hint="Put the study back as it was, or begin anew in another folder: --record DIR.",
        )


def weigh_into(study: Study, seed: int, directory: Path, account: str | None) -> Verdict:
    """The verdict of a weighing in a directory, whatever of it was done before. OtherStudyError:
    that is of another study."""
    planned = (directory / PLAN).is_file()
    study = resolve_source(study, version_named=True)  # files of their time, in the record
    if planned:
        _require_same_study(directory, study)
    verdict = final_verdict(directory)
    if verdict is not None:
        if not (directory / "report.html").is_file():
            write_report(directory)  # it was killed after its verdict
        return verdict
    if os.path.lexists(directory) and not planned:
        OwnDirectory.open(directory).close()
        shutil.rmtree(directory)  # nothing was measured in it
    question = Question(
        study,
        seed,
        record=None if planned else directory,
        resume=directory if planned else None,
        command=("steelyard", "weigh", str(directory / "study.toml"), "--seed", str(seed)),
        ledger=LEDGER,
    )
    with LocalLaboratory(account) as world, open_view(sys.stderr) as view:
        return weigh(question, world, view)
