"""A cap on memory is the same for every arm, is refused where it cannot hold, and is recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.capabilities.memory import (
    DiskLimits,
    MemoryCap,
    MemoryNeed,
    MemorySettings,
    MemoryUse,
)
from steelyard.engines.engine import Instance
from steelyard.model.errors import (
    EngineError,
    ServerError,
    SteelyardError,
    StudyError,
    WeighingError,
)
from steelyard.record.reader import read_recorded
from steelyard.record.record import Record
from steelyard.running.laboratory import Laboratory
from steelyard.running.preparing.recording import Question
from steelyard.study.study import Study
from steelyard.weigh import weigh
from story.asked import Facts, Silent, cycles_study, lines, study_of
from story.noop.engine import NoopInstance
from story.scripted import ScriptedData, ScriptedWorkload, ScriptedWorld

Weigh = Callable[..., Facts]
MB = 1 << 20
CAP = 400 * MB


def test_every_server_stands_under_the_cap_with_its_files_evicted_before(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    caps: list[MemoryCap | None] = []

    def seen(instance: NoopInstance) -> MemoryUse:
        caps.append(instance.memory_cap)
        return MemoryUse(CAP, CAP // 2, len(caps), None, 0, CAP)

    world.noop.journal.answers.memory = seen
    verdict = weigh_in(world, study_of(memory="400MB", bound="storage"))
    assert set(caps) == {MemoryCap(CAP, "v2")}
    recorded = read_recorded(Record(tmp_path / "record"))
    assert recorded.plan.memory is not None
    assert (recorded.plan.memory.cap_bytes, recorded.plan.memory.held_by) == (CAP, "v2")
    starts = [call for call in world.noop.calls if call.action == "start"]
    assert 2 * len(world.evicted) == len(starts), "both arms' files, before both are started"
    assert all(len(set(directories)) == 2 for directories in world.evicted)
    for epoch in recorded.epochs:
        assert epoch.line.evicted is not None
        assert (epoch.line.evicted.file_bytes, epoch.line.evicted.resident_bytes) == (1 << 30, 0)
        for arm in ("on", "off"):
            readings = epoch.totals.readings[arm]
            assert readings["memory_used_bytes"].value == CAP
            assert readings["memory_peak_bytes"].value == CAP
            assert readings["memory_cache_bytes"].value == CAP // 2
            assert (readings["memory_refaults"].value or 0) > 0
            assert readings["memory_limit_hits"].missing == "the server does not tell it"
    assert "memory_refaults_per_transaction" in {one["metric"] for one in verdict["causes"]}


@pytest.mark.long
def test_what_stayed_in_the_page_cache_is_kept_and_a_doubt_in_cycles_too(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    world.writes, world.noise, world.resident_bytes = True, 0.01, 100 * MB
    [contrast] = weigh_in(world, cycles_study(memory="400MB"))["contrasts"]
    for epoch in read_recorded(Record(tmp_path / "record")).epochs:
        assert epoch.line.evicted is not None
        assert epoch.line.evicted.resident_bytes == 100 * MB
    assert "files not evicted" in {threat["name"] for threat in contrast["threats"]}


def test_without_a_cap_nothing_of_it_is_there(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(world, study_of())
    recorded = read_recorded(Record(tmp_path / "record"))
    assert recorded.plan.memory is None
    assert world.cap is None
    assert world.evicted == []
    assert all(epoch.line.evicted is None for epoch in recorded.epochs)
    names = {name for one in recorded.epochs for name in one.totals.readings["on"]}
    assert not any(name.startswith("memory") for name in names)


def test_a_cap_below_what_works_is_refused_with_what_would_work(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    with pytest.raises(StudyError) as caught:
        weigh_in(world, study_of(memory="100MB"))
    assert caught.value.primary == (
        '"memory" is too small for arm "on": 100 MB, and it needs at least 168 MB'
    )
    assert caught.value.detail == "shared_buffers takes 128 MB, 4 clients about 10 MB each."
    assert caught.value.hint == "--set memory=168MB, or --set settings.shared_buffers=60MB"
    weigh_in(world, study_of(memory="168MB"))


@pytest.mark.parametrize(
    ("wanted", "free", "refused"),
    [("on", 0, True), ("try", 7, True), ("try", 0, False), ("off", 7, False)],
)
def test_an_arm_that_would_escape_into_huge_pages_is_refused(
    world: ScriptedWorld, weigh_in: Weigh, wanted: Any, free: int, refused: bool
) -> None:
    world.huge_pages_free = free
    world.noop.journal.answers.memory_need = lambda _: MemoryNeed(128 * MB, wanted)
    if not refused:
        weigh_in(world, study_of(memory="400MB"))
        return
    with pytest.raises(StudyError, match=f"huge_pages is {wanted}") as caught:
        weigh_in(world, study_of(memory="400MB"))
    assert caught.value.hint == "--set settings.huge_pages=off"


def test_what_would_work_is_said_in_the_engines_own_words(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    words = MemorySettings("innodb_buffer_pool_size", "large_pages", "M")
    answers = world.noop.journal.answers
    answers.memory_need = lambda _: MemoryNeed(12 << 30, "off", words)
    with pytest.raises(StudyError, match="too small for arm") as caught:
        weigh_in(world, study_of(memory="400MB"))
    assert (caught.value.detail or "").startswith("innodb_buffer_pool_size takes 12 GB, ")
    assert (caught.value.hint or "").endswith("--set settings.innodb_buffer_pool_size=360M")
    answers.memory_need = lambda _: MemoryNeed(128 * MB, "on", words)
    with pytest.raises(StudyError, match="large_pages is on") as caught:
        weigh_in(world, study_of(memory="400MB"))
    assert caught.value.hint == "--set settings.large_pages=off"


def test_more_than_the_machine_has_is_refused(world: ScriptedWorld, weigh_in: Weigh) -> None:
    with pytest.raises(StudyError, match="more than this machine has: 17 GB of 16 GB"):
        weigh_in(world, study_of(memory="17GB"))


@pytest.mark.long
def test_in_slices_all_arms_at_once_must_fit_and_in_turns_one(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    with pytest.raises(StudyError, match="does not fit 2 servers at once: 10 GB are") as caught:
        weigh_in(world, study_of(memory="5GB"))
    assert caught.value.hint == "--set memory=4096MB, or one arm at a time: --set layout=turns"
    world.writes = True
    verdict = weigh_in(world, study_of(memory="5GB", layout="turns"), record="turns")
    assert verdict["layout"] == "turns"
    with pytest.raises(StudyError, match="does not fit one server"):
        weigh_in(world, study_of(memory="9GB", layout="turns"), record="again")


def test_without_the_right_nothing_is_loaded_and_no_record_stays(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    class Powerless(ScriptedWorld):
        @property
        def laboratory(self) -> Laboratory:
            given = super().laboratory

            def refuse(size_bytes: int) -> Any:
                raise EngineError("cannot cap the memory of servers")

            object.__setattr__(given.engines, "cap_memory", refuse)
            return given

    with pytest.raises(EngineError, match="cannot cap"):
        weigh_in(Powerless(tmp_path / "other"), study_of(memory="400MB"))
    assert not (tmp_path / "record").exists()


RATES = {"read_iops": 3000, "read_rate": "125MB"}


def test_rates_of_the_disk_are_held_beside_the_cap_and_recorded(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(world, study_of(memory="400MB", disk=RATES))
    assert world.cap is not None
    assert world.cap.disk == DiskLimits(
        {"vda": "254:0"}, {"read_iops": 3000, "read_rate": 125 * MB}
    )
    memory = read_recorded(Record(tmp_path / "record")).plan.memory
    assert memory is not None
    assert memory.disk is not None
    assert (memory.disk.devices, memory.disk.read_iops) == (("vda",), 3000)
    assert "disk" in (tmp_path / "record" / "study.toml").read_text()


@pytest.mark.parametrize(
    ("keys", "of_world", "words"),
    [
        ({"disk": RATES}, {}, '"disk" needs "memory"'),
        ({"disk": RATES, "memory": "400MB"}, {"devices": {}}, "no block device"),
        (
            {"disk": {"write_iops": 9}, "memory": "400MB"},
            {"held_by": "v1"},
            "version 1 cannot hold writes",
        ),
    ],
)
def test_rates_that_cannot_be_held_are_refused_with_what_to_type(
    world: ScriptedWorld,
    weigh_in: Weigh,
    keys: dict[str, Any],
    of_world: dict[str, Any],
    words: str,
) -> None:
    for name, value in of_world.items():
        setattr(world, name, value)
    with pytest.raises(SteelyardError, match=words) as refused:
        weigh_in(world, study_of(**keys))
    assert refused.value.hint


class AtItsCap(ScriptedWorld):
    """Sessions of a server are killed at its cap: it lives on, and its clients are gone."""

    struck: tuple[NoopInstance, int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.noop.journal.answers.memory = lambda one: MemoryUse(CAP, 0, 0, 3, int(self.hit(one)))

    def strike(self, arm: str) -> None:
        self.struck = self.running_arms[arm], self.running_arms[arm].starts

    def hit(self, instance: NoopInstance) -> bool:
        """In this life of the server."""
        return self.struck == (instance, instance.starts)

    def alive(self, arm: str) -> bool:
        return not self.hit(self.running_arms[arm])


def test_an_arm_that_the_kernel_kills_at_its_cap_is_a_named_outcome(
    weigh_in: Weigh, tmp_path: Path
) -> None:
    world = AtItsCap(tmp_path / "world")
    world.events[400] = [lambda: world.strike("off")]
    verdict = weigh_in(world, study_of(memory="400MB"))
    epochs = [one for one in lines(tmp_path, "telemetry.jsonl") if one["type"] == "epoch"]
    [lost] = [one for one in epochs if one["outcome"] != "complete"]
    assert lost["outcome"] == "out of memory: off"
    assert lost["error"][0] == (
        'error: arm "off" was killed by the kernel\'s OOM killer: its cap of 400 MB '
        "did not hold what it needed"
    )
    threats = {one["name"]: one["seen"] for one in verdict["contrasts"][0]["threats"]}
    assert "(out of memory)" in threats["an arm crashed"]


def test_an_arm_that_is_killed_at_its_cap_in_the_pilot_is_named(
    weigh_in: Weigh, tmp_path: Path
) -> None:
    world = AtItsCap(tmp_path / "world")
    world.events[3] = [lambda: world.strike("on")]
    with pytest.raises(WeighingError, match='in the pilot arm "on" was killed by the kernel'):
        weigh_in(world, study_of(memory="400MB"))


def test_an_arm_that_is_killed_before_its_clients_come_is_named(
    weigh_in: Weigh, tmp_path: Path
) -> None:
    class KilledEarly(AtItsCap):
        """Killed while the workload begins on a server of an epoch."""

        def hit(self, instance: NoopInstance) -> bool:
            return instance.starts == 6 and instance.running

    class Begins(ScriptedData):
        def open(self, study: Study) -> Any:
            return BeginsBadly(self.world, study, self.world.scripts(study))

    class BeginsBadly(ScriptedWorkload):
        def before_clients(self, instance: Instance) -> None:
            assert isinstance(instance, NoopInstance)
            if instance.starts == 6:
                raise ServerError("the connection was lost")

    world = KilledEarly(tmp_path / "world")
    laboratory = replace(world.laboratory, data=Begins(world))
    question = Question(study=study_of(memory="400MB"), seed=1, record=tmp_path / "record")
    weigh(question, laboratory, Silent())
    epochs = [one for one in lines(tmp_path, "telemetry.jsonl") if one["type"] == "epoch"]
    lost = [one["outcome"] for one in epochs if one["outcome"] != "complete"]
    assert len(lost) == 1
    assert lost[0].startswith("out of memory: ")


@pytest.mark.long
def test_an_arm_that_is_killed_at_its_cap_in_its_turn_is_named(
    weigh_in: Weigh, tmp_path: Path
) -> None:
    world = AtItsCap(tmp_path / "world", writes=True)
    world.events[400] = [lambda: world.strike(next(iter(world.running_arms)))]
    weigh_in(world, study_of(memory="400MB", layout="turns"))
    epochs = [one for one in lines(tmp_path, "telemetry.jsonl") if one["type"] == "epoch"]
    [lost] = [one for one in epochs if one["outcome"] != "complete"]
    assert lost["outcome"].startswith("out of memory: ")
