"""Weighs into a place that is known beforehand: begins, goes on, or reads what is there already."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from steelyard.cli.views.live_view import open_view
from steelyard.record.record import Record
from steelyard.record.recorded import read_verdict
from steelyard.record.verdict import Verdict
from steelyard.report.page import write_report
from steelyard.running.preparing.recording import Question
from steelyard.running.world import World
from steelyard.study.study import Study
from steelyard.weigh import weigh


def weigh_into(study: Study, seed: int, place: Path, account: str | None) -> Verdict:
    """The verdict of a weighing in `place`, whatever of it was done before."""
    known = read_verdict(Record.open(place)) if (place / "verdict.json").is_file() else None
    if known is not None and not known.interrupted:
        if not (place / "report.html").is_file():
            write_report(place)  # it was killed after its verdict
        return known
    planned = (place / "plan.json").is_file()
    if place.exists() and not planned:
        shutil.rmtree(place)  # nothing was measured in it
    question = Question(
        study,
        seed,
        record=None if planned else place,
        resume=place if planned else None,
        command=("steelyard", "weigh", str(place / "study.toml"), "--seed", str(seed)),
    )
    with World(account) as world, open_view(sys.stderr) as view:
        return weigh(question, world, view)
