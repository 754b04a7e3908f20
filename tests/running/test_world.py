"""The laboratory of this machine selects adapters by name, and reads a workload once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from steelyard.engines.capabilities.memory import MemoryCap
from steelyard.model.errors import EngineError, UsageError
from steelyard.running import world
from steelyard.running.world import LocalLaboratory
from steelyard.workloads.reading.folder import find_workload
from story.asked import study_of
from story.noop.engine import NoopEngine


def test_an_engine_without_an_adapter_is_refused_by_its_name() -> None:
    with (
        LocalLaboratory() as laboratory,
        pytest.raises(UsageError, match='engine: "oracle"') as caught,
    ):
        laboratory.engines.of_arms(study_of(engine="oracle"))
    assert caught.value.hint == "Known: postgres, mysql, mariadb, sqlserver."


def test_data_is_loaded_only_into_engines_that_can_be_loaded() -> None:
    with LocalLaboratory() as laboratory:
        data = laboratory.data.open(study_of())
    with pytest.raises(UsageError, match='into engine "noop"'):
        data.template(NoopEngine(), print, number=0, copies=2)


def test_what_changes_in_a_workloads_folder_after_it_was_opened_is_not_read(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(find_workload("pgbench").folder, folder)
    with LocalLaboratory() as laboratory:
        data = laboratory.data.open(study_of(workload={"name": str(folder), "scale": 3}))
        scripts, variables = data.scripts, dict(data.variables)
        shutil.rmtree(folder)
        assert data.scripts is scripts
        assert dict(data.variables) == variables
    assert (variables["scale"], variables["clients"]) == (3, 8)


def test_a_cap_is_that_of_every_slot_from_then_on() -> None:
    with LocalLaboratory() as laboratory:
        assert laboratory.engines.slot(0).memory is None
        try:
            held_by = laboratory.engines.cap_memory(64 << 20)
        except EngineError as refused:
            pytest.skip(f"no right to make a control group: {refused.detail}")
        caps = [laboratory.engines.slot(number).memory for number in (0, 1)]
        assert caps[0] == caps[1]
        assert isinstance(caps[0], MemoryCap)
        assert (caps[0].size_bytes, caps[0].by) == (64 << 20, held_by)


def test_a_copy_of_a_dump_that_was_made_earlier_does_not_give_its_file_for_a_database() -> None:
    file = {"kind": "dump", "name": "shop.tar", "database": "shop.tar"}
    assert world._taken_from(file) == {**file, "database": ""}
    for source in (None, {**file, "database": "shop"}, {**file, "kind": "base backup"}):
        assert world._taken_from(source) == source


@pytest.mark.parametrize("ending", [KeyboardInterrupt(), SystemExit(143), UsageError("wrong")])
def test_what_ends_a_weighing_is_not_replaced_by_what_cannot_be_removed(
    monkeypatch: pytest.MonkeyPatch, ending: BaseException
) -> None:
    def fail(self: object) -> None:
        raise EngineError("could not remove it")

    monkeypatch.setattr(world.ExitStack, "close", fail)
    with pytest.raises(type(ending)) as raised, LocalLaboratory():
        raise ending
    assert raised.value is ending
    with pytest.raises(EngineError, match="could not remove it"), LocalLaboratory():
        pass
