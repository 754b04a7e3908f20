"""Makes synthetic records of the `checksums` study, complete and plausible, without any server."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Json = dict[str, Any]

THREATS = [
    {
        "name": "steal or throttling",
        "seen": "the hypervisor took 2.3 % of processor time in epochs 4 and 9",
        "cause": "other guests of this host were busy",
        "advice": "weigh again at a quieter hour if the interval is too wide for your purpose",
        "invalidates": False,
    },
    {
        "name": "memory or disk nearly full",
        "seen": "310 MB of memory were available at the lowest point",
        "cause": "two servers and their caches stand side by side",
        "advice": "use a smaller scale, or residency alternate",
        "invalidates": False,
    },
]


def fake_counts(latencies: list[str], edges_ns: list[int]) -> list[int]:
    """Counts per bin of fake histograms `"median_ns:sigma:count"`, log-normal."""
    totals = [0.0] * (len(edges_ns) - 1)
    for text in latencies:
        median, sigma, count = (float(part) for part in text.split(":"))
        at = [math.erf(math.log(edge / median) / (sigma * math.sqrt(2))) / 2 for edge in edges_ns]
        for index in range(len(totals)):
            totals[index] += count * (at[index + 1] - at[index])
    return [round(total) for total in totals]


def make_record(
    directory: Path,
    *,
    arms: tuple[str, ...] = ("on", "off"),
    epochs: int = 12,
    slices_per_epoch: int = 64,
    effects: tuple[float, ...] = (0.024, 0.006),
    spread: float = 0.004,
    threats: list[Json] | None = None,
    verdict: bool = True,
    causes: bool = True,
    seed: int = 7,
) -> Path:
    """Write a record of `epochs` epochs with `slices_per_epoch` slices of every arm in each."""
    directory.mkdir(parents=True, exist_ok=True)
    dice = random.Random(seed)
    truth = {arm: [0.0, *effects][number] for number, arm in enumerate(arms)}
    slots = [_slots(arms, dice) for _ in range(epochs)]
    _write(directory / "plan.json", _plan(arms, epochs, slots, seed))
    _write(directory / "environment.json", _environment(arms))
    (directory / "study.toml").write_text(_STUDY)
    speeds = _write_slices(directory, arms, truth, epochs, slices_per_epoch, spread, dice)
    with (directory / "telemetry.jsonl").open("w") as stream:
        for epoch in range(epochs):
            line = {
                "type": "epoch",
                "epoch": epoch,
                "slots": slots[epoch],
                "start_order": list(arms),
                "outcome": "complete",
                "arms": {},
            }
            stream.write(json.dumps(line) + "\n")
    if verdict:
        contrasts = [_contrast(arm, arms[0], speeds, slots) for arm in arms[1:]]
        contrasts[0]["threats"] = THREATS if threats is None else threats
        _write(directory / "verdict.json", _verdict(contrasts, causes, directory))
    return directory


def _slots(arms: tuple[str, ...], dice: random.Random) -> dict[str, int]:
    places = list(range(len(arms)))
    dice.shuffle(places)
    return dict(zip(arms, places, strict=True))


def _plan(arms: tuple[str, ...], epochs: int, slots: list[dict[str, int]], seed: int) -> Json:
    return {
        "format": 2, "writes": False, "upkeep": "restore", "upkeep_why": "", "visit_ns": 50_000_000,
        "cost_why": "", "start_orders": [],
        "seed": seed, "study": "checksums", "margin": 0.01, "metric": "throughput",
        "alpha": [0.01, 0.04], "epochs": epochs, "look": 8 if epochs > 8 else None,
        "open_ended": False, "first_verdict": False, "cost": "foreground",
        "placement": "symmetric",
        "placement_why": "0.3 % of the pilot's waits were on the WAL flush: "
        "the work does not wait for the disk",
        "slice_ns": 50_000_000,
        "slice_why": "smallest variance of 10-batch means among 50 ms, 100 ms and 200 ms",
        "warmup_ns": 1_500_000_000, "blocks_per_epoch": 64, "epoch_ns": 6_500_000_000,
        "threads": 2, "clients": 8, "processors": [0, 1], "s0": 0.004, "attempt": 1,
        "control": arms[0], "arms": list(arms),
        "command": f"steelyard weigh checksums --budget 2m --seed {seed}",
        "assignment": [[row[arm] for arm in arms] for row in slots], "pilot": {},
    }  # fmt: skip


def _environment(arms: tuple[str, ...]) -> Json:
    build = {
        "kind": "postgres", "version": "18.4", "version_number": 180004,
        "builder": "gcc 14.2.1 (Red Hat 14.2.1-7)", "configure": "--without-icu",
        "cflags": "-O2", "origin": "bundle", "bindir": "/cache/18/bin", "assertions": False,
    }  # fmt: skip
    settings = {f"setting_{number}": "on" for number in range(388)}
    return {
        "steelyard": {"version": "0.1.0", "build_profile": "release", "driver_sha256": "0" * 64},
        "machine": {
            "hostname": "laboratory", "kernel": "Linux 6.1.0-18-cloud-amd64",
            "processor": "AMD EPYC 7B13", "processors": 2, "allowed_processors": [0, 1],
            "virtual": True, "memory_bytes": 8_323_000_000,
        },
        "disk": {"type": "overlay", "total_bytes": 64_000_000_000, "free_bytes": 41_000_000_000},
        "arms": {arm: {"build": build, "settings": settings} for arm in arms},
        "files": {"script select-only": "a" * 64, "template pg_control": "b" * 64},
    }  # fmt: skip


def _write_slices(
    directory: Path,
    arms: tuple[str, ...],
    truth: dict[str, float],
    epochs: int,
    per_epoch: int,
    spread: float,
    dice: random.Random,
) -> list[dict[str, float]]:
    """Write slices.jsonl; the throughput of every epoch by arm comes back."""
    now, speeds = 10**12, []
    with (directory / "slices.jsonl").open("w") as stream:
        for epoch in range(epochs):
            drift = dice.gauss(0, 0.02)
            luck = {arm: dice.gauss(truth[arm], spread) for arm in arms}
            sums = {arm: [0.0, 0.0] for arm in arms}
            for block in range(per_epoch):
                for position, arm in enumerate(dice.sample(arms, len(arms))):
                    speed = 38_000 * math.exp(drift + luck[arm] + dice.gauss(0, 0.05))
                    if dice.random() < 0.004:
                        speed *= 0.4
                    line = _slice(arm, epoch, block, position, now, speed)
                    sums[arm][0] += line["transactions"] * 8
                    sums[arm][1] += line["busy_ns"] / 1e9
                    stream.write(json.dumps(line) + "\n")
                    now += 50_400_000
            speeds.append({arm: done / busy for arm, (done, busy) in sums.items()})
            now += 2_500_000_000
    return speeds


def _slice(arm: str, epoch: int, block: int, position: int, now: int, speed: float) -> Json:
    done = round(speed * 0.05)
    latency = f"{8e9 / speed:.0f}:0.35:{done}"
    return {
        "arm": arm, "start_ns": now, "end_ns": now + 50_300_000, "length_ns": 50_000_000,
        "clients": 8, "transactions": done, "busy_ns": round(done * 8e9 / speed),
        "latency_sum_ns": round(done * 8e9 / speed), "failed": 0, "errors": {}, "wrong_rows": 0,
        "capped": 0, "retries": 0, "late_starts": 0, "driver_cpu_ns": 9_000_000,
        "scripts": [{"name": "select-only", "transactions": done, "latency": latency}],
        "epoch": epoch, "block": block, "position": position, "slot": 0, "kind": "measured",
        "debt_ns": 0,
    }  # fmt: skip


def _contrast(
    arm: str, control: str, speeds: list[dict[str, float]], slots: list[dict[str, int]]
) -> Json:
    d = [math.log(speed[arm] / speed[control]) for speed in speeds]
    low, middle, high = _interval(d)
    decided = low is not None and high is not None and low * high > 0
    settling = []
    for n in range(1, len(d) + 1):
        ends = _interval(d[:n])
        settling.append({"epochs": n, "estimate_percent": ends[1],
                         "low_percent": ends[0], "high_percent": ends[2]})  # fmt: skip
    return {
        "arm": arm, "control": control, "metric": "throughput", "unit": "transactions/s",
        "higher_is_better": True, "estimate_percent": middle, "low_percent": low,
        "high_percent": high, "confidence": 0.95,
        "verdict": ("faster" if middle > 0 else "slower") if decided else "inconclusive",
        "nonzero": decided, "epochs": len(d), "blocks": 64 * len(d),
        "forecast_seconds": None if decided else 240, "threats": [], "sentence": "",
        "details": {
            "d": d,
            "epochs": [
                {"epoch": n, "slots": slots[n], "order": [control, arm], "d": d[n],
                 "throughput": speeds[n], "typical_d": d[n] * 1.02, "outcome": "complete"}
                for n in range(len(d))
            ],
            "settling": settling, "k": 18, "subsets": 924, "look": "last", "level": 0.96,
            "method": "balanced sign flips",
            "t_interval_percent": [low, high], "equivalence_interval_percent": [low, high],
            "epoch_sd_percent": 0.61, "slot_effect_percent": 0.12,
            "typical_percent": middle * 1.02, "smallest_visible_percent": 0.62,
            "drops": {control: 0, arm: 0}, "attempt": 1, "capped": {control: 0, arm: 0},
            "equivalence_level_one_sided": 0.04, "block_autocorrelation": None, "lost_epochs": [],
            "margin_percent": 1.0,
        },
    }  # fmt: skip


def _interval(d: list[float]) -> tuple[float | None, float, float | None]:
    """A stand-in for the sign-flip set: nothing below 8 epochs, then a normal interval."""
    mean = sum(d) / len(d)
    if len(d) < 8:
        return None, math.expm1(mean) * 100, None
    sd = math.sqrt(sum((x - mean) ** 2 for x in d) / (len(d) - 1))
    half = (3.4 if len(d) < 12 else 2.3) * sd / math.sqrt(len(d))
    low, middle, high = (math.expm1(mean + side * half) * 100 for side in (-1, 0, 1))
    return low, middle, high


def _verdict(contrasts: list[Json], causes: bool, directory: Path) -> Json:
    return {
        "study": "checksums", "seed": 7, "record": f"records/checksums/{directory.name}",
        "seconds": 131.4, "whole_seconds": 150.2, "placement": "symmetric", "sentence": "",
        "latency_by_script": [], "queries": [], "statements": [], "work": [], "probes": [],
        "defaults": None, "loads": None, "resumed": False, "interrupted": False, "command": "",
        "trust": [], "ledger": None, "contrasts": [
            {**one, "sentence": f"With checksums {one['arm']}, reads are {one['verdict']}: "
             f"{one['estimate_percent']:+.2f} % of throughput."}
            for one in contrasts
        ],
        "causes": _CAUSES if causes else [], "latency": _LATENCY if causes else [],
        "differences": {"compared": 388, "declared": [["data_checksums", "on", "off"]],
                        "undeclared": []},
        "pages": {"verified_per_transaction": 1.94, "nanoseconds_per_page": 412.0,
                  "low": 330.0, "high": 495.0, "confidence": 0.95, "verifying": "on"}
        if causes else None,
        "measured_seconds": 78.0, "slices": 1536,
    }  # fmt: skip


def _row(
    name: str, unit: str, control: float, arm: float, ends: tuple[float, float, float]
) -> Json:
    low, middle, high = ends
    return {"arm": "off", "control": "on", "metric": name, "unit": unit,
            "control_value": control, "arm_value": arm,
            "estimate_percent": middle, "low_percent": low, "high_percent": high,
            "confidence": 0.95, "note": ""}  # fmt: skip


_CAUSES = [
    {**_row("server_cpu_us_per_transaction", "µs", 49.82, 48.61, (-2.94, -2.43, -1.91)),
     "note": "agrees with the throughput"},
    _row("wal_bytes_per_transaction", "bytes", 0.31, 0.30, (-8.1, -1.2, 6.2)),
    _row("full_page_images_per_transaction", "images", 0.0, 0.0, (0.0, 0.0, 0.0)),
    _row("blocks_read_per_transaction", "blocks", 1.941, 1.938, (-0.61, -0.15, 0.33)),
    {**_row("blocks_written_per_transaction", "blocks", 0.002, 0.002, (0.0, 0.0, 0.0)),
     "low_percent": None, "high_percent": None, "note": "too few to tell"},
]  # fmt: skip

_LATENCY = [
    {"arm": "off", "control": "on", "confidence": 0.95, "quantile": q,
     "control_us": control, "arm_us": control * (1 + middle / 100),
     "estimate_percent": middle, "low_percent": middle - half, "high_percent": middle + half}
    for q, control, middle, half in [
        (0.5, 205.0, -2.5, 0.5), (0.9, 322.0, -2.2, 0.6), (0.95, 375.0, -2.0, 0.9),
        (0.99, 498.0, -1.4, 1.8), (0.999, 1220.0, 2.6, 6.4)]
]  # fmt: skip

_STUDY = """\
name = "checksums"
title = "What do data checksums cost?"
question = "Reads of a database twice the size of shared buffers, checksums on against off."

[control]
name = "on"

[workload]
name = "pgbench"
scale = 50
clients = 8
"""


def _write(file: Path, value: Json) -> None:
    file.write_text(json.dumps(value))


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Path]:
    """Makes a record in a fresh directory: `record(arms=..., epochs=...)`."""

    def make(**options: Any) -> Path:
        return make_record(tmp_path / "2026-03-05T142233Z", **options)

    return make


@pytest.fixture
def counts() -> Callable[[list[str], list[int]], list[int]]:
    """Stands in for the extension's histogram decoder."""
    return fake_counts
