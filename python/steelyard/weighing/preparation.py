"""Makes a weighing ready: finds the engines, loads the data once, lays out the slots."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from steelyard.readings.progress import Progress
from steelyard.study.plan import draw_design
from steelyard.study.study import Study
from steelyard.weighing.laboratory import Laboratory
from steelyard.weighing.recording import Kept
from steelyard.weighing.setup import Setup
from steelyard.weighing.stand import Prepared, Stand
from steelyard.workloads.scripts import Script


@contextmanager
def prepare(kept: Kept, laboratory: Laboratory, progress: Progress) -> Iterator[Setup]:
    """A weighing made ready; whatever stands is stopped when it is left."""
    study = kept.question.study
    scripts = laboratory.scripts(study)
    cost, cost_why = which_cost(study, scripts)
    arms = []
    for arm in study.every_arm:
        engine = laboratory.engine(arm)
        template = laboratory.template(engine, study, progress.stage)
        arms.append(Prepared(arm, engine, template, study.settings_of(arm)))
    stand = Stand(arms, laboratory.slot, laboratory.write_back)
    try:
        yield Setup(
            laboratory=laboratory,
            study=study,
            design=draw_design(study, kept.question.seed, cost),
            cost=cost,
            cost_why=cost_why,
            stand=stand,
            scripts=scripts,
            record=kept.record,
        )
    finally:
        stand.take_down()


def which_cost(study: Study, scripts: tuple[Script, ...]) -> tuple[str, str]:
    """ "foreground" or "whole", and why: work that writes leaves a debt behind."""
    if study.cost != "auto":
        return study.cost, "the study says so"
    if any(script.writes for script in scripts):
        return "whole", "the work writes: what it leaves to the background is charged to its arm"
    return "foreground", "the work only reads"
