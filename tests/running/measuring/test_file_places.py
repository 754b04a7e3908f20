"""Files are in places of the user's: drawn with the slots where alike, else each arm's own."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from own_cache import engine_of, open_directory
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.model.errors import EngineError
from steelyard.record.plan import Upkeep
from steelyard.running.measuring.slots import Prepared, Slots
from steelyard.running.preparing.places import FilePlaces
from steelyard.running.stopwatch import Stopwatch
from steelyard.study.arm import Arm
from story.noop.engine import NoopEngine, NoopInstance
from thinned import thinned

ARMS = ("on", "off")


def slots_of(directory: Path, places: FilePlaces) -> Slots:
    """Two arms of one template, in slots of this directory."""
    engine = NoopEngine()
    template = directory / "template"
    engine.create(template, protection="checksums")
    arms = [Prepared(Arm(name=name), engine, (template,), {}) for name in ARMS]

    def slot(number: int) -> Slot:
        return Slot(number, directory / f"slot{number}", directory, 54320 + number)

    return Slots(arms, slot, lambda: None, Stopwatch(lambda: 0), places=places)


def places_of(directory: Path, *, drawn: bool) -> FilePlaces:
    return FilePlaces(ARMS, {arm: directory / f"place-{arm}" for arm in ARMS}, {}, drawn)


@pytest.mark.parametrize("upkeep", ["restore", "exchange", "carry"])
@pytest.mark.parametrize("drawn", [True, False])
def test_an_arms_files_are_where_its_slot_or_its_place_is(
    tmp_path: Path, upkeep: Upkeep, drawn: bool
) -> None:
    slots = slots_of(tmp_path, places_of(tmp_path, drawn=drawn))
    for order in itertools.chain(*[itertools.permutations(range(2))] * 2):
        of_arm = dict(zip(ARMS, order, strict=True))
        for name, server in slots.start_arms(of_arm, ARMS, upkeep).items():
            assert isinstance(server, NoopInstance)
            place = ARMS[of_arm[name]] if drawn else name
            assert server.directory.parent.name == f"place-{place}"
            assert server.address.port == 54320 + of_arm[name], "ports are drawn either way"
    slots.stop_arms()


def test_an_arm_without_a_place_has_its_slot(tmp_path: Path) -> None:
    places = FilePlaces(ARMS, {"off": tmp_path / "place-off"}, {}, drawn=False)
    slots = slots_of(tmp_path, places)
    servers = slots.start_arms({"on": 1, "off": 0}, ARMS, "restore")
    homes = {
        name: server.directory.parent.name
        for name, server in servers.items()
        if isinstance(server, NoopInstance)
    }
    assert homes == {"on": "slot0", "off": "place-off"}
    slots.stop_arms()


def test_an_engine_whose_log_cannot_be_moved_is_refused(tmp_path: Path) -> None:
    places = FilePlaces(ARMS, {}, {"off": tmp_path}, drawn=False)
    with pytest.raises(EngineError, match="cannot keep its log elsewhere"):
        slots_of(tmp_path, places).start_arms({"on": 0, "off": 1}, ARMS, "restore")


@pytest.mark.postgres
@thinned("upkeep", ["restore", "carry"], 1)
def test_logs_elsewhere_follow_their_copies_and_are_dropped_from_memory_with_them(
    upkeep: Upkeep,
) -> None:
    with open_directory() as home:
        engine = engine_of("18")
        engine.create(home / "template", protection="checksums")
        arms = [Prepared(Arm(name=name), engine, (home / "template",), {}) for name in ARMS]
        logs = {arm: home / f"log-{arm}" for arm in ARMS}

        def slot(number: int) -> Slot:
            return Slot(number, home / f"slot{number}", home / "sockets", 54320 + number)

        places = FilePlaces(ARMS, {}, logs, drawn=True)
        slots = Slots(arms, slot, lambda: None, Stopwatch(lambda: 0), places=places)
        try:
            for order in ((0, 1), (1, 0), (0, 1)):
                servers = slots.start_arms(dict(zip(ARMS, order, strict=True)), ARMS, upkeep)
                own = [server for server in servers.values() if isinstance(server, Cluster)]
                elsewhere = [server.log_directory for server in own]
                assert len({*elsewhere}) == 2
                for server, log in zip(own, elsewhere, strict=True):
                    assert (server.directory / "pg_wal").resolve() == log
                    assert log in slots.directories
                slots.stop_arms()
        finally:
            slots.stop_arms()
        assert sum(len(list(log.iterdir())) for log in logs.values()) == 2
