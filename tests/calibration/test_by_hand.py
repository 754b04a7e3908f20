"""The check by hand reads whole checkpoint cycles of a real server that a client drives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from validation import by_hand
from validation.by_hand import Cycles, Reading, whole_cycles
from validation.results import Results


def readings(checkpoints: Sequence[int]) -> list[Reading]:
    """One a second from 0 s on: 100 transactions, 5,000 bytes and 50 images in each."""
    return [Reading(float(t), n, 100 * t, 5000 * t, 50 * t) for t, n in enumerate(checkpoints)]


def test_whole_cycles_lie_between_the_first_checkpoint_after_the_warm_up_and_the_last() -> None:
    found = whole_cycles(readings([0, 1, 1, 2, 2, 2, 2, 4, 4]), since_s=2.0)
    assert found == Cycles(tps=100.0, distance_s=2.0, checkpoints=2, wal_bytes=50.0, images=0.5)


@pytest.mark.parametrize("checkpoints", [[0, 1, 2, 2], [0, 0, 0, 1, 2], [0, 0]])
def test_fewer_than_two_whole_cycles_are_no_reading(checkpoints: Sequence[int]) -> None:
    with pytest.raises(ValueError, match="drive longer"):
        whole_cycles(readings(checkpoints), since_s=1.0)


def test_a_session_drives_pairs_in_alternating_order_from_the_same_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    restored: list[Path] = []

    class Copy:
        def clone(self, directory: Path) -> Copy:
            return self

        def restore(self, template: Path) -> int:
            restored.append(template)
            return 0

    def driven(copy: Copy, slot: object, value: str, warm_s: float, seconds: float) -> Cycles:
        asked.append(value)
        return Cycles(100.0, 10.0, 2, 50.0, 0.5)

    monkeypatch.setattr(by_hand, "RESULTS", Results(tmp_path / "kept.jsonl"))
    monkeypatch.setattr(by_hand, "loaded", lambda directory, slot: Copy())
    monkeypatch.setattr(by_hand, "driven", driven)
    by_hand.measure(pairs=2, warm_s=1.0, seconds=2.0)
    assert asked == ["off", "pglz", "pglz", "off"]
    assert len(restored) == 4
    assert [one["pglz"]["tps"] for one in by_hand.RESULTS] == [100.0, 100.0]


@pytest.mark.postgres
@pytest.mark.long
def test_a_real_server_is_driven_over_whole_cycles_with_both_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_hand, "RESULTS", Results(tmp_path / "kept.jsonl"))
    monkeypatch.setattr(by_hand, "SETTINGS", {**by_hand.SETTINGS, "max_wal_size": "32MB"})
    monkeypatch.setattr(by_hand, "SCALE", 1)
    by_hand.measure(pairs=1, warm_s=1.0, seconds=8.0)
    [pair] = by_hand.RESULTS
    for value in by_hand.VALUES:
        found = pair[value]
        assert found["checkpoints"] >= 2
        assert 0.1 < found["distance_s"] < 8
        assert found["tps"] > 10
        assert found["wal_bytes"] > 500, "new orders write rows"
        assert found["images"] > 0
