"""Which layout a weighing of writes takes, why, and what is refused before it begins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.capabilities.checkpoints import Cycle, WalCounters
from steelyard.engines.capabilities.memory import MemoryNeed
from steelyard.model.errors import StudyError
from steelyard.model.turn import Checkpoint
from steelyard.record.record import Record
from story.asked import Watcher, cycles_study
from story.noop.engine import NoopInstance
from story.noop.own_time import OWN_TIME
from story.scripted import ScriptedWorld
from story.scripted_device import DeviceWorld, Requests
from thinned import thinned

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
S = 1_000_000_000


@pytest.fixture
def writing(world: ScriptedWorld) -> ScriptedWorld:
    world.writes, world.noise = True, 0.01
    return world


def layout_of(tmp_path: Path, record: str = "record") -> tuple[str, str]:
    plan = Record(tmp_path / record).read("plan.json")
    return plan["layout"], plan["layout_why"]


@pytest.mark.long
def test_the_layout_that_is_chosen_and_why_stand_in_the_plan(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    verdict = weigh_in(writing, cycles_study(layout="auto"))
    assert verdict["layout"] == "cycles"
    assert layout_of(tmp_path) == (
        "cycles",
        "the work writes, and data_checksums acts through checkpoints; memory holds both arms at "
        "once",
    )


def test_data_that_turn_out_beyond_memory_are_weighed_in_turns_and_it_is_said(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    writing.file_bytes = 30 << 30
    watcher = Watcher()
    verdict = weigh_in(writing, cycles_study(layout="auto"), progress=watcher)
    assert verdict["layout"] == "turns"
    name, why = layout_of(tmp_path)
    assert name == "turns"
    assert why.startswith("in place of cycles, since in the pilot what an arm works on is beyond")
    assert any(note.startswith(f"layout: turns ({why})") for note in watcher.notes)
    assert (
        "budget.cycles = 40 min is of cycles, and this is weighed in turns, for 45 min: --budget "
        "says how long for each"
    ) in watcher.notes
    again = ScriptedWorld(tmp_path / "again", writes=True, file_bytes=30 << 30)
    with pytest.raises(StudyError, match="cannot weigh in cycles") as refused:
        weigh_in(again, cycles_study(), record="again")
    assert "--set layout=turns" in (refused.value.hint or "")


@thinned("layout", ["slices", "cycles"], 1)
def test_a_length_that_is_of_another_layout_is_said_before_anything_is_loaded(
    writing: ScriptedWorld, weigh_in: Weigh, layout: str
) -> None:
    watcher, study = Watcher(), cycles_study(layout=layout)
    weigh_in(writing, study, progress=watcher)
    assert any("budget.cycles = 40 min" in note for note in watcher.notes) == (layout == "slices")


@thinned(("speed_of_off", "layout"), [(4000.0, "cycles"), (8000.0, "turns")], 1)
def test_write_back_that_the_pilot_sees_shared_is_parted_by_turns(
    speed_of_off: float, layout: str, weigh_in: Weigh, tmp_path: Path
) -> None:
    # A server in memory dirties as much in every slice: the slower, the more a transaction. The
    # device writes as much for each transaction of both.
    speed = {"on": 4000.0, "off": speed_of_off}
    busy = DeviceWorld(tmp_path / "busy", lambda arm, life: speed[arm], writes=True)
    busy.asked = lambda arm, second: Requests(writes=speed[arm] / 4000, write_ms=2000.0)
    weigh_in(busy, cycles_study(layout="auto"))
    name, why = layout_of(tmp_path)
    assert name == layout
    shared = why.startswith("in place of cycles, since in the pilot a transaction dirtied")
    assert shared == (layout == "turns")
    assert ("requests under way" in why) == shared


MB = 1 << 20


def limited(
    world: ScriptedWorld, wal_bytes: float, rates: dict[str, float], largest: float = 1.0
) -> None:
    """Checkpoints every 15 s, or after so much log; arms write at so many bytes a second."""
    answers = world.noop.journal.answers
    answers.cycle = lambda settings: Cycle(15 * S, wal_bytes, largest)

    def pulse(instance: NoopInstance) -> WalCounters:
        arm = "on" if instance.settings()["data_checksums"] == "on" else "off"
        return WalCounters(world.clock.now / S * rates[arm], 0.0, 1000.0)

    answers.pulse = pulse


def test_log_that_requests_a_checkpoint_every_second_is_refused_with_what_to_type(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    limited(writing, 1 * MB, {"on": 1.0 * MB, "off": 0.1 * MB})
    with pytest.raises(StudyError, match='the log of arm "on" requests a checkpoint') as refused:
        weigh_in(writing, cycles_study())
    assert "--set settings.most_log=23MB, equal in all arms" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("own", "tables"),
    [
        (["control"], ["control.settings", "settings"]),
        (["arm"], ["settings", "arm.settings"]),
        (["control", "arm"], ["control.settings", "arm.settings"]),
    ],
)
def test_what_is_to_be_typed_stands_where_the_limit_of_each_arm_is_said(
    own: list[str], tables: list[str], writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    limited(writing, 1 * MB, {"on": 1.0 * MB, "off": 0.1 * MB})
    study = cycles_study()
    limit = {"settings": {"most_log": "1MB"}}
    control, arm = (
        side.model_copy(update=limit) if name in own else side
        for name, side in (("control", study.control), ("arm", study.arms[0]))
    )
    with pytest.raises(StudyError, match="requests a checkpoint every 1 s") as refused:
        weigh_in(writing, study.model_copy(update={"control": control, "arms": (arm,)}))
    words = " ".join(f"--set {table}.most_log=23MB" for table in tables)
    assert f"Weigh with {words}, equal" in (refused.value.hint or "")


def test_the_disk_must_have_room_for_what_would_be_typed(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    gb = 1 << 30
    limited(writing, 1 * gb, {"on": 1.0 * gb, "off": 0.1 * gb})
    with pytest.raises(StudyError, match="requests a checkpoint") as refused:
        weigh_in(writing, cycles_study())
    assert "once the disk has 50 GB free for the log of all arms (8192 MB are)" in (
        refused.value.hint or ""
    )


@pytest.mark.parametrize(("largest", "nearer"), [(10.0, True), (7.4, False)])
def test_log_that_the_disk_does_not_hold_is_refused(
    largest: float, nearer: bool, writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    limited(writing, 1e15, {"on": 1.0 * 2**30, "off": 1.0 * 2**30}, largest)
    with pytest.raises(StudyError, match="the disk has no room for the log") as refused:
        weigh_in(writing, cycles_study())
    assert ("--set turns.time_scale=7.5" in (refused.value.hint or "")) == nearer


def by_size(world: ScriptedWorld, every_s: dict[str, int]) -> None:
    """Checkpoints that log requests, every so many seconds of an arm's own time."""

    def checkpoints(one: NoopInstance, began_ns: int, now_ns: int) -> list[Checkpoint]:
        own = one.settings() if one.running else {}
        arm = own.get("data_checksums", "on")
        every = round(every_s[arm] * S * float(own.get(OWN_TIME, "1")))
        return [
            Checkpoint(at, at + S // 10, "wal") for at in range(began_ns + every, now_ns, every)
        ]

    world.noop.journal.answers.checkpoints = checkpoints


@pytest.mark.long
def test_checkpoints_by_size_of_one_arm_far_more_often_are_doubted(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    limited(writing, 4 * MB, {"on": 1.0 * MB, "off": 0.1 * MB})
    by_size(writing, {"on": 4, "off": 15})
    watcher = Watcher()
    [contrast] = weigh_in(writing, cycles_study(), progress=watcher)["contrasts"]
    [doubt] = [note for note in watcher.notes if note.startswith("doubt: by the size of the log")]
    assert "every 4 s in on, and every 15 s in off" in doubt
    assert "--set settings.most_log=" in doubt
    [threat] = [one for one in contrast["threats"] if one["name"] == "checkpoints by size"]
    assert "a checkpoint of on began every" in threat["seen"]
    assert not threat["invalidates"]
    alike = ScriptedWorld(writing.directory / "alike", noise=0.01, writes=True)
    limited(alike, 4 * MB, {"on": 1.0 * MB, "off": 1.0 * MB})
    by_size(alike, {"on": 4, "off": 4})
    quiet = Watcher()
    [contrast] = weigh_in(alike, cycles_study(), record="alike", progress=quiet)["contrasts"]
    assert not any("doubt: by the size" in note for note in quiet.notes)
    assert "checkpoints by size" not in [one["name"] for one in contrast["threats"]]


def test_pools_that_memory_does_not_hold_at_once_take_turns_and_cycles_are_refused(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    writing.noop.journal.answers.memory_need = lambda _: MemoryNeed(6 << 30, "off")
    asked = cycles_study(layout="auto", budget={"turns": "40m", "cycles": "40m", "epochs": 8})
    weigh_in(writing, asked)
    name, why = layout_of(tmp_path)
    assert name == "turns"
    assert "; one arm at a time: memory has no room for 2 arms at once" in why
    with pytest.raises(StudyError, match="memory has no room for 2 arms at once") as refused:
        weigh_in(writing, cycles_study(), record="asked")
    assert refused.value.hint == "Weigh one arm at a time: --set layout=turns."
    assert not (tmp_path / "asked").exists()


def test_a_time_scale_beyond_what_own_time_allows_is_refused(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    with pytest.raises(StudyError, match="more than the settings allow: 10 at most"):
        weigh_in(writing, cycles_study(turns={"time_scale": 11}))
