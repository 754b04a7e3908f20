"""Makes a weighing ready: finds the engines, loads the data once, lays out the slots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from steelyard.engines.engine import Choosy, Engine
from steelyard.model.errors import ServerError, StudyError
from steelyard.running.build_comparison import Kinship, compare_builds
from steelyard.running.counted import require_whole_passes
from steelyard.running.laboratory import Laboratory
from steelyard.running.load import require_no_long_pause
from steelyard.running.progress import Progress
from steelyard.running.recording import Kept
from steelyard.running.setup import Setup
from steelyard.running.slots import Prepared, Stand
from steelyard.study.design import draw_design
from steelyard.study.study import Study
from steelyard.workloads.reading.scripts import Script

OWN_CONNECTIONS = 10
"""Ours at most: to place, to watch what backends wait for, to checkpoint and count."""


@contextmanager
def prepare(kept: Kept, laboratory: Laboratory, progress: Progress) -> Iterator[Setup]:
    """A weighing made ready; whatever stands is stopped when it is left.

    A weighing that ends before anything was measured leaves no record, but the servers' logs where
    one of them would not start.
    """
    study, began_ns = kept.question.study, laboratory.now_ns()
    try:
        scripts = laboratory.scripts(study)
        require_no_long_pause(study, scripts)
        arms, kinship = _arms(study, laboratory, progress)
        stand = Stand(arms, laboratory.slot, laboratory.write_back)
        cost, cost_why = which_cost(study, scripts)
        setup = Setup(
            laboratory=laboratory,
            study=study,
            design=draw_design(study, kept.question.seed, cost),
            cost=cost,
            cost_why=cost_why,
            stand=stand,
            scripts=scripts,
            record=kept.record,
            kinship=kinship,
            began_ns=began_ns,
        )
        try:
            yield setup
        except ServerError as failure:
            _keep_logs(setup, failure)
            raise
        finally:
            stand.take_down()
    except BaseException:
        kept.record.discard_if_bare()
        raise


def _arms(
    study: Study, laboratory: Laboratory, progress: Progress
) -> tuple[list[Prepared], Kinship]:
    """Every arm with its engine and its data; what is wrong is said before data is loaded."""
    engines = laboratory.engines(study)
    _require_connections(study)
    require_whole_passes(study)
    for arm in study.every_arm:
        engine = engines[arm.name]
        if isinstance(engine, Choosy):
            engine.refuse(study.settings_of(arm))
    kinship = compare_builds(study, engines, laboratory, progress)
    templates = _templates(study, engines, kinship, laboratory, progress)
    prepared = [
        Prepared(
            arm=arm,
            engine=engines[arm.name],
            templates=templates[kinship.loaders[arm.name]],
            settings=kinship.settings_of(study, arm),
        )
        for arm in study.every_arm
    ]
    return prepared, kinship


def _require_connections(study: Study) -> None:
    """StudyError where an arm's server would not take all clients, and us beside them."""
    clients = study.workload.clients
    for arm in study.every_arm:
        said = study.settings_of(arm).get("max_connections", "100")
        allowed = int(said) if said.isdigit() else 0  # what is no number the server refuses itself
        if allowed and clients + OWN_CONNECTIONS > allowed:
            raise StudyError(
                f'{clients} clients are more than arm "{arm.name}" takes: '
                f"max_connections is {allowed}",
                detail=f"{OWN_CONNECTIONS} connections are needed beside them.",
                hint=f"--set settings.max_connections={clients + OWN_CONNECTIONS}",
            )


def _templates(
    study: Study,
    engines: Mapping[str, Engine],
    kinship: Kinship,
    laboratory: Laboratory,
    progress: Progress,
) -> dict[str, tuple[Path, ...]]:
    """Loader → its loads, made where they are missing."""
    loaders = list(dict.fromkeys(kinship.loaders.values()))
    every = len(loaders) * kinship.loads
    copies = every * len(study.every_arm)
    found: dict[str, tuple[Path, ...]] = {}
    for place, loader in enumerate(loaders):
        version = engines[loader].identity.version
        loads = []
        for number in range(kinship.loads):
            left = every - place * kinship.loads - number - 1
            which = f" of PostgreSQL {version}" if every > 1 else ""
            which += f", load {number + 1} of {kinship.loads}" if kinship.loads > 1 else ""

            def say(stage: str, which: str = which) -> None:
                progress.stage(f"{stage}{which}")

            loads.append(
                laboratory.template(
                    engines[loader], study, say, number=number, copies=copies + left
                )
            )
        found[loader] = tuple(loads)
    return found


def _keep_logs(setup: Setup, failure: ServerError) -> None:
    """The servers' own words go into the record: their directories are about to be removed."""
    for slot, log in setup.laboratory.server_logs().items():
        setup.record.write(f"server-{slot}.log", log)
    failure.hint = f'The servers\' logs are kept in "{setup.record.directory}".'


def which_cost(study: Study, scripts: tuple[Script, ...]) -> tuple[str, str]:
    """ "foreground" or "whole", and why: work that writes leaves a debt behind."""
    if study.cost != "auto":
        return study.cost, "the study says so"
    if any(script.writes for script in scripts):
        return "whole", "the work writes: what it leaves to the background is charged to its arm"
    return "foreground", "the work only reads"
