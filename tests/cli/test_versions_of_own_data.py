"""On a user's data arms, and points of a sweep, are of the version that is said, or the data's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from own_cache import own_cache
from steelyard.cli.options.study_resolution import with_data
from steelyard.cli.weighing import sweep as module
from steelyard.engines.intake import DataPlace, ServerSettings
from steelyard.record.sweep import SweepPlan
from steelyard.study.read import read_study, write_study
from steelyard.study.study import Study
from steelyard.study.sweep import read_sweep
from steelyard.workloads.loading import imported_data


@pytest.fixture(autouse=True)
def data_of_15(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever place is named holds the data of a server of version 15; a dump is of none."""

    def inspect(path: Path) -> DataPlace:
        if path.suffix == ".dump":
            return DataPlace(path, "dump", None, 1, f"digest of {path}")
        return DataPlace(path, "data directory", "15", 1, f"digest of {path}")

    known = SimpleNamespace(
        inspect_source=inspect, read_server_settings=lambda _: ServerSettings({})
    )
    monkeypatch.setattr(imported_data, "adapter", lambda _: known)
    with own_cache():
        yield


def points(
    study: str, swept: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *changes: str
) -> dict[str, Study]:
    """Value → the study that is weighed there."""
    plans: list[SweepPlan] = []
    monkeypatch.setattr(module, "_go_on", lambda plan, *_, **__: plans.append(plan))
    module.begin_sweep(
        module.SweepRequest(
            study, swept, changes, False, 7, folder / "sweep", None, ("steelyard",), False
        )
    )
    [plan] = plans
    again = SweepPlan.of_json(plan.to_json(), "as it is resumed")
    sweep = read_sweep(swept)
    return {
        value: read_study(study, sweep.overrides(again.changes, value)) for value in again.values
    }


@pytest.mark.parametrize(
    ("study", "swept", "changes", "versions"),
    [
        ("checksums", "workload.clients=2,4", (), ["15 15", "15 15"]),
        ("settings", "workload.clients=2,4", ("arm.settings.jit=off",), ["15 15", "15 15"]),
        ("settings", "arm.settings.random_page_cost=1.1,2", (), ["15 15", "15 15"]),
        ("checksums", "version=16,17", (), ["16 16", "17 17"]),
        ("settings", "version=16,17", ("arm.settings.jit=off",), ["16 16", "17 17"]),
        ("versions", "arm.version=16,17", ("control.version=15",), ["15 16", "15 17"]),
        ("versions", "workload.clients=2,4", (), ["16 18", "16 18"]),
        ("factorial", "workload.clients=2,4", (), ["15 15", "15 15"]),
    ],
)
@pytest.mark.parametrize("place", ["/backups/monday", "/backups/monday.dump"])
def test_no_point_is_of_another_version_than_it_says(
    study: str,
    swept: str,
    changes: tuple[str, ...],
    versions: list[str],
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = "15" if place == "/backups/monday" else read_study(study).control.version
    weighed = points(study, swept, tmp_path, monkeypatch, f"source.place={place}", *changes)
    arms = [f"{each.control.version} {each.arms[0].version}" for each in weighed.values()]
    said = "version" in swept or study == "versions"
    assert arms == (versions if said else [f"{usual} {usual}"] * 2)
    [digest] = {each.source.digest for each in weighed.values() if each.source is not None}
    assert digest == f"digest of {place}"


def test_that_a_users_file_says_another_version_than_the_datas_is_not_passed_over_in_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, change = tmp_path / "mine.toml", "source.place=/backups/monday"
    file.write_text(write_study(read_study("checksums")))
    mine = read_study(str(file), [change])
    assert with_data(mine, str(file), version_named=False).control.version == "15"
    words = capsys.readouterr().err
    assert "are of PostgreSQL 15: all arms are of that version, not of 18" in words
    assert "--set version=18" in words
    ready = read_study("checksums", [change])
    assert with_data(ready, "checksums", version_named=False).control.version == "15"
    assert with_data(mine, str(file), version_named=True).control.version == "18"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("failing", [None, "17"])
def test_the_base_backup_of_a_sweep_stays_until_every_version_has_its_data(
    failing: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weighed: list[Study] = []
    dropped: list[str | None] = []

    def weigh(_: object, study: Callable[[], Study], *__: object) -> object:
        weighed.append(study())
        assert not dropped
        return "no such build" if weighed[-1].control.version == failing else SimpleNamespace()

    monkeypatch.setattr(module.Campaign, "try_to_weigh", weigh)
    monkeypatch.setattr(module, "drop_backup", lambda source: dropped.append(source.backup))
    result = SimpleNamespace(to_json=dict, study="checksums")
    monkeypatch.setattr(module, "swept", lambda *_: result)
    for name in ("write_sweep_page", "sweep_lines", "show"):
        monkeypatch.setattr(module, name, lambda *_, **__: None)
    changes = ("source.place=/backups/monday", "source.backup=a token")
    module.begin_sweep(
        module.SweepRequest(
            "checksums", "version=16,17", changes, False, 7, tmp_path / "s", None, ("x",), False
        )
    )
    assert {study.control.version for study in weighed} == {"16", "17"}
    assert {study.source and study.source.backup for study in weighed} == {None}
    assert dropped == ([] if failing else ["a token"])
