"""Weighs into a given record folder: begins, resumes, or reads the record that is there already."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steelyard.cli.command_line import say
from steelyard.cli.views.live_view import open_view
from steelyard.model.errors import RecordError
from steelyard.model.files.own_directory import OwnDirectory, write_whole
from steelyard.model.secrets.redaction import redacted_json
from steelyard.record.reader import read_verdict
from steelyard.record.record import PLAN, Record, stamp
from steelyard.record.verdict import Verdict
from steelyard.report.page import write_report
from steelyard.running.preparing.recording import Question
from steelyard.running.world import LocalLaboratory
from steelyard.study.study import Study
from steelyard.weigh import weigh


def begin_folder(
    asked: Path | None, usual: str, what: str, file: str, plan: Mapping[str, Any]
) -> Path:
    """The new folder of several weighings, with its plan in `file`: the one that was asked for, or
    one below `records/` and the `usual` one. RecordError: it exists; `what`: `"a sweep"`."""
    folder = asked or Path("records") / usual / stamp()
    if folder.exists():
        raise RecordError(f'cannot keep {what} in "{folder}": it exists')
    folder.mkdir(parents=True)
    write_plan(folder / file, plan)
    return folder


@contextmanager
def going_on(*words: str) -> Iterator[None]:
    """Say after Ctrl-C what goes on with it: `steelyard WORDS`, to be pasted."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"go on: {shlex.join(['steelyard', *words])}")
        raise


def write_plan(file: Path, told: Mapping[str, Any]) -> None:
    """Write what is planned or was found, without secrets."""
    write_whole(file, json.dumps(redacted_json(told), indent=1) + "\n")


def weigh_into(study: Study, seed: int, place: Path, account: str | None) -> Verdict:
    """The verdict of a weighing in `place`, whatever of it was done before."""
    known = read_verdict(Record.open(place)) if (place / "verdict.json").is_file() else None
    if known is not None and not known.interrupted:
        if not (place / "report.html").is_file():
            write_report(place)  # it was killed after its verdict
        return known
    planned = (place / PLAN).is_file()
    if os.path.lexists(place) and not planned:
        OwnDirectory.open(place).close()
        shutil.rmtree(place)  # nothing was measured in it
    question = Question(
        study,
        seed,
        record=None if planned else place,
        resume=place if planned else None,
        command=("steelyard", "weigh", str(place / "study.toml"), "--seed", str(seed)),
    )
    with LocalLaboratory(account) as world, open_view(sys.stderr) as view:
        return weigh(question, world, view)
