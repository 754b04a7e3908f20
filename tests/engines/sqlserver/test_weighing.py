"""`steelyard weigh` on a double of SQL Server, from the weighing to its report."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driver.sqlserver.double import PASSWORD
from engines.sqlserver.instance import Instance
from steelyard.engines.sqlserver.licence import BENCHMARKS, EXPERIMENTAL

START = "from steelyard.cli.app import main; main()"
BRIEF = (
    *("--budget", "20s", "--set", "budget.epochs=2", "--set", "budget.slice=200ms"),
    *("--set", "workload.scale=1", "--set", "workload.clients=2", "--seed", "3"),
)


def weigh(instance: Instance, place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", START, "weigh", "page-verify-sqlserver", "--json"]
    command += ["--address", instance.uri, "--record", str(place / "record"), *BRIEF, *words]
    given = {**os.environ, "STEELYARD_CACHE": str(place / "cache")}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=given)


def read(place: Path, name: str) -> Any:
    return json.loads((place / "record" / name).read_text())


def first_page(place: Path) -> str:
    """What stands on the report before anything that was measured."""
    page = html.unescape((place / "record" / "report.html").read_text())
    return page.partition("<main>")[0]


@pytest.mark.long
def test_from_weigh_to_report(tmp_path: Path) -> None:
    with Instance().running() as instance:
        done = weigh(instance, tmp_path)
        assert done.returncode == 0, done.stderr
        instance.require_harmless()
        assert sorted(instance.dropped) == sorted(instance.made)
        assert len(instance.made) == 3
    verdict = json.loads(done.stdout)
    assert [one["arm"] for one in verdict["contrasts"]] == ["torn-page-detection", "none"]
    threats = {one["name"] for one in verdict["contrasts"][0]["threats"]}
    assert "shared background" in threats
    assert BENCHMARKS in first_page(tmp_path)
    assert EXPERIMENTAL in first_page(tmp_path)
    assert BENCHMARKS in done.stderr
    plan = read(tmp_path, "plan.json")
    told = {key: plan[key] for key in ("residency", "cost", "placement", "upkeep")}
    assert told == {
        "residency": "own databases",
        "cost": "whole",
        "placement": "free",
        "upkeep": "exchange",
    }
    environment = read(tmp_path, "environment.json")
    options = {arm: facts["settings"] for arm, facts in environment["arms"].items()}
    assert {arm: one["page_verify"] for arm, one in options.items()} == {
        "checksum": "CHECKSUM",
        "torn-page-detection": "TORN_PAGE_DETECTION",
        "none": "NONE",
    }
    kept = [file for file in (tmp_path / "record").rglob("*") if file.is_file()]
    assert not [file for file in kept if PASSWORD in file.read_text(errors="replace")]


@pytest.mark.long
def test_which_database_is_whose_is_drawn_anew_and_its_pages_are_rewritten(tmp_path: Path) -> None:
    with Instance().running() as instance:
        seen: dict[str, list[str]] = {}

        def note(text: str) -> bytes | None:
            if text.startswith("DROP") or "\nDROP" in text:
                seen.update({name: one.rebuilt for name, one in instance.ours.items()})
            return None

        instance.before = note
        done = weigh(instance, tmp_path, "--set", "budget.epochs=3")
        assert done.returncode == 0, done.stderr
        instance.require_harmless()
    orders = list(zip(*seen.values(), strict=True))
    assert len(orders) >= 6  # inspection, pilot, three epochs
    levels = {"CHECKSUM", "TORN_PAGE_DETECTION", "NONE"}
    assert all(set(order) == levels for order in orders)
    assert len(set(orders)) > 1
    epochs = (tmp_path / "record" / "telemetry.jsonl").read_text().splitlines()
    drawn = [
        json.loads(line)["slots"] for line in epochs if '"type":"epoch"' in line.replace(" ", "")
    ]
    assert len({tuple(sorted(slots.items())) for slots in drawn}) > 1


def unmark(instance: Instance, name: str) -> None:
    instance.databases[name].marker = None


@pytest.mark.long
@pytest.mark.parametrize(
    ("lie", "said"),
    [(unmark, "its marker is gone"), (Instance.rename, "another session renamed or dropped it")],
)
def test_a_database_that_is_no_more_ours_ends_the_weighing_and_is_left(
    tmp_path: Path, lie: Callable[[Instance, str], None], said: str
) -> None:
    with Instance().running() as instance:
        lied: list[str] = []

        def once(text: str) -> bytes | None:
            if instance.checkpoints > 20 and not lied:
                lied.append(sorted(instance.ours)[0])
                lie(instance, lied[0])
            return None

        instance.before = once
        done = weigh(instance, tmp_path)
        assert done.returncode == 3, done.stdout
        assert said in done.stderr
        assert f"database {lied[0]} is left on the server" in done.stderr
        instance.require_harmless()
        assert lied[0] not in instance.dropped
        assert sorted(instance.dropped) == sorted(instance.made - {*lied})


def test_a_connection_that_is_lost_while_databases_are_made_leaves_none_but_the_one_named(
    tmp_path: Path,
) -> None:
    with Instance().running() as instance:
        instance.before = lambda text: (
            b"" if text.startswith("CREATE DATABASE") and len(instance.made) == 2 else None
        )
        done = weigh(instance, tmp_path)
        assert done.returncode == 3
        assert "the connection was lost" in done.stderr
        assert "drop it by hand" in done.stderr
        instance.require_harmless()
        assert sorted(instance.dropped) == sorted(instance.made)
        assert not (tmp_path / "record").exists()
