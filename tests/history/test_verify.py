"""Records are judged again: one whose verdict does not follow from its readings is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from records.conftest import unpack
from steelyard.history.index import read_history
from steelyard.history.verify import verified
from thinned import thinned


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Two kept records, of the first format."""
    folder = tmp_path / "kept"
    folder.mkdir()
    for name in ("aa", "checksums"):
        unpack(name, folder)
    return folder


def test_records_that_are_as_they_were_stand(two: Path) -> None:
    found = verified(read_history(two))
    assert (len(found.entries), found.unread) == (2, ())


def test_a_changed_verdict_is_named_with_both_values(two: Path) -> None:
    file = two / "aa" / "verdict.json"
    said = json.loads(file.read_text())
    said["contrasts"][0]["estimate_percent"] = 7.5
    file.write_text(json.dumps(said))
    found = verified(read_history(two))
    assert [one.path for one in found.entries] == ["checksums"]
    [refused] = found.unread
    assert "verdict.json does not follow from what was measured" in refused.reason
    assert "contrasts[0].estimate_percent is 7.5, judged again" in refused.reason


def test_damaged_measurements_are_named(two: Path) -> None:
    with (two / "aa" / "slices.jsonl").open("r+") as stream:
        stream.write("not JSON")
    found = verified(read_history(two))
    [refused] = found.unread
    assert "slices.jsonl" in refused.reason


def test_a_weighing_without_a_verdict_is_left_as_it_is(two: Path) -> None:
    (two / "aa" / "verdict.json").unlink()
    assert len(verified(read_history(two)).entries) == 2


ODD = (
    ("telemetry.jsonl", "epoch", ("arms", "a"), 0),
    ("telemetry.jsonl", "epoch", ("arms", "a", "counters"), True),
    ("telemetry.jsonl", "epoch", ("arms", "a", "cpu_ns"), -0.5),
    ("telemetry.jsonl", "epoch", ("slots",), {}),
    ("telemetry.jsonl", "epoch", ("type",), {}),
    ("slices.jsonl", "measured", ("arm",), "nobody"),
    ("slices.jsonl", "measured", ("busy_ns",), -1),
)


@thinned(("file", "kind", "keys", "odd"), ODD, 1, ids=[str(one[2]) for one in ODD])
def test_a_record_that_does_not_hold_together_hides_no_other(
    two: Path, file: str, kind: str, keys: tuple[str, ...], odd: object
) -> None:
    place = two / "aa" / file
    lines = [json.loads(line) for line in place.read_text().splitlines()]
    part = next(one for one in lines if kind in (one.get("type"), one.get("kind")))
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = odd
    place.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = verified(read_history(two))
    assert [one.path for one in found.entries] == ["checksums"]
    [refused] = found.unread
    assert refused.path == "aa"
    said = ("record does not hold together: ", "verdict.json does not follow")
    assert refused.reason.startswith(said), refused.reason
