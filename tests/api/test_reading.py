"""`import steelyard` reads every kept record, and says what its files say."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

import steelyard
from records.conftest import KEPT, unpack

ROOT = Path(__file__).parents[2]
NAMES = {
    *("Contrast", "ContrastEpoch", "Estimate", "MeasuredSlice", "SteelyardError", "Threat"),
    *("WeighedArm", "Weighing", "__version__", "read"),
}
"""What others build on: a name less breaks their programs, a name more is kept for good."""


RENAMED = {"attempt k": "weighed before"}
"""Doubts that have another name since the kept records were made."""


@pytest.mark.parametrize("name", KEPT)
def test_it_says_what_the_verdict_of_the_record_says(name: str, tmp_path: Path) -> None:
    folder = unpack(name, tmp_path)
    weighing = steelyard.read(str(folder))
    verdict = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    study = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))
    assert (weighing.study, weighing.question) == (study["name"], study["question"])
    assert weighing.seed == verdict["seed"]
    assert weighing.state == ("interrupted" if verdict["interrupted"] else "judged")
    assert weighing.control == next(iter(weighing.arms)) == verdict["contrasts"][0]["control"]
    assert [arm.is_control for arm in weighing.arms.values()].count(True) == 1
    for contrast, line in zip(weighing.contrasts, verdict["contrasts"], strict=True):
        assert contrast.verdict == line["verdict"]
        assert contrast.estimate.value == line["estimate_percent"]
        assert contrast.estimate.low == (line["low_percent"] or -math.inf)
        assert contrast.estimate.high == (line["high_percent"] or math.inf)
        assert (contrast.estimate.count, contrast.estimate.unit) == (line["epochs"], "%")
        named = [RENAMED.get(x["name"], x["name"]) for x in line["threats"]]
        assert [x.name for x in contrast.doubts] == named
        assert [x.log_ratio for x in contrast.epochs if x.log_ratio is not None] == pytest.approx(
            [d for d in line["details"]["d"] if d is not None]
        )
        assert {contrast.arm, contrast.control} <= set(weighing.arms)


def test_a_link_says_the_time_of_the_record_that_it_leads_to(tmp_path: Path) -> None:
    """Not that of a folder above, as a backup has one."""
    study = tmp_path / "2026-01-01T000000Z" / "checksums"
    study.mkdir(parents=True)
    unpack("checksums", study).rename(study / "2026-03-05T142233Z")
    (study / "latest").symlink_to("2026-03-05T142233Z")
    weighing = steelyard.read(study / "latest")
    assert weighing.at == datetime(2026, 3, 5, 14, 22, 33, tzinfo=UTC)


@pytest.mark.parametrize("name", ["checksums", "read-after-insert", "three-arms", "lost"])
def test_slices_add_up_to_the_throughput_of_each_epoch(name: str, tmp_path: Path) -> None:
    """The record keeps both; the epochs' is the verdict's own."""
    weighing = steelyard.read(unpack(name, tmp_path))
    for contrast in weighing.contrasts:
        for epoch in contrast.epochs:
            for arm, throughput in (
                (contrast.control, epoch.control_throughput),
                (contrast.arm, epoch.arm_throughput),
            ):
                own = [x for x in weighing.slices if (x.epoch, x.arm) == (epoch.epoch, arm)]
                if throughput is None:
                    assert (name, epoch.epoch, epoch.log_ratio) == ("lost", 3, None)
                    continue
                seconds = sum(x.transactions / x.throughput for x in own if x.transactions)
                assert sum(x.transactions for x in own) / seconds == pytest.approx(throughput)


def test_arms_have_absolute_numbers_a_version_and_settings(tmp_path: Path) -> None:
    weighing = steelyard.read(unpack("read-after-insert", tmp_path))
    off, on = weighing.arms["off"], weighing.arms["on"]
    assert (off.is_control, on.is_control) == (True, False)
    assert off.version == "18.4"
    assert (off.settings["data_checksums"], on.settings["data_checksums"]) == ("off", "on")
    assert off.throughput is not None
    assert on.throughput is not None
    change = 100 * (on.throughput / off.throughput - 1)
    assert change == pytest.approx(weighing.contrasts[0].estimate.value, abs=3)
    verdict = json.loads((weighing.directory / "verdict.json").read_text(encoding="utf-8"))
    [p99] = [x for x in verdict["latency"] if (x["arm"], x["quantile"]) == ("on", 0.99)]
    assert (off.latency_us_p99, on.latency_us_p99) == (p99["control_us"], p99["arm_us"])


def test_an_epoch_that_was_lost_is_in_no_throughput(tmp_path: Path) -> None:
    """Its 0 of both arms says that nothing ran, not how fast anything was."""
    weighing = steelyard.read(unpack("lost", tmp_path))
    [contrast] = weighing.contrasts
    rates = [x.arm_throughput for x in contrast.epochs if x.arm_throughput is not None]
    assert (len(contrast.epochs), len(rates)) == (10, 9)
    assert weighing.arms[contrast.arm].throughput == statistics.median(rates)


def test_a_time_is_said_only_where_the_record_says_it(tmp_path: Path) -> None:
    folder = unpack("aa", tmp_path)
    assert steelyard.read(folder).at is None
    named = folder.rename(tmp_path / "2026-03-01T120000Z")
    assert steelyard.read(named).at == datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_weighing_without_a_verdict_has_arms_and_slices(tmp_path: Path) -> None:
    folder = unpack("aa", tmp_path)
    (folder / "verdict.json").unlink()
    weighing = steelyard.read(folder)
    assert (weighing.state, weighing.contrasts, weighing.sentence) == ("no verdict", (), "")
    assert list(weighing.arms) == ["a", "b"]
    assert weighing.arms["a"].throughput is None
    assert len(weighing.slices) == 192
    assert weighing.contrast_frame().empty
    assert "estimate_percent" in weighing.contrast_frame().columns


def test_what_is_no_record_or_damaged_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(steelyard.SteelyardError, match="not a record"):
        steelyard.read(tmp_path)
    folder = unpack("aa", tmp_path)
    text = (folder / "slices.jsonl").read_text()
    (folder / "slices.jsonl").write_text(f"nothing\n{text}")
    with pytest.raises(steelyard.SteelyardError, match="damaged line 1"):
        _ = steelyard.read(folder).slices


def test_frames_have_the_values_of_the_tuples(tmp_path: Path) -> None:
    weighing = steelyard.read(unpack("three-arms", tmp_path))
    contrasts, epochs = weighing.contrast_frame(), weighing.epoch_frame()
    slices = weighing.slice_frame()
    assert list(contrasts["arm"]) == ["same", "doubled"]
    assert list(contrasts["low_percent"]) == [x.estimate.low for x in weighing.contrasts]
    assert contrasts["arm_throughput"][1] == weighing.arms["doubled"].throughput
    assert contrasts["control_latency_us_p99"][0] == weighing.arms["none"].latency_us_p99
    assert len(epochs) == sum(len(x.epochs) for x in weighing.contrasts)
    assert len(slices) == len(weighing.slices)
    assert slices["transactions"].sum() == sum(x.transactions for x in weighing.slices)


def test_a_frame_without_pandas_is_refused_with_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weighing = steelyard.read(unpack("aa", tmp_path))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(steelyard.SteelyardError, match="pandas is not installed") as refused:
        weighing.contrast_frame()
    assert "pip install 'steelyard[pandas]'" in str(refused.value)


def test_the_interface_is_these_names_alone() -> None:
    assert set(steelyard.__all__) == NAMES
    assert set(dir(steelyard)) >= NAMES
    for name in NAMES:
        assert getattr(steelyard, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        _ = getattr(steelyard, "nosuch")  # noqa: B009  the type checker knows that it is none


def test_importing_it_imports_nothing_else_of_the_package() -> None:
    code = "import sys, steelyard; print([x for x in sys.modules if x.startswith('steelyard.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


PROGRAM = """
import pandas
import steelyard

weighing: steelyard.Weighing = steelyard.read("records/checksums/latest")
for contrast in weighing.contrasts:
    value: float = contrast.estimate.value
    words: list[str] = [doubt.name for doubt in contrast.doubts]
frame: pandas.DataFrame = weighing.slice_frame()
"""


@pytest.mark.long
def test_programs_that_use_it_are_typed_strictly(tmp_path: Path) -> None:
    assert (Path(steelyard.__file__).parent / "py.typed").is_file()
    (tmp_path / "right.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text("import steelyard\nsteelyard.read('x').contrast\n")

    def checked(name: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "mypy", "--strict", "--config-file=", name]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    right, wrong = checked("right.py"), checked("wrong.py")
    assert right.returncode == 0, right.stdout
    assert '"Weighing" has no attribute "contrast"' in wrong.stdout


def test_a_contrast_without_an_estimate_has_no_number_in_its_place(tmp_path: Path) -> None:
    folder = unpack("checksums", tmp_path)
    verdict = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    nothing = dict.fromkeys(("estimate_percent", "low_percent", "high_percent"))
    verdict["contrasts"][0].update(nothing)
    (folder / "verdict.json").write_text(json.dumps(verdict), encoding="utf-8")
    estimate = steelyard.read(folder).contrasts[0].estimate
    assert math.isnan(estimate.value)
    assert (estimate.low, estimate.high) == (-math.inf, math.inf)
