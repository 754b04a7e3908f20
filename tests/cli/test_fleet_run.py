"""`steelyard fleet run` on hosts in memory: a record counts once, and what is not taken in is no
success."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from fleet.matrix.hosts_in_memory import MODIFIED_NS, MemoryHost, MemoryHosts
from records.conftest import unpack
from steelyard.cli.commands.records.fleet import run_matrix
from steelyard.fleet.matrix import run
from steelyard.fleet.matrix.matrix import MatrixCell
from steelyard.fleet.on_ray import cluster
from steelyard.history.index import read_history

Run = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a matrix whose only host gives these files; the exit status, and what `--json` told."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "LOOK_S", 0.0)

    class Hosts(MemoryHosts):
        def close(self) -> None:
            """Nothing is held."""

    def call(name: str, files: dict[str, bytes], kind: str = "any") -> tuple[int, dict[str, Any]]:
        (tmp_path / f"{name}.toml").write_text(f'studies = ["settings"]\nkinds = ["{kind}"]\n')

        def of(_: MatrixCell) -> dict[str, bytes]:
            return files

        made = Hosts([MemoryHost("a", kind, files_of=of)])
        monkeypatch.setattr(cluster, "RayHosts", lambda *_: made)
        status = 0
        try:
            run_matrix(Path(f"{name}.toml"), None, None, Path("records"), as_json=True)
        except typer.Exit as ended:
            status = ended.exit_code
        return status, json.loads(capsys.readouterr().out)

    return call


def files_of(place: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in place.iterdir()}


def test_a_record_counts_once_and_is_dated_by_its_host(ran: Run, tmp_path: Path) -> None:
    files = files_of(unpack("settings", tmp_path))
    status, told = ran("one", files, "small")
    assert (status, len(told["records"]["taken"])) == (0, 1)
    assert told["cells"][0]["how"] == "done"
    [entry] = read_history(Path("records")).entries
    assert entry.path.startswith("fleet/")
    assert entry.kind == "small"
    assert entry.at == "2023-11-14T221320Z", MODIFIED_NS
    status, told = ran("one", files, "small")
    assert (status, len(told["records"]["known"])) == (0, 1)
    assert len(read_history(Path("records")).entries) == 1


def test_a_second_matrix_reaches_the_history_too(ran: Run, tmp_path: Path) -> None:
    first = files_of(unpack("settings", tmp_path))
    assert ran("one", first)[0] == 0
    plan = {**json.loads(first["plan.json"]), "at": "2026-05-05T050505Z"}
    status, told = ran("two", {**first, "plan.json": json.dumps(plan).encode()})
    assert (status, told["records"]["refused"]) == (0, [])
    assert len(read_history(Path("records")).entries) == 2


def test_a_refusal_is_in_the_json_and_in_the_exit_status(ran: Run, tmp_path: Path) -> None:
    files = files_of(unpack("settings", tmp_path))
    verdict = json.loads(files["verdict.json"])
    verdict["contrasts"][0]["estimate_percent"] += 1
    status, told = ran("one", {**files, "verdict.json": json.dumps(verdict).encode()})
    assert status == 1
    [refused] = told["records"]["refused"]
    assert "does not follow from what was measured" in refused["why"]
    assert read_history(Path("records")).entries == ()


def test_a_record_that_is_skipped_is_in_the_json_and_in_the_exit_status(
    ran: Run, tmp_path: Path
) -> None:
    files = files_of(unpack("settings", tmp_path))
    status, told = ran("one", {**files, "more/plan.json": files["plan.json"]})
    assert told["cells"][0]["how"] == "done"
    [skipped] = told["records"]["skipped"]
    assert skipped["why"].startswith("it has no verdict")
    assert status == 1
