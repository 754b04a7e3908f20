"""Makes a weighing ready: finds the engines, loads the data once, lays out the slots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from steelyard.engines.capabilities.counters import LogTiming, StatementCounting
from steelyard.engines.capabilities.external import TCP, TLS, ExternalServer, Listening
from steelyard.engines.capabilities.settings import SettingsCheck
from steelyard.engines.defer_signals import stopping
from steelyard.engines.engine import Engine, Settings
from steelyard.model.errors import StudyError
from steelyard.model.units import format_duration
from steelyard.record.machine import MemoryPlan
from steelyard.running.external_slots import (
    Databases,
    Sessions,
    notices,
    require_read_only,
    round_trips,
)
from steelyard.running.laboratory import Laboratory, WorkloadData
from steelyard.running.layout import Layout
from steelyard.running.layout_choice import LAYOUTS, resumed_layout
from steelyard.running.measuring.counted import require_whole_passes
from steelyard.running.measuring.epoch import logs_on_failure
from steelyard.running.measuring.load import require_no_long_pause
from steelyard.running.measuring.slots import Prepared, Slots
from steelyard.running.preparing.build_comparison import (
    BuildComparison,
    compare_builds,
    require_known_settings,
    require_unlike_builds,
)
from steelyard.running.preparing.memory_cap import cap_memory
from steelyard.running.preparing.memory_room import MemoryRoom, memory_room, pool_bytes
from steelyard.running.preparing.needs import (
    require_abilities,
    require_effects,
    require_machines,
    require_needs,
)
from steelyard.running.preparing.places import OpenPlaces, open_places
from steelyard.running.preparing.recording import OpenRecord
from steelyard.running.preparing.server_settings import (
    LaidSettings,
    lay_settings,
)
from steelyard.running.preparing.setup import Setup
from steelyard.running.preparing.standbys_and_poolers import (
    data_directories,
    replication_of,
    require_connections,
    require_poolers,
    require_replicated_work,
    require_replication,
    standbys_of,
)
from steelyard.running.stopwatch import Progress
from steelyard.running.turns.pilot import idle_length_notes
from steelyard.study.arm import Arm
from steelyard.study.design import draw_design
from steelyard.study.study import Study
from steelyard.workloads.reading.resolved import data_bytes


@contextmanager
def prepare(opened: OpenRecord, laboratory: Laboratory, progress: Progress) -> Iterator[Setup]:
    """A weighing made ready; every server is stopped at the end, and the record closed where it
    fails. What goes on with it is said where it is ended from outside.

    A weighing that ends before anything was measured leaves no record, but the servers' logs where
    one of them would not start.
    """
    study = opened.question.study
    try:
        require_machines(study, laboratory)
        data = laboratory.data.open(study)
        require_no_long_pause(study, data.scripts)
        require_replicated_work(study, data.scripts)
        if study.workload.pace is not None:
            data.replay(study.workload.pace)  # what it lacks is said before anything is loaded
        engines = {} if study.is_external else _engines(opened, laboratory, data)
        chosen = resumed_layout(
            opened, data.scripts, lambda: _memory_room(study, data, engines, laboratory)
        )
        layout = LAYOUTS[chosen.name]
        places = None if study.is_external else open_places(study, laboratory)
        slots, builds, memory, laid = (
            (*_reach(opened, data, laboratory, layout, progress), None, None)
            if places is None
            else _own_servers(opened, data, engines, laboratory, layout, places, progress)
        )
        cost = layout.cost(study, data.scripts)
        setup = Setup(
            laboratory=laboratory,
            study=study,
            design=draw_design(study, opened.question.seed, cost.value),
            layout=chosen,
            cost=cost,
            slots=slots,
            data=data,
            record=opened.record,
            builds=builds,
            memory=memory,
            places={} if places is None else places.plan,
            places_drawn=places is None or places.files.drawn,
            laid=laid,
            spent=opened.spent,
            left_out=(),
        )
        with stopping(slots.stop_arms), logs_on_failure(setup):
            yield setup
    except BaseException as ending:
        opened.record.discard_if_bare()
        opened.record.close()
        if isinstance(ending, KeyboardInterrupt | SystemExit) and opened.resuming_command:
            progress.note(f"go on: {opened.resuming_command}")
        raise


def _own_servers(
    opened: OpenRecord,
    data: WorkloadData,
    engines: Mapping[str, Engine],
    laboratory: Laboratory,
    layout: Layout,
    places: OpenPlaces,
    progress: Progress,
) -> tuple[Slots, BuildComparison, MemoryPlan | None, LaidSettings | None]:
    """The slots in which the arms' servers will be started."""
    stopwatch, study = opened.spent.stopwatch, opened.question.study
    with stopwatch("find engines"):
        for engine in engines.values():
            layout.require_engine(engine)
        at_once = layout.concurrent_servers(study)
        laid = lay_settings(
            study, data.server_settings(), engines, laboratory, progress, at_once=at_once
        )
        effective = study if laid is None else laid.in_effect(study)
        require_replication(effective)
        require_needs(effective, engines, laboratory)
        require_poolers(effective, engines)
        require_connections(effective, engines)
        memory = cap_memory(effective, engines, laboratory, at_once=at_once)
        builds = compare_builds(effective, engines, laboratory, progress)
    _note_other_loads(laboratory, progress)
    for note in filter(None, (*_announced(opened, layout), places.note)):
        progress.note(note)
    with stopwatch("load data"):
        templates = _templates(effective, engines, builds, data, progress)
        places.require_room(templates)
    arms = _arms(effective, engines, builds, templates, laid)
    # Pages that stayed in memory would be read there, and charged to no arm.
    evict = laboratory.engines.evict if memory is not None else None
    ours = laboratory.engines
    slots = Slots(arms, ours.slot, ours.write_back, stopwatch, evict, places.files)
    return slots, builds, memory, laid


def _reach(
    opened: OpenRecord,
    data: WorkloadData,
    laboratory: Laboratory,
    layout: Layout,
    progress: Progress,
) -> tuple[Sessions, BuildComparison]:
    """The arms at their addresses; nothing is started, and nothing made yet. UsageError: a server
    does not hold what the scripts work on, or lets sessions write that are not to."""
    study = opened.question.study
    require_whole_passes(study)
    progress.stage("reach the servers")
    with opened.spent.stopwatch("find engines"):
        arms = laboratory.engines.reach(study, data.database)
        ruled = {name: arm for name, arm in arms.items() if isinstance(arm, ExternalServer)}
        if len(ruled) == len(arms):
            require_effects(study, ruled, data.scripts)
        require_read_only(study, arms)
        for instance in () if study.uses_own_databases else arms.values():
            data.require_loaded(instance)
        for notice in (*_announced(opened, layout), *notices(arms)):
            progress.note(notice)
        for arm, taken_ns in round_trips(arms).items():
            progress.note(f"a round trip of {arm} takes {format_duration(taken_ns)}")
    _note_other_loads(laboratory, progress)
    same = BuildComparison(dict.fromkeys(arms, study.control.name), 1, study.defaults)
    if study.uses_own_databases:
        return Databases(arms, data.fill, opened.spent.stopwatch, progress), same
    return Sessions(arms), same


def _announced(opened: OpenRecord, layout: Layout) -> Iterator[str]:
    """What a weighing takes at most, and which lengths of its study are not of its layout."""
    study = opened.question.study
    if not opened.resumed:
        words = layout.announcement(study), *idle_length_notes(study, layout.name)
        yield from filter(None, words)


def _note_other_loads(laboratory: Laboratory, progress: Progress) -> None:
    """Said once the question was accepted: what is refused measures nothing, and is not slowed."""
    loads = [f"{load.command} (process {load.pid})" for load in laboratory.host.other_loads()]
    if loads:
        others = ", ".join(loads[:_MOST_LOADS])
        more = f" and {len(loads) - _MOST_LOADS} more" if len(loads) > _MOST_LOADS else ""
        progress.note(
            f"another measurement is under way on this machine: {others}{more}; "
            f"{'both' if len(loads) == 1 else 'all'} are slowed, and their verdicts say so"
        )


_MOST_LOADS = 3
"""Named; of more their number is said."""


def _engines(
    opened: OpenRecord, laboratory: Laboratory, data: WorkloadData
) -> Mapping[str, Engine]:
    """Arm → its engine; errors are raised before data is loaded."""
    study = opened.question.study
    with opened.spent.stopwatch("find engines"):
        engines = laboratory.engines.of_arms(study)
        require_whole_passes(study)
        require_unlike_builds(study, engines)
        require_abilities(study, engines)
        require_effects(study, engines, data.scripts)
        require_known_settings(study, engines)
        usual = {} if study.source is None else study.source.beneath
        for arm in study.every_arm:
            engine = engines[arm.name]
            if isinstance(engine, SettingsCheck):
                engine.validate({**usual, **study.settings_of(arm)})
    return engines


def _memory_room(
    study: Study, data: WorkloadData, engines: Mapping[str, Engine], laboratory: Laboratory
) -> MemoryRoom:
    """What all arms take of memory at once, by their settings and by what their data's server has
    where they say nothing; data of unknown size count once they are loaded."""
    offered = data.server_settings()
    usual = {} if offered is None else offered.settings
    pools = {
        arm.name: pool_bytes(engines[arm.name], {**usual, **study.settings_of(arm)})
        for arm in study.every_arm
    }
    free = laboratory.host.sample().memory_available_bytes
    return memory_room(study, pools, data_bytes(study) or 0, free)


def _arms(
    study: Study,
    engines: Mapping[str, Engine],
    builds: BuildComparison,
    templates: Mapping[str, tuple[Path, ...]],
    laid: LaidSettings | None,
) -> list[Prepared]:
    """Every arm of a study, as its servers will be set, with its engine and its data."""
    settings = {arm.name: builds.settings_of(study, arm) for arm in study.every_arm}
    timing = _log_timing(study, engines, settings)
    full = {
        name: _reached(
            study, engines[name], _counted(study, engines[name], {**arm_settings, **timing})
        )
        for name, arm_settings in settings.items()
    }
    full = {
        arm.name: {**replication_of(arm, engines[arm.name]), **full[arm.name]}
        for arm in study.every_arm
    }
    return [
        Prepared(
            arm=arm,
            engine=engines[arm.name],
            templates=templates[arm.name],
            settings=full[arm.name] if laid is None else laid.start_settings(full[arm.name]),
            beneath=None if laid is None else laid.file,
            standbys=standbys_of(arm),
        )
        for arm in study.every_arm
    ]


def _log_timing(
    study: Study, engines: Mapping[str, Engine], settings: Mapping[str, Settings]
) -> Settings:
    """What makes every server time its log; nothing where an arm is not to be watched, or says
    itself whether the log is timed."""
    timings = [
        engine.log_timing(settings[arm]) if isinstance(engine, LogTiming) else {}
        for arm, engine in engines.items()
    ]
    watched = all(arm.telemetry for arm in study.every_arm)
    return timings[0] if watched and all(timing == timings[0] for timing in timings) else {}


def _counted(study: Study, engine: Engine, settings: Settings) -> Settings:
    """An arm's settings, with what makes its server count statements where the study asks."""
    if not study.statement_counters:
        return settings
    if not isinstance(engine, StatementCounting):
        raise StudyError(
            f'engine "{engine.identity.kind}" cannot count statements',
            hint="Leave out statement_counters.",
        )
    return {**settings, **engine.statement_counting(settings)}


def _reached(study: Study, engine: Engine, settings: Settings) -> Settings:
    """An arm's settings, with what lets clients reach it as any arm is reached: the same for all,
    so that arms differ in the way their clients take alone."""
    ways = {arm.connect for arm in study.every_arm if arm.pooler is None}
    if ways.isdisjoint((TCP, TLS)):
        return settings
    if not isinstance(engine, Listening):
        raise StudyError(
            f'clients cannot reach engine "{engine.identity.kind}" by TCP',
            hint='Leave out "connect".',
        )
    return {**settings, **engine.listening(encrypted=TLS in ways)}


def _templates(
    study: Study,
    engines: Mapping[str, Engine],
    builds: BuildComparison,
    data: WorkloadData,
    progress: Progress,
) -> dict[str, tuple[Path, ...]]:
    """Arm → the loads of its data, made where they are missing."""
    loaders = list(dict.fromkeys(builds.loaders.values()))
    engines = {loader: builds.loading(study, loader, engines[loader]) for loader in loaders}
    every = len(loaders) * builds.loads
    copies = every * data_directories(study)
    templates: dict[str, tuple[Path, ...]] = {}
    for index, loader in enumerate(loaders):
        product = engines[loader].identity.product
        loads = []
        for number in range(builds.loads):
            left = every - index * builds.loads - number - 1
            which = f" of {product}" if every > 1 else ""
            which += f", load {number + 1} of {builds.loads}" if builds.loads > 1 else ""

            def report(stage: str, which: str = which) -> None:
                progress.stage(f"{stage}{which}")

            loads.append(
                data.template(engines[loader], report, number=number, copies=copies + left)
            )
        templates[loader] = tuple(loads)
    data.release_source()
    return {
        arm.name: _altered(study, arm, engines[loader], templates[loader], data, progress)
        for arm, loader in ((arm, builds.loaders[arm.name]) for arm in study.every_arm)
    }


def _altered(
    study: Study,
    arm: Arm,
    engine: Engine,
    loads: tuple[Path, ...],
    data: WorkloadData,
    progress: Progress,
) -> tuple[Path, ...]:
    """The loads with the arm's SQL executed in them; as they are where it has none."""
    statements, copies = study.sql_of(arm), data_directories(study)
    if not statements:
        return loads
    return tuple(
        data.with_arm_sql(engine, load, statements, arm.name, progress.stage, copies=copies)
        for load in loads
    )
