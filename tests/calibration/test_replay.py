"""Traces keep what a record says, and virtual weighings are cut from them as promised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.analysis.decision.epoch_reading import read_epoch
from steelyard.record.reader import finished_epochs
from steelyard.record.record import Record
from validation import traces
from validation.cases import replay
from validation.cases.case import generator
from validation.cases.replay import SCHEMES, ReplayCase, choose, pieces
from validation.cases.simulation import cell, tallies
from validation.cases.virtual import Question
from validation.proportion import Proportion
from validation.traces import Trace, head_of, records_below, rows_of

BLOCKS = 6


def slice_line(epoch: int, block: int, arm: str, rng: np.random.Generator) -> dict[str, Any]:
    busy = int(800_000_000 + rng.integers(1_000_000))
    return {
        "epoch": epoch, "attempt": 1, "arm": arm, "kind": "measured", "block": block,
        "position": int(arm == "b"), "start_ns": 10**9 * (100 * epoch + block), "clients": 8,
        "transactions": int(rng.integers(4_000, 6_000)), "busy_ns": busy, "latency_sum_ns": busy,
        "failed": 0, "debt_ns": 0,
    }  # fmt: skip


def record(folder: Path, seed: int, epochs: int = 10, placement: str = "symmetric") -> Record:
    """A finished record of equal arms, as a weighing leaves it."""
    rng = np.random.default_rng(seed)
    made = Record.create(folder, "aa")
    plan = {"study": "aa", "seed": seed, "slice_ns": 100_000_000, "clients": 8}
    made.write("plan.json", plan | {"placement": placement})
    machine = {
        "kernel": "Linux 6", "processor": "P", "allowed_processors": [0, 1],
        "memory_bytes": 8_000_000_000, "virtual": True, "hostname": "secret",
    }  # fmt: skip
    made.write("environment.json", {"machine": machine})
    for epoch in range(epochs):
        for kind in ("warmup", "measured"):
            for block in range(BLOCKS):
                for arm in ("a", "b"):
                    made.append("slices.jsonl", slice_line(epoch, block, arm, rng) | {"kind": kind})
        slots = {"a": epoch % 2, "b": 1 - epoch % 2}
        head = {"type": "epoch", "epoch": epoch, "attempt": 1, "slots": slots}
        made.append("telemetry.jsonl", head | {"start_order": ["a", "b"], "outcome": "complete"})
    made.append("slices.jsonl", slice_line(epochs, 0, "a", rng))  # of a torn epoch
    made.write("verdict.json", {})
    made.close()
    return made


def trace_of(made: Record, folder: Path) -> Trace:
    head = head_of(made)
    file = folder / f"{head['seed']}.csv.gz"
    traces.write(head, rows_of(made), file)
    return traces.read(file)


def test_a_trace_reads_every_epoch_as_the_record_does(tmp_path: Path) -> None:
    made = record(tmp_path / "record", 3)
    trace = trace_of(made, tmp_path)
    epochs = [epoch.totals for epoch in finished_epochs(made)]
    assert len(trace.epochs) == len(epochs) == 10
    for kept, original in zip(trace.epochs, epochs, strict=True):
        mine = read_epoch(kept, "b", "a", "throughput")
        whole = read_epoch(original, "b", "a", "throughput")
        assert mine.d == pytest.approx(whole.d, abs=1e-6)  # busy time is kept to the µs
        assert (mine.slots, mine.blocks) == (whole.slots, whole.blocks)


def test_a_trace_names_no_place_and_is_the_same_bytes_every_time(tmp_path: Path) -> None:
    made = record(tmp_path / "somewhere" / "record", 4)
    first = trace_of(made, tmp_path)
    written = (tmp_path / "4.csv.gz").read_bytes()
    trace_of(made, tmp_path)
    assert (tmp_path / "4.csv.gz").read_bytes() == written
    assert "somewhere" not in str(first.head)
    assert "hostname" not in first.head["machine"]


def test_only_finished_records_are_taken(tmp_path: Path) -> None:
    record(tmp_path / "one" / "record", 5)
    torn = record(tmp_path / "two" / "record", 6)
    (torn.directory / "verdict.json").unlink()
    assert [one.directory.parent.name for one in records_below([tmp_path])] == ["one"]


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Trace, ...]:
    """Four weighings on record, replayed instead of those of the repository."""
    some = tuple(trace_of(record(tmp_path / str(seed), seed), tmp_path) for seed in range(1, 5))
    monkeypatch.setattr(replay, "traces", lambda: some)
    replay.every_epoch.cache_clear()
    yield some
    replay.every_epoch.cache_clear()


def test_pieces_of_an_epoch_hold_all_its_slices_once(pool: tuple[Trace, ...]) -> None:
    epoch = pool[0].epochs[0]
    parts = list(pieces(epoch, 3))
    for name, arm in epoch.arms.items():
        assert sum(part.arms[name].transactions for part in parts) == arm.transactions
        blocks = [{one.block for one in part.arms[name].slices} for part in parts]
        assert [len(one) for one in blocks] == [2, 2, 2]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_virtual_weighing_has_its_slots_half_each_way(
    scheme: str, pool: tuple[Trace, ...]
) -> None:
    contrast, sign = choose(generator("a"), "symmetric", scheme, 10)
    assert (len(contrast), sign.sum()) == (10, 0.0)
    whole = {one.d for one in replay.every_epoch("symmetric", 3 if scheme == "pieces" else 1)}
    assert set(contrast.tolist()) <= whole
    assert len(set(contrast.tolist())) == 10


def test_neighbours_follow_each_other(pool: tuple[Trace, ...]) -> None:
    order = [one.d for one in replay.every_epoch("symmetric")]
    contrast, _ = choose(generator("c"), "symmetric", "neighbours", 12)
    start = order.index(contrast[0])
    assert contrast.tolist() == order[start : start + 12]


def test_too_few_traces_are_said_and_not_stretched(pool: tuple[Trace, ...]) -> None:
    assert ReplayCase("symmetric", "scattered", 60, weighings=5).work()["cells"] == {}
    assert ReplayCase("free", "scattered", 10, weighings=5).work()["cells"] == {}


def test_virtual_weighings_of_traces_keep_five_percent(pool: tuple[Trace, ...]) -> None:
    cells = ReplayCase("symmetric", "scattered", 10, weighings=200).work()["cells"]
    equal = tallies(cells)[cell("first verdict", Question(0.0))]
    assert not Proportion(equal.weighings - equal.covered, equal.weighings).exceeds(0.05, 0.999)
    assert tallies(cells)[cell("plan", Question(-0.05))].faster == 0
