"""What a probe found is kept by its device, and enters later records with its age."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from steelyard.cli.views.storage_view import notes
from steelyard.record.environment import Environment
from steelyard.telemetry.devices import Devices
from steelyard.tuning import probing
from steelyard.tuning.profile import proposing
from tuning.probes import probe_of


@pytest.fixture
def on_nvme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "devices_beneath", lambda _: Devices(top="nvme0n1"))


@pytest.mark.usefixtures("on_nvme")
def test_the_last_probe_enters_a_record_with_its_age(tmp_path: Path) -> None:
    now = datetime(2026, 11, 23, 7, 30, tzinfo=UTC)
    assert probing.probe_facts(tmp_path, tmp_path, now) == {}
    probing.save_probe(probe_of(), tmp_path)
    place = Environment.of_json(probing.probe_facts(tmp_path, tmp_path, now), "it")
    assert place.probe == probe_of()
    assert place.probe_age_seconds == 2.5 * 3600


@pytest.mark.usefixtures("on_nvme")
def test_a_probe_is_not_older_than_now_where_the_clock_was_set_back(tmp_path: Path) -> None:
    probing.save_probe(probe_of(), tmp_path)
    before = datetime(2026, 11, 22, tzinfo=UTC)
    assert probing.probe_facts(tmp_path, tmp_path, before)["probe_age_seconds"] == 0


@pytest.mark.usefixtures("on_nvme")
def test_the_probe_of_another_device_that_had_the_name_before_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for drive in ("first", "second"):
        monkeypatch.setattr(probing, "device_identity", lambda _, drive=drive: drive)
        assert probing.last_probe(tmp_path, tmp_path) is None
        probing.save_probe(probe_of(directory=f"/{drive}"), tmp_path)
    monkeypatch.setattr(probing, "device_identity", lambda _: "first")
    last = probing.last_probe(tmp_path, tmp_path)
    assert last is not None
    assert last.directory == "/first", "each has its own, whatever was probed after it"


def test_of_a_file_system_without_a_device_it_is_said_that_and_why_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = "a file system of type overlay has no block device to be seen"
    monkeypatch.setattr(probing, "devices_beneath", lambda _: Devices(unmapped=why))
    assert probing.save_probe(probe_of(device=""), tmp_path) is None
    assert probing.last_probe(tmp_path, tmp_path) is None
    assert probing.why_not_cached(tmp_path) == why
    storage = proposing._storage(tmp_path, tmp_path)
    assert storage is not None
    assert storage.why_not == f"no probe of it can be kept: {why}"
    said = " ".join(notes(probe_of(device="")))
    assert "`tune` and the records of later weighings cannot use it" in said
    assert "cannot use it" not in " ".join(notes(probe_of()))


@pytest.mark.usefixtures("on_nvme")
def test_a_device_that_was_not_probed_yet_may_be(tmp_path: Path) -> None:
    assert probing.why_not_cached(tmp_path) == ""
    assert proposing._storage(tmp_path, tmp_path) is None


@pytest.mark.usefixtures("on_nvme")
def test_a_file_that_cannot_be_read_is_no_probe(tmp_path: Path) -> None:
    file = probing.save_probe(probe_of(), tmp_path)
    assert file is not None
    file.write_text("{")
    assert probing.last_probe(tmp_path, tmp_path) is None
