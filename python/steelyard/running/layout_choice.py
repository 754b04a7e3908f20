"""Chooses the layout of a weighing, and says why; refuses changes of keys of a study that have no
effect in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from steelyard.evaluation.threats.checkpoint_distance import ACTS_THROUGH_CHECKPOINTS
from steelyard.model.errors import StudyError
from steelyard.model.setting_value import size_bytes
from steelyard.model.units import NS_PER_S
from steelyard.record.plan import CYCLES, SLICES, TURNS, Choices, LayoutChoice
from steelyard.running.idle_keys import require_counting
from steelyard.running.layout import MOST_ARMS, Cycles, Layout, Slices, Turns
from steelyard.running.preparing.memory_room import MemoryRoom, Room, memory_room
from steelyard.running.preparing.recording import OpenRecord
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.study.address import IN_CYCLES, IN_TURNS, WHOLE_CYCLES
from steelyard.study.arm import Arm
from steelyard.study.budget import BUDGETS, TurnBounds
from steelyard.study.change import key_of
from steelyard.study.study import LayoutName, Study
from steelyard.tuning.profile.basis import memory_here
from steelyard.workloads.reading.resolved import data_bytes, resolve
from steelyard.workloads.reading.scripts import Script

LAYOUTS: Mapping[str, Layout] = {
    layout.name: layout for layout in (Slices(), Turns(), Cycles())
}  # fmt: skip
"""Layout by its name in a study or a plan."""
STORED = frozenset({"autovacuum", "fillfactor", "fsync", "unlogged"})
"""Words of SQL for what acts through checkpoints, beside settings that are named by two words."""
_WORD = re.compile(r"[a-z_]+")
LENGTHS: Mapping[str, frozenset[str]] = {
    f"budget.{key}": frozenset({layout}) for key, layout in BUDGETS.items()
}
COUNTS_IN: Mapping[str, frozenset[str]] = {
    **LENGTHS,
    **dict.fromkeys([f"turns.{key}" for key in TurnBounds.model_fields], WHOLE_CYCLES),
    "cost": frozenset({SLICES}),
}
"""Key → the layouts that it counts in; those that are not here count in all, and of `budget.slice`
turns say themselves that they do not go by it."""


def choose_layout(
    study: Study, scripts: tuple[Script, ...], room: Room = lambda: None
) -> LayoutChoice:
    """The layout, and why: what acts through checkpoints is measured over their cycles, of all arms
    at once where memory has `room` for them. StudyError where the study cannot be weighed so."""
    chosen = preferred_layout(study, scripts, room)
    if not study.is_external:
        layout = LAYOUTS[chosen.name]
        layout.require(study)
        layout.require_room(room)
    return chosen


def preferred_layout(
    study: Study, scripts: tuple[Script, ...], room: Room = lambda: None
) -> LayoutChoice:
    """The layout that suits the question, whether or not budget and memory hold it."""
    if study.is_external:
        why = "an address is neither started nor stopped"
        return LayoutChoice(name=SLICES, why=why)
    if study.layout != "auto":
        return LayoutChoice(name=study.layout, why="the study says so")
    return _by_treatment(study, scripts, room)


def resumed_layout(opened: OpenRecord, scripts: tuple[Script, ...], room: Room) -> LayoutChoice:
    """The layout of a weighing: one that goes on keeps that of its plan."""
    if opened.plan is not None:
        return opened.plan.layout_choice
    return choose_layout(opened.question.study, scripts, room)


def choose(setup: Setup, progress: Progress) -> Choices:
    """What the pilot of the layout chooses: everything that the seed does not decide."""
    return LAYOUTS[setup.layout.name].pilot(setup, progress)


def layout_beforehand(study: Study) -> LayoutName:
    """The layout of a study before its engines are found: its pools are what its settings say."""
    scripts = resolve(study.workload, study.engine).scripts
    return choose_layout(study, scripts, lambda: _room_by_settings(study)).name


def concurrent_servers(study: Study) -> int:
    """How many of the arms' servers run at once, and share the machine's memory."""
    return LAYOUTS[layout_beforehand(study)].concurrent_servers(study)


def _room_by_settings(study: Study) -> MemoryRoom | None:
    """None where the size of the data is not known."""
    size = data_bytes(study)
    if size is None:
        return None
    pools = {
        arm.name: round(size_bytes(study.settings_of(arm).get("shared_buffers", ""), "8kB") or 0)
        for arm in study.every_arm
    }
    return memory_room(study, pools, size, memory_here(None, 1)[0])


def _by_treatment(study: Study, scripts: tuple[Script, ...], room: Room) -> LayoutChoice:
    in_slices = _why_slices(study, scripts)
    if in_slices:
        return LayoutChoice(name=SLICES, why=in_slices)
    through = _through_checkpoints(study)
    if not through:
        return LayoutChoice(name=SLICES, why="no arm differs in what acts through checkpoints")
    acts = "acts" if len(through) == 1 else "act"
    why = f"the work writes, and {' and '.join(through)} {acts} through checkpoints"
    alone = _why_alone(study, room)
    if alone:
        return LayoutChoice(name=TURNS, why=f"{why}; one arm at a time: {alone}")
    arms = "both" if len(study.every_arm) == 2 else f"all {len(study.every_arm)}"
    return LayoutChoice(name=CYCLES, why=f"{why}; memory holds {arms} arms at once")


def _why_slices(study: Study, scripts: tuple[Script, ...]) -> str:
    """Why whole cycles of checkpoints are not to be measured; empty: they are."""
    if study.budget.counted is not None:
        return "they are cut by executions"
    if study.decision.goal is not None:
        return "each is at a rate of its own, and the next follows from it"
    if study.engine not in IN_TURNS:
        return f"the checkpoints of {study.engine} are not seen"
    if not any(script.writes for script in scripts):
        return "the work only reads"
    return ""


def _through_checkpoints(study: Study) -> list[str]:
    """What differs between arms and acts through checkpoints; a profile whose settings are not
    known yet has some that do."""
    settings = {
        name
        for arm in study.arms
        for name in study.declared_differences(arm)
        if name.startswith(ACTS_THROUGH_CHECKPOINTS)
    }
    in_sql = {word for arm in study.arms for word in _words_of_sql(study.control, arm)}
    profiles = {"profile" for arm in study.arms if arm.profile != study.control.profile}
    return sorted(settings | in_sql | profiles)


def _words_of_sql(control: Arm, arm: Arm) -> Iterator[str]:
    """What acts so and is named in statements that only one of two arms executes: settings of
    tables, databases and roles, and how a table is stored."""
    for statement in {*control.sql} ^ {*arm.sql}:
        for word in _WORD.findall(statement.lower()):
            acts = "_" in word and word.startswith(ACTS_THROUGH_CHECKPOINTS)
            if acts or word in STORED:
                yield word


def _why_alone(study: Study, room: Room) -> str:
    """Why the arms cannot run at once, each still while another works; empty: they can."""
    if study.engine not in IN_CYCLES:
        return f"servers of {study.engine} are not brought into their own time"
    if study.memory is not None:
        return "memory is capped, and what an arm reads from the device falls on the others"
    if study.bound is not None:
        return f"the work is meant to wait for the {study.bound}"
    if len(study.every_arm) > MOST_ARMS:
        return f"more than {MOST_ARMS} would stand still too long"
    offered = room()
    return "" if offered is None else offered.lacks


def require_effect(study: Study, changes: Iterable[str]) -> None:
    """StudyError: a change is of a key that counts in no layout that the study may be weighed in.
    Which one it will be is known here but for what memory and the pilot say: then both count. Or a
    change has none beside the study's other keys."""
    keys = [key_of(change) for change in changes]
    require_counting(study, keys)
    typed = [*_typed(study, keys)]
    if not typed:
        return
    chosen = preferred_layout(study, resolve(study.workload, study.engine).scripts)
    is_open = study.layout == "auto" and chosen.name == CYCLES
    possible = {chosen.name, TURNS} if is_open else {chosen.name}
    idle = [key for key in typed if possible.isdisjoint(COUNTS_IN[key])]
    if any(key in LENGTHS and key not in idle for key in typed):  # `--budget` gives all of them
        idle = [key for key in idle if key not in LENGTHS]
    if idle:
        raise StudyError(
            f'override "{idle[0]}" has no effect: study {study.name} is weighed in {chosen.name}',
            detail=f"In {chosen.name}: {chosen.why.partition(';')[0]}.",
            hint=_in_its_place(study, idle[0], chosen.name),
        )


def _typed(study: Study, typed: Iterable[str]) -> Iterator[str]:
    """Keys of `COUNTS_IN` that were typed, by themselves or in a table, and say something."""
    keys = [*typed]
    for key in COUNTS_IN:
        table, _, name = key.rpartition(".")
        values = getattr(study, table) if table else study
        says = name in values.model_fields_set and getattr(values, name) not in (None, "auto")
        if says and any(f"{key}.".startswith(f"{other}.") for other in keys):
            yield key


def _in_its_place(study: Study, key: str, layout: str) -> str:
    """What to type."""
    own = next((each for each in LENGTHS if layout in LENGTHS[each]), "")
    minutes = study.budget.length_ns(layout) / (60 * NS_PER_S)
    first = f"Write --set {own}={minutes:g}m, or --budget" if key in LENGTHS else "Leave it out"
    if study.is_external:
        return f"{first}: an address is weighed in {layout} alone."
    [other, *_] = sorted(COUNTS_IN[key])
    return f"{first}; or insist on its layout: --set layout={other}."
