"""Every built-in study is weighed from its start to its end, on both bundled versions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from underway import QUICK, Underway

import steelyard

pytestmark = [pytest.mark.postgres, pytest.mark.long]

Start = Callable[..., Underway]
OLDER = ("--set", "control.version=16", "--set", "arm.version=16")


def weigh(start: Start, *arguments: str) -> dict[str, Any]:
    """The verdict of a weighing that must end well and leave nothing."""
    weighing = start("record", *arguments, *QUICK)
    weighing.in_the_middle_of(1)
    traces = weighing.traces()
    assert weighing.end() == 0, weighing.said
    assert traces.left == []
    return weighing.verdict


def test_writing_work_is_charged_with_what_it_leaves_behind(start: Start) -> None:
    verdict = weigh(start, "checksums-rw")
    [contrast] = verdict["contrasts"]
    assert contrast["epochs"] >= 8
    assert contrast["verdict"] != "invalid", contrast["threats"]
    wal = next(x for x in verdict["causes"] if x["metric"] == "wal_bytes_per_transaction")
    assert wal["control_value"] > 100
    slices = Path(verdict["record"], "slices.jsonl").read_text()
    assert '"debt_ns":0' not in slices.rpartition('"kind":"pilot"')[2], "each visit pays its debt"


def test_two_settings_are_compared(start: Start) -> None:
    changed = ("--set", "arm.settings.wal_compression=pglz")
    verdict = weigh(start, "settings", *changed)
    assert ["wal_compression", "off", "pglz"] in verdict["differences"]["declared"]
    assert verdict["differences"]["undeclared"] == []


@pytest.mark.parametrize(
    "study",
    [
        *("synchronous-commit", "wal-compression", "shared-buffers"),
        *("full-page-writes", "wal-log-hints", "track-io-timing"),
    ],
)
def test_a_single_setting_has_a_study_that_tells_where_the_time_goes(
    start: Start, study: str
) -> None:
    verdict = weigh(start, study)
    [declared] = verdict["differences"]["declared"]
    assert declared[0] == study.replace("-", "_")
    [told] = verdict["time"]
    parts = {one["part"]: one for one in told["parts"]}
    assert {"processor", "queue", "client"} <= parts.keys()
    for side in ("control_us", "arm_us"):
        assert sum(one[side] for one in parts.values()) == pytest.approx(told[side])
    assert [one["arm"] for one in told["bottlenecks"]] == [told["control"], told["arm"]]


def test_the_telemetry_of_a_weighing_is_weighed_by_an_arm_without(start: Start) -> None:
    verdict = weigh(start, "telemetry")
    names = {name for name, *_ in verdict["differences"]["declared"]}
    assert names == {"track_io_timing", "track_wal_io_timing"}
    text = Path(verdict["record"], "telemetry.jsonl").read_text().splitlines()[0]
    arms = json.loads(text)["arms"]
    assert "waits" not in arms["unwatched"]
    assert arms["watched"]["waits"]["samples"] > 0


def test_the_older_version_is_weighed_too(start: Start) -> None:
    verdict = weigh(start, "checksums", *OLDER)
    assert verdict["differences"]["declared"] == [["data_checksums", "on", "off"]]


def test_two_versions_are_weighed_on_three_loads_each_with_their_defaults_alike(
    start: Start,
) -> None:
    verdict = weigh(start, "versions", "-f", "select-only")
    assert verdict["differences"]["undeclared"] == []
    assert verdict["defaults"]["alike"]["effective_io_concurrency"] == "1"
    assert {arm["count"] for arm in verdict["loads"]["arms"].values()} == {3}
    [contrast] = verdict["contrasts"]
    names = {threat["name"] for threat in contrast["threats"]}
    assert not names & {"builds differ", "data directory tied to the arm"}


def test_versions_loaded_once_are_doubted(start: Start) -> None:
    verdict = weigh(start, "versions", "-f", "select-only", "--set", "workload.loads=1")
    [contrast] = verdict["contrasts"]
    assert "data directory tied to the arm" in {t["name"] for t in contrast["threats"]}


@pytest.fixture
def interpreter() -> Iterator[Path]:
    """A directory with a Python, its packages and ours, which every account can read."""
    home = Path(tempfile.mkdtemp(prefix="sytest"))
    home.chmod(0o755)
    library = Path(sysconfig.get_path("stdlib"))
    base = Path(sys.base_prefix)
    skipped = shutil.ignore_patterns("test", "site-packages", "__pycache__", "idlelib", "tkinter")
    shutil.copytree(library, home / "lib" / library.name, ignore=skipped, symlinks=True)
    for shared in (base / "lib").glob("libpython*"):
        shutil.copy2(shared, home / "lib")
    packages = home / "lib" / library.name / "site-packages"
    shutil.copytree(
        sysconfig.get_path("purelib"), packages, ignore=shutil.ignore_patterns("__pycache__")
    )
    if not (packages / "steelyard").exists():
        shutil.copytree(Path(steelyard.__file__).parent, packages / "steelyard", ignore=skipped)
    (home / "bin").mkdir()
    shutil.copy2(Path(sys.executable).resolve(), home / "bin" / "python")
    subprocess.run(["chmod", "-R", "a+rX", str(home)], check=True)
    yield home
    shutil.rmtree(home)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can weigh as somebody else")
def test_an_ordinary_user_weighs_with_a_home_of_its_own(interpreter: Path) -> None:
    home = Path(tempfile.mkdtemp(prefix="sytest"))
    os.chown(home, 65534, 65534)
    environment = {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "LD_LIBRARY_PATH": str(interpreter / "lib"),
        "PATH": "/usr/bin:/bin",
    }
    command = [str(interpreter / "bin" / "python"), "-m", "steelyard", "weigh", "checksums"]
    try:
        done = subprocess.run(
            [*command, *QUICK, "--set", "budget.epochs=2"],
            cwd=home,
            env=environment,
            user=65534,
            group=65534,
            extra_groups=[],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert (home / "records" / "checksums" / "latest" / "report.html").is_file()
        assert list((home / "cache" / "steelyard" / "run").glob("*/")) == []
    finally:
        shutil.rmtree(home)
