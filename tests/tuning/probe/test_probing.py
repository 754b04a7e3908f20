"""Real storage is probed by the real fio; what it finds is kept for later and shown."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from steelyard.cli.views.machine.probe_view import notes, probe_lines
from steelyard.model.errors import EngineError, UsageError
from steelyard.record.machine.drive_health import DriveHealth
from steelyard.record.machine.probe import LOG_PATH, RANDOM_READ, SEQUENTIAL_READ, Probe
from steelyard.report.charts.probe import picture_of, write_picture
from steelyard.tuning.probe import kept, probing
from steelyard.tuning.probe.kept import keep, last_probe
from steelyard.tuning.probe.probing import Wish, probe
from tuning.probe.made import figure, probe_of

QUICK = Wish(seconds=0.5, ramp_s=0, size_bytes=32 << 20)
SHOWN = (
    figure(SEQUENTIAL_READ, 16_000, 128 << 10),
    figure(RANDOM_READ, 10_000),
    figure(LOG_PATH, 2_000, processor_share=0.95),
)


@pytest.mark.skipif(shutil.which("fio") is None, reason="there is no fio")
def test_every_job_has_a_figure_and_nothing_is_left(tmp_path: Path) -> None:
    said: list[str] = []
    found = probe(tmp_path, QUICK, said.append)
    assert not list(tmp_path.iterdir())
    assert len(found.figures) == 11
    assert len(said) == 12
    for one in found.figures:
        assert one.iops > 0, one.name
        assert 0 < one.p50_ns <= one.p99_ns <= one.p999_ns, one.name
        assert one.bytes_per_s == pytest.approx(one.iops * one.block_bytes, rel=0.02), one.name
    random = found.figure(RANDOM_READ)
    assert random is not None
    # Little's law: a lone request is always under way.
    assert random.iops * random.mean_ns / 1e9 == pytest.approx(1, abs=0.3)
    assert found.random_page_cost is not None
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


def test_a_random_page_costs_what_it_takes_over_a_sequential_one() -> None:
    # 100 µs a random page; 128 kB in 62.5 µs are 16 pages: 3.9 µs each.
    assert probe_of(*SHOWN).random_page_cost == pytest.approx(25.6)
    assert probe_of(figure(RANDOM_READ, 10_000)).random_page_cost is None


def test_the_last_probe_of_a_device_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Beneath:
        top = "nvme0n1"

    monkeypatch.setattr(kept, "devices_beneath", lambda directory: Beneath)
    found = probe_of(*SHOWN)
    assert last_probe(tmp_path, tmp_path) is None
    file = keep(found, tmp_path)
    assert file is not None
    assert last_probe(tmp_path, tmp_path) == found
    file.write_text("{")
    assert last_probe(tmp_path, tmp_path) is None, "what cannot be read is none"
    assert keep(probe_of(device=""), tmp_path) is None


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_and_the_drawing_fit_and_the_notes_say_what_they_mean(width: int) -> None:
    lines = probe_lines(probe_of(*SHOWN, memory_bytes=16 << 30), width)
    text = "\n".join(lines)
    assert "10 000" in text
    assert "random_page_cost" in text.replace("\n", " ")
    assert "25.6 times" in text.replace("\n", " ")
    assert "the processor was measured" in text.replace("\n", " ")
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
    assert "reads tell of memory" in said
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
