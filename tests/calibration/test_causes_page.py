"""What is named where the cause is known: judged, with its figures, and as the results say."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.model.readings import CHECKPOINT_CPU, ArmTotals, EpochTotals, Reading
from validation import causes
from validation.causes import WEIGHINGS, checkpointer
from validation.pages.causes import judged, page
from validation.pages.folded import outdated

TOLD = {name: (known.causes, known.why) for name, known in WEIGHINGS.items()}
CONTRAST = {"arm": "b", "control": "a"}


def part(name: str, difference_us: float) -> dict[str, Any]:
    ends = {"low_us": difference_us - 1, "high_us": difference_us + 1}
    times = {"control_us": 10.0, "arm_us": 10.0 + difference_us}
    return {"part": name, **times, "difference_us": difference_us, **ends}


def line(key: str, **changes: Any) -> dict[str, Any]:
    parts = [part("processor", -2.0), part("debt", -4.0)]
    made = {
        "key": key, "words": [key], "arm": "off", "control": "on", "estimate_percent": 2.0,
        "low_percent": 1.0, "high_percent": 3.0, "verdict": "faster", "epochs": 8,
        "nonzero": True, "epoch_sd_percent": 0.7, "threats": ["drift", "drift"],
        "layout": "slices", "sentence": "off is faster", "seconds": 120.0, "cause": "processor",
        "control_us": 20.0, "arm_us": 14.0, "parts": parts, "with_queue": parts,
        "bottlenecks": [{"arm": "on", "kind": "lock", "evidence": "9 of 10"}],
        "processor": {"control_value": 5.0, "arm_value": 4.0, "estimate_percent": -20.0,
                      "low_percent": -21.0, "high_percent": -19.0},
        "checkpointer": {"control_us": 9.0, "arm_us": 8.25, "low_us": -1.0, "high_us": -0.5},
        "clients": 8,
        "machine": {"kernel": "Linux 6", "processor": "P", "allowed_processors": [0, 1],
                    "memory_bytes": 8 * 10**9, "virtual": True},
    }  # fmt: skip
    return made | changes


def epoch(number: int, on: float | None, off: float | None, outcome: str = "complete") -> Any:
    readings = {
        arm: {CHECKPOINT_CPU: Reading(CHECKPOINT_CPU, "µs", value, measured=True)}
        for arm, value in (("a", on), ("b", off))
    }
    arms = {arm: ArmTotals(arm, 0, 8, 100, 10**9, 10**9) for arm in readings}
    return EpochTotals(number, {"a": 0, "b": 1}, ("a", "b"), arms, outcome, readings)


def test_the_page_is_what_the_results_say() -> None:
    how = "run python -m validation.causes --page"
    assert not outdated(causes.files()), how


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "yes"),
        ({"cause": "wal"}, "no"),
        ({"cause": None}, "silent"),
        ({"cause": None, "verdict": "inconclusive"}, "silent"),
        ({"cause": None, "verdict": "equivalent", "nonzero": False}, "yes: nothing to name"),
        ({"parts": []}, "one arm is not watched"),
    ],
)
def test_a_named_cause_is_judged(changes: dict[str, Any], said: str) -> None:
    assert judged(line("checksums", **changes), ("processor",)) == said


def test_what_was_weighed_is_told_with_its_figures() -> None:
    text = page([line("checksums")], {"checksums": (("processor",), "pages are summed")})
    assert "| checksums | off against on: +2.0 % | [+1.0, +3.0] % | faster | processor |" in text
    assert "| drift | pages are summed | on by lock (9 of 10) |" in text
    assert "| checksums | all | 20.0 | 14.0 | -6.00 |  | -6.00 |  |" in text
    assert "9.00 µs in on, 8.25 µs in off: -0.75 [-1.00, -0.50] µs;" in text
    assert "for each of 8 clients" in text
    assert "Not yet weighed" not in text


def test_the_checkpointer_is_told_only_where_its_work_is_charged() -> None:
    told = {"checksums": (("processor",), "pages are summed")}
    own = [part("processor", -2.0)]
    assert "checkpointer" not in page([line("checksums", parts=own, with_queue=own)], told)
    assert "checkpointer" not in page([line("checksums", checkpointer=None)], told)


def test_an_arm_that_is_not_watched_has_its_processor_time() -> None:
    known = line("telemetry", parts=[], with_queue=[], bottlenecks=[])
    text = page([known], {"telemetry": (("processor",), "blocks timed")})
    assert "5.00 µs in on, 4.00 µs in off: -20.00 % [-21.00, -19.00] %" in text


def test_what_has_no_result_is_named() -> None:
    assert page([], TOLD).rstrip().endswith(f"Not yet weighed: {', '.join(TOLD)}.")


def test_processor_time_of_the_checkpointer_is_of_a_transaction() -> None:
    epochs = [epoch(0, 500.0, 400.0), epoch(1, 600.0, 300.0), epoch(2, 9.0, 9.0, "a crashed")]
    found = checkpointer(epochs, CONTRAST)
    assert found is not None
    assert (found["control_us"], found["arm_us"]) == pytest.approx((5.5, 3.5))
    # By hand: differences of -1 and -3, mean -2, standard error 1, t of 0.975 at 1 is 12.7062.
    assert (found["low_us"], found["high_us"]) == pytest.approx((-14.7062, 10.7062), abs=1e-3)


def test_without_the_reading_nothing_is_told_of_the_checkpointer() -> None:
    assert checkpointer([epoch(0, 500.0, 400.0)], CONTRAST) is None
    assert checkpointer([epoch(0, 500.0, None), epoch(1, 600.0, 300.0)], CONTRAST) is None
