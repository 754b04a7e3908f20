"""Real storage is probed by the real fio; what it finds is kept for later and shown."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

from steelyard.cli.views.storage_view import notes, probe_lines
from steelyard.model.errors import EngineError, UsageError
from steelyard.record.machine import LOG_PATH, RANDOM_READ, SEQUENTIAL_READ, DriveHealth, Probe
from steelyard.report.charts.latency import picture_of, write_picture
from steelyard.telemetry.capacity import Space
from steelyard.telemetry.devices import Devices
from steelyard.tuning import probing
from steelyard.tuning.probing import ProbeRequest, last_probe, probe, save_probe
from thinned import thinned
from tuning.probes import figure, found, probe_of, side

QUICK = ProbeRequest(seconds=0.5, ramp_s=0, size_bytes=32 << 20)
SHOWN = (
    figure(SEQUENTIAL_READ, 16_000, 128 << 10),
    figure(RANDOM_READ, 10_000),
    figure(LOG_PATH, 2_000, processor_share=0.95),
)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("fio") is None, reason="there is no fio")
def test_every_job_has_a_figure_and_nothing_is_left(tmp_path: Path) -> None:
    said: list[str] = []
    found = probe(tmp_path, QUICK, said.append)
    assert not list(tmp_path.iterdir())
    assert len(found.figures) == 11
    assert len([one for one in said if " of 11: " in one]) == 11
    for one in found.figures:
        assert one.iops > 0, one.name
        assert 0 < one.p50_ns <= one.p99_ns <= one.p999_ns, one.name
        assert one.bytes_per_s == pytest.approx(one.iops * one.block_bytes, rel=0.02), one.name
    random = found.figure(RANDOM_READ)
    assert random is not None
    # Little's law: a lone request is always under way.
    assert random.iops * random.mean_ns / 1e9 == pytest.approx(1, abs=0.3)
    assert (found.random_page_cost is not None) == found.direct
    assert Probe.of_json(found.to_json(), "here") == found
    for drives in (found.drives_before, found.drives_after):
        assert drives
        assert all(one.source or one.why_not for one in drives)


def test_the_next_engine_is_tried_where_one_is_forbidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def run(fio: object, place: Path, text: str, seconds: float) -> dict[str, object]:
        tried.append(text.split("ioengine=", 1)[1].split(maxsplit=1)[0])
        if tried[-1] != "psync":
            raise EngineError("fio did not do its job")
        return {}

    monkeypatch.setattr(probing, "run_job", run)
    fio = probing.Fio("fio", "fio-3")
    assert probing._engine(probing._Bench(fio, tmp_path, 1 << 30, direct=True)) == "psync"
    assert tried == ["io_uring", "libaio", "psync"]
    tried.clear()
    assert probing._engine(probing._Bench(fio, tmp_path, 1 << 30, direct=False)) == "psync"
    assert tried == ["io_uring", "psync"], "libaio waits where nothing bypasses the cache"


@dataclass
class Drive:
    """fio on a drive of such a speed, with a clock that only it moves; its cache takes the first
    bytes at 1 GB/s."""

    bytes_per_s: float
    cache_bytes: int = 0
    now: float = 0.0

    def run(self, fio: object, place: Path, text: str, seconds: float) -> dict[str, object]:
        given = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        self.now += 0.4
        if "runtime" not in given:
            cached = min(self.cache_bytes, int(given["size"]))
            self.cache_bytes -= cached
            self.now += cached / 1e9 + (int(given["size"]) - cached) / self.bytes_per_s
            return {}
        for time_of in ("runtime", "ramp_time"):
            self.now += int(given[time_of].removesuffix("ms")) / 1000
        under_way = int(given["numjobs"]) * int(given["iodepth"]) * int(given["bs"])
        self.now += under_way / self.bytes_per_s
        one = side(100, 1000.0)
        return found(one, one, sync=one)


@pytest.mark.parametrize(
    ("megabytes_per_s", "cache_bytes", "least_bytes"),
    [
        (2000, 0, 4 << 30),
        (200, 0, 4 << 30),
        (70, 0, 2 << 30),
        (30, 0, 1000 << 20),
        (10, 0, 256 << 20),
        (2, 0, 64 << 20),
        (10, 1 << 30, 1 << 30),
    ],
)
def test_it_ends_within_three_minutes_on_a_drive_of_any_speed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    megabytes_per_s: int,
    cache_bytes: int,
    least_bytes: int,
) -> None:
    drive = Drive(megabytes_per_s * 1e6, cache_bytes)

    class Clock:
        monotonic = staticmethod(lambda: drive.now)

    monkeypatch.setattr(probing, "time", Clock)
    monkeypatch.setattr(probing, "run_job", drive.run)
    monkeypatch.setattr(probing, "find_fio", lambda: probing.Fio("fio", "fio-3"))
    monkeypatch.setattr(probing, "size_to_use", lambda directory, asked: 4 << 30)
    said: list[str] = []
    probed = probe(tmp_path, ProbeRequest(), said.append)
    assert len(probed.figures) == 11
    assert drive.now <= 180 - 5, "reading the drives takes up to 5 s"
    assert least_bytes <= probed.size_bytes <= 4 << 30
    cut = [one for one in said if one.startswith("no more than")]
    assert bool(cut) == (probed.size_bytes < 4 << 30)
    assert said[0] == "takes up to 2 min 56 s"


def test_where_nothing_bypasses_the_page_cache_it_says_so_and_has_no_page_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = Drive(200e6)
    monkeypatch.setattr(probing, "run_job", drive.run)
    monkeypatch.setattr(probing, "find_fio", lambda: probing.Fio("fio", "fio-3"))
    monkeypatch.setattr(probing, "takes_direct", lambda place: False)
    probed = probe(tmp_path, ProbeRequest(size_bytes=32 << 20), lambda said: None)
    assert len(probed.figures) == 11
    assert not probed.direct
    assert probed.random_page_cost is None
    assert "past the page cache" not in probe_lines(probed, 200, None)[0]
    assert "through the page cache" in probe_lines(probed, 200, None)[0]


def test_where_more_seconds_are_named_it_says_beforehand_how_long_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    unmapped = Devices(unmapped="a file system of type overlay has no block device to be seen")

    def stop(directory: Path) -> None:
        raise EngineError("before anything is written")

    monkeypatch.setattr(probing, "private_place", stop)
    monkeypatch.setattr(probing, "find_fio", lambda: probing.Fio("fio", "fio-3"))
    monkeypatch.setattr(probing, "size_to_use", lambda directory, asked: 4 << 30)
    monkeypatch.setattr(probing, "devices_beneath", lambda directory: unmapped)
    with pytest.raises(EngineError):
        probe(tmp_path, ProbeRequest(seconds=60), said.append)
    assert said == [
        "takes up to 12 min 17 s",
        f"will not be kept for `tune` and later weighings: {unmapped.unmapped}",
    ]


@pytest.mark.parametrize(
    ("asked", "cut"), [(None, False), (1 << 30, False), (3_900_000_001, False), (64 << 30, True)]
)
def test_where_less_is_probed_with_than_was_named_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: int | None, cut: bool
) -> None:
    words: list[str] = []

    def stop(directory: Path) -> None:
        raise EngineError("before anything is written")

    monkeypatch.setattr(probing, "private_place", stop)
    monkeypatch.setattr(probing, "find_fio", lambda: probing.Fio("fio", "fio-3"))
    monkeypatch.setattr(probing, "space", lambda path: Space(100 << 30, 200 << 30))
    with pytest.raises(EngineError):
        probe(tmp_path, ProbeRequest(size_bytes=asked), words.append)
    assert words[0].startswith("probes with 4032 MB, not 64 GB: ") == cut


def test_the_table_says_when_it_was_measured_and_how_long_ago_that_was() -> None:
    found = probe_of(*SHOWN)
    just_now, later = (probe_lines(found, 200, age)[0] for age in (None, 7200))
    assert just_now.endswith("measured 2026-11-23 05:00 UTC")
    assert later == f"{just_now}, 2 h ago"


@pytest.mark.skipif(shutil.which("fio") is None, reason="there is no fio")
def test_a_file_that_is_laid_out_in_parts_is_written_from_end_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "LEAST_PART", 4 << 20)
    monkeypatch.setattr(probing, "MOST_PART", 8 << 20)
    bench = probing._Bench(probing.find_fio(), tmp_path, 20 << 20, direct=False)
    assert bench.lay_out(time.monotonic() + 60).size_bytes == 20 << 20
    data = (tmp_path / "data").read_bytes()
    assert len(data) == 20 << 20
    parts = [data[begin : begin + (1 << 20)] for begin in range(0, len(data), 1 << 20)]
    assert len(set(parts)) == 20
    assert all(part.count(0) < len(part) // 50 for part in parts), "written, no hole"


def test_a_random_page_costs_what_it_takes_over_a_sequential_one() -> None:
    # 100 µs a random page; 128 kB in 62.5 µs are 16 pages: 3.9 µs each.
    assert probe_of(*SHOWN).random_page_cost == pytest.approx(25.6)
    assert probe_of(figure(RANDOM_READ, 10_000)).random_page_cost is None


def test_the_last_probe_of_a_device_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Beneath:
        top = "nvme0n1"

    monkeypatch.setattr(probing, "devices_beneath", lambda directory: Beneath)
    found = probe_of(*SHOWN)
    assert last_probe(tmp_path, tmp_path) is None
    file = save_probe(found, tmp_path)
    assert file is not None
    assert last_probe(tmp_path, tmp_path) == found
    file.write_text("{")
    assert last_probe(tmp_path, tmp_path) is None, "what cannot be read is none"
    assert save_probe(probe_of(device=""), tmp_path) is None


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_and_the_drawing_fit_and_the_notes_say_what_they_mean(width: int) -> None:
    lines = probe_lines(probe_of(*SHOWN, memory_bytes=16 << 30), width)
    assert all(len(line) <= width for line in lines)
    text = "\n".join(lines)
    assert "10 000" in text
    assert "random_page_cost" in text.replace("\n", " ")
    assert "25.6 times" in text.replace("\n", " ")
    assert "the processors were measured" in text.replace("\n", " ")
    assert "less than this machine's memory" in text.replace("\n  ", " ")
    assert ("●" in "\n".join(lines[4:])) == (width >= 60)


def test_the_health_of_the_drive_is_told_before_and_after() -> None:
    before = DriveHealth(
        device="nvme0n1", source="nvme-cli", temperature_celsius=35, written_bytes=10**13,
        used_percent=12, step_bytes=512_000,
    )  # fmt: skip
    after = before.model_copy(update={"temperature_celsius": 61, "written_bytes": 10**13 + 10**11})
    found = probe_of(*SHOWN, drives_before=(before,), drives_after=(after,))
    said = notes(found)
    assert any(one.startswith("drive nvme0n1, this probe: 93 GB written; 35") for one in said)
    assert any("at this probe's rate (636 MB/s under load)" in one for one in said)
    assert Probe.of_json(found.to_json(), "here") == found
    assert not any("drive" in one for one in notes(probe_of(figure(RANDOM_READ, 10_000))))


def test_what_cannot_be_told_is_said() -> None:
    through = probe_of(*SHOWN, direct=False, engine="psync")
    said = " ".join(notes(through))
    assert "could not bypass the page cache: reads and writes tell of memory" in said
    assert through.random_page_cost is None
    assert "times as long as a sequential one" not in said
    assert "psync" in said


def test_the_picture_is_a_sound_svg(tmp_path: Path) -> None:
    write_picture(probe_of(*SHOWN), tmp_path / "p.svg")
    root = ElementTree.fromstring((tmp_path / "p.svg").read_text())
    assert root.tag.endswith("svg")
    assert RANDOM_READ in picture_of(probe_of(*SHOWN))
    assert ElementTree.fromstring(picture_of(probe_of())) is not None


def test_a_directory_that_cannot_be_probed_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        probe(tmp_path / "nowhere", QUICK, lambda words: None)


@thinned(("quota", "worth"), [(None, 4.0), (1.5, 1.5), (0.5, 0.5), (9.0, 4.0)], 1)
def test_a_quota_is_what_fio_may_use(
    monkeypatch: pytest.MonkeyPatch, quota: float | None, worth: float
) -> None:
    monkeypatch.setattr(probing, "allowed_processors", lambda: [0, 1, 2, 3])
    monkeypatch.setattr(probing, "processor_quota", lambda: quota)
    assert probing.processors_worth() == worth
