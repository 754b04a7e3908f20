"""`steelyard probe` says what it does, what it found, and what it cannot do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.conftest import Steelyard
from steelyard.record.machine import Probe

QUICK = ("--seconds", "1", "--size", "32MB")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("fio") is None, reason="there is no fio")
def test_a_probe_prints_json_alone_keeps_it_and_draws_it(
    steelyard: Steelyard, tmp_path: Path, program_cache: Path
) -> None:
    said = steelyard("probe", ".", *QUICK, "--json", "-o", "p.svg")
    assert said.returncode == 0, said.stderr
    told = json.loads(said.stdout)
    assert ((told["random_page_cost"] or 0) > 0) == told["direct"]
    assert [set(job["latency_ns"]) for job in told["jobs"]] == [{"mean", "p50", "p99", "p999"}] * 11
    assert "11 of 11: log write and sync" in said.stderr
    assert "<svg" in (tmp_path / "p.svg").read_text()
    assert [one.name for one in tmp_path.iterdir()] == ["p.svg"]
    if told["device"]:
        assert json.loads(steelyard("probe", ".", "--last", "--json").stdout) == told
        [kept] = (program_cache / "probes").iterdir()
        found = Probe.of_json(json.loads(kept.read_text()), "the cache")
        assert [one.iops for one in found.figures] == [job["iops"] for job in told["jobs"]]


@pytest.mark.long
def test_without_fio_and_on_devices_nothing_is_done(steelyard: Steelyard, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    said = steelyard("probe", ".", "--size", "32MB", environment={"PATH": str(tmp_path / "bin")})
    assert said.returncode == 2
    assert "fio is needed to probe storage" in said.stderr
    assert "apt install fio" in said.stderr
    said = steelyard("probe", "/dev/null")
    assert said.returncode == 2
    assert "is a device" in said.stderr


def test_a_size_that_is_none_is_refused(forked: Steelyard) -> None:
    said = forked("probe", ".", "--size", "much")
    assert said.returncode == 2
    assert 'invalid size for --size: "much"' in said.stderr
