"""The summary reads as it always did: held against golden files that a person can read.

After a deliberate change: `STEELYARD_GOLDEN=write pytest tests/cli/test_summary.py`, then read
the difference.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from record.made import line_of, verdict_of
from steelyard.cli.views.verdict_view import render_verdict
from steelyard.record.contrast import ContrastLine
from steelyard.record.spent import Spent, SpentLine
from steelyard.record.verdict import DeviceSummary, FlippedPlan, Verdict

GOLDEN = Path(__file__).parent.parent / "golden"

THREAT = {
    "name": "steal or throttling",
    "seen": "the hypervisor took 2.3 % of processor time in epochs 4 and 9",
    "cause": "other guests of this host were busy",
    "advice": "weigh again at a quieter hour if the interval is too wide for your purpose",
    "invalidates": False,
}


def contrast(
    verdict: str, low: float | None, middle: float, high: float | None, **more: Any
) -> ContrastLine:
    return line_of(
        verdict=verdict, estimate_percent=middle, low_percent=low, high_percent=high, **more
    )


def cause(metric: str, unit: str, values: tuple[float, float], *ends: float | None) -> Any:
    low, middle, high = ends
    return {
        "arm": "off",
        "control": "on",
        "metric": metric,
        "unit": unit,
        "control_value": values[0],
        "arm_value": values[1],
        "estimate_percent": middle,
        "low_percent": low,
        "high_percent": high,
        "confidence": 0.95,
    }


EPOCHS = [
    {"epoch": n, "slots": {"on": 0, "off": 1}, "order": ["on", "off"], "d": 0.03,
     "throughput": {"on": 9800.0 + n, "off": 10100.0 + n}, "typical_d": None, "outcome": "complete"}
    for n in range(3)
]  # fmt: skip


def script_time(name: str, share: float, us: tuple[float, float], *ends: float) -> dict[str, Any]:
    low, middle, high = ends
    return {
        "script": name, "share_percent": share, "control_us": us[0], "arm_us": us[1],
        "statements": [f"SELECT * FROM {name} WHERE id = $1"], "arm": "off", "control": "on",
        "estimate_percent": middle, "low_percent": low, "high_percent": high, "confidence": 0.95,
    }  # fmt: skip


FLIPS = ["Hash Join → Nested Loop", "Seq Scan on parts → Index Scan on parts by parts_pkey"]
SCRIPTS = [
    script_time("slow", 12.0, (900.0, 2000.0), 110.0, 122.2, 130.0),
    script_time("same", 28.0, (200.0, 201.0), -1.0, 0.5, 2.0),
    {**script_time("join", 60.0, (54200.0, 7860.0), -86.5, -85.5, -84.0), "flips": FLIPS},
]
PLACE = {
    "processors": 2, "processor": "AMD EPYC", "memory_bytes": 25 << 30,
    "products": ["PostgreSQL 18.4"], "workload": "pgbench", "scale": 50, "clients": 8,
}  # fmt: skip


def latency(quantile: float, on: float, off: float) -> dict[str, Any]:
    return {
        "quantile": quantile, "control_us": on, "arm_us": off, "arm": "off", "control": "on",
        "estimate_percent": -2.0, "low_percent": -3.0, "high_percent": -1.0, "confidence": 0.95,
    }  # fmt: skip


FASTER = verdict_of(
    contrast(
        "faster",
        2.6,
        3.06,
        3.51,
        sentence="off is faster than on by 3.1 % [2.6, 3.5] of throughput "
        "(95 % interval, 12 epochs), beyond ±1 %",
        threats=[THREAT],
        details={"epochs": EPOCHS},
    ),
    scripts=SCRIPTS,
    place=PLACE,
    latency=[latency(0.5, 858.0, 877.0), latency(0.95, 31800.0, 10900.0), latency(0.99, 9e4, 12e3)],
    whole_seconds=131.4,
    measured_seconds=78.0,
    causes=[
        cause("server_cpu_us_per_transaction", "µs", (49.82, 48.31), -3.4, -3.03, -2.61),
        cause("wal_bytes_per_transaction", "bytes", (0.31, 0.3), -8.1, -1.2, 6.2),
        cause("blocks_written_per_transaction", "blocks", (0.002, 0.002), None, 0.0, None),
    ],
    pages={
        "verified_per_transaction": 1.94,
        "nanoseconds_per_page": 412.0,
        "low": 330.0,
        "high": 495.0,
        "confidence": 0.95,
        "verifying": "on",
    },
)

WORDS = (
    "inconclusive: off against on reads −0.32 % [−1.42, +0.79] of throughput; "
    "if the effect is as large as it reads, about 6 min more would settle ±1 %"
)
AA = {"study": "aa", "seed": 1, "record": "records/aa/2026-03-05T150000Z", "seconds": 40.0}
INCONCLUSIVE = verdict_of(contrast("inconclusive", -1.42, -0.32, 0.79, sentence=WORDS), **AA)
TOO_FEW = verdict_of(contrast("inconclusive", None, -0.32, None, sentence=WORDS), **AA)


def ends(low: float | None, middle: float, high: float | None) -> dict[str, Any]:
    every = {"low_percent": low, "estimate_percent": middle, "high_percent": high}
    return {"arm": "off", "confidence": 0.95, **every}


def left(arm: str) -> dict[str, Any]:
    unknown = ("wal_bytes", "checkpoints", "waiting_at_start_bytes", "waiting_at_end_bytes")
    return {**dict.fromkeys(unknown), "arm": arm, "turns": 10, "seconds": 60.0, "cycle_seconds": 30}


def stall(seconds: float, cause: str) -> dict[str, Any]:
    facts = {"arm": "off", "epoch": 3, "from_seconds": 4.0, "depth": 0.2, "cause": cause}
    return {**facts, "seconds": seconds, "storm": seconds >= 5}


TURNS = verdict_of(
    contrast(
        "slower",
        -4.9,
        -3.96,
        -3.0,
        sentence="off is slower than on by 4.0 % [3.0, 4.9] of throughput (95 % interval, "
        "10 epochs in turns, a checkpoint every 30 s, 4 times as near as the settings have it)",
    ),
    layout="turns",
    time_scale=4.0,
    distance_seconds=30.0,
    by_distance=[
        {"seconds": 5.0, "epochs": 10, **ends(-10.1, -9.12, -8.14)},
        {"seconds": 30.0, "epochs": 10, **ends(-4.92, -3.96, -3.0)},
    ],
    turns={
        "evenness": [
            {"metric": name, "control_value": a, "arm_value": b, **ends(65.1, 135.2, 230.4)}
            for name, a, b in (("throughput_mean", 3975, 3903), ("throughput_cv", 0.0343, 0.0805))
        ],
        "stalls": [stall(1.0, "unknown"), stall(6.2, "end of a checkpoint: sync")],
        "sums": [left("on"), left("off")],
    },
    whole_seconds=2520,
    measured_seconds=1210,
)


@pytest.mark.parametrize(
    ("name", "verdict", "width"),
    [
        ("summary_faster_100", FASTER, 100),
        ("summary_faster_60", FASTER, 60),
        ("summary_inconclusive_80", INCONCLUSIVE, 80),
        ("summary_too_few_80", TOO_FEW, 80),
        ("summary_turns_100", TURNS, 100),
        ("summary_turns_60", TURNS, 60),
    ],
)
def test_a_verdict_prints_as_the_golden_file_shows(name: str, verdict: Verdict, width: int) -> None:
    shown = render_verdict(verdict, width) + "\n"
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("STEELYARD_GOLDEN") == "write":
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")


PHASES = {"measure": 637, "start": 155, "put back": 141, "stop": 70, "load data": 12}
ACCOUNTED = FASTER.model_copy(
    update={
        "spent": Spent.of(
            [SpentLine(epoch=12, phases_ns={name: s * 10**9 for name, s in PHASES.items()})]
        )
    }
)


def test_the_largest_phases_say_what_it_took_on_as_many_lines_as_they_need() -> None:
    took = "16 min 55 s: 10 min 37 s under load, 2 min 35 s start, 2 min 21 s put back"
    assert render_verdict(ACCOUNTED, 100).splitlines()[-1] == f"took    {took}"
    assert render_verdict(ACCOUNTED, 50).splitlines()[-2:] == [
        "took    16 min 55 s: 10 min 37 s under load, 2 min",
        "        35 s start, 2 min 21 s put back",
    ]


def figure(metric: str, on: float, off: float, unit: str = "") -> dict[str, Any]:
    values = {"control": "on", "control_value": on, "arm_value": off}
    return {"metric": metric, "unit": unit, **values, **ends(-40.0, -20.0, -1.5)}


DEVICES = {
    "names": ["nvme0n1"],
    "figures": [
        figure("read_iops", 29793, 47301, "1/s"),
        figure("write_iops", 5.1, 4.2, "1/s"),
        figure("writes_per_transaction", 0.01, 0.01, "requests"),
        figure("read_latency_ms", 0.5, 0.4, "ms"),
        figure("write_latency_ms", 1.0, 1.0, "ms"),
        figure("queue_length", 14.9, 18.9, "requests"),
        figure("read_iops_cv", 0.984, 0.366),
    ],
}


def with_devices(devices: dict[str, Any]) -> Verdict:
    return TURNS.model_copy(update={"devices": DeviceSummary.model_validate(devices)})


@pytest.mark.parametrize("verdict", [FASTER, TURNS, ACCOUNTED, with_devices(DEVICES)])
@pytest.mark.parametrize("width", [10, 50, 72, 200])
def test_no_line_is_wider_than_the_terminal_but_paths_and_commands(
    verdict: Verdict, width: int
) -> None:
    for line in render_verdict(verdict, width).splitlines():
        if not line.startswith(("record", "report", "repeat", "next")):
            assert len(line) <= max(width, 50)


def test_of_several_arms_every_distance_names_its_own() -> None:
    both = TURNS.model_copy(update={"contrasts": (*TURNS.contrasts, *FASTER.contrasts)})
    shown = render_verdict(both, 100)
    assert "off at a checkpoint every 5 s: −9.12 % [−10.10, −8.14]; computed" in shown


def test_what_a_device_did_is_a_table_of_the_side_that_the_work_uses() -> None:
    table = (
        render_verdict(with_devices(DEVICES), 100)
        .partition("device nvme0n1")[2]
        .partition("\n\n")[0]
    )
    assert [" ".join(line.split()) for line in table.splitlines()] == [
        "on off change",
        "reads (r/s) 29 793 47 301 −20.0 % [−40.0, −1.5]",
        "read time (r_await) 0.5 ms 0.4 ms −20.0 % [−40.0, −1.5]",
        "queue (aqu-sz) 14.9 18.9 −20.0 % [−40.0, −1.5]",
        "CV of reads/s 98.4 % 36.6 % −20.0 % [−40.0, −1.5]",
    ]


def test_a_device_that_the_work_hardly_uses_has_no_table() -> None:
    idle = [figure("read_iops", 18, 18, "1/s"), figure("read_latency_ms", 0.2, 0.2, "ms")]
    shown = render_verdict(with_devices({"names": ["vda"], "figures": idle}), 100)
    assert shown == render_verdict(TURNS, 100)


def test_a_device_that_cannot_be_seen_is_not_available_for_a_reason() -> None:
    shown = render_verdict(with_devices({"missing": "a file system of type overlay has none"}), 100)
    line = "what the devices did is not available: a file system of type overlay has none"
    assert line in shown.splitlines()


def test_a_summary_holds_no_terminal_codes() -> None:
    assert "\x1b" not in render_verdict(FASTER, 100)


def test_a_flipped_plan_is_named_beside_the_time_of_its_statement() -> None:
    time = {
        "arm": "off", "control": "on", "of": "statement", "control_us": 100.0, "arm_us": 340.0,
        "estimate_percent": 240.0, "low_percent": 230.0, "high_percent": 250.0, "confidence": 0.95,
    }  # fmt: skip
    one = {
        "arm": "off", "control": "on", "statement": "mix: SELECT n FROM t WHERE id = $1",
        "flips": ["Index Scan on t by t_pkey → Seq Scan on t", "Sort added"],
    }  # fmt: skip
    verdict = FASTER.model_copy(
        update={"plans": tuple(FlippedPlan.model_validate(x) for x in ({**one, "time": time}, one))}
    )
    text = " ".join(render_verdict(verdict, 400).split())
    named = "plan flipped: Index Scan on t by t_pkey → Seq Scan on t and 1 more"
    assert f"{named}; 100 µs on, 340 µs off: +240.0 % [+230.0, +250.0] (mix: SELECT" in text
    assert f"{named} (mix: SELECT n FROM t WHERE id = $1)" in text
