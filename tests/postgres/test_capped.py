"""A weighing under a memory cap, end to end: data larger than the cap are read again and again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from underway import Underway

from steelyard.engines.account import choose_account
from steelyard.engines.memory.group import MARKER
from steelyard.engines.memory.rights import choose_cap
from steelyard.model.errors import EngineError
from steelyard.record.record import Record

pytestmark = [pytest.mark.postgres, pytest.mark.long]
Start = Callable[..., Underway]
STUDY = """
title = "What does a larger pool gain under a cap?"
question = "Should I give it more?"
layout = "slices"
memory = "256MB"
bound = "storage"
[control]
name = "small"
settings = { shared_buffers = "16MB" }
[arm]
name = "large"
settings = { shared_buffers = "64MB" }
[workload]
name = "pgbench"
scripts = { "select-only" = 1 }
scale = 60
clients = 4
working_set = "exceeds"
[budget]
measuring = "20s"
"""


@pytest.fixture
def capped(tmp_path: Path) -> None:
    try:
        choose_cap(256 << 20, choose_account(), tmp_path)
    except EngineError as refused:
        pytest.skip(f"no right to make a control group: {refused.detail}")


def test_a_capped_weighing_reads_from_the_device_and_leaves_no_group(
    capped: None, start: Start
) -> None:
    one = start("record", "capped.toml", study=STUDY)
    one.in_the_middle_of(1)
    markers = one.directories()[0].glob(f"*/{MARKER}")
    groups = {Path(marker.read_text().strip()) for marker in markers}
    assert len(groups) == 2, "each arm has its own"
    assert one.end() == 0, one.said
    assert not [path for path in groups if path.exists()]
    told = one.verdict
    record = Record(one.record)
    assert record.read("plan.json")["memory"]["cap_bytes"] == 256 << 20
    epochs = [x for x in record.lines("telemetry.jsonl") if x["type"] == "epoch"]
    refaults = [
        reading["value"]
        for epoch in epochs
        for arm in epoch["arms"].values()
        for reading in arm["readings"]
        if reading["name"] == "memory_refaults"
    ]
    assert len(refaults) == 2 * len(epochs)
    assert max(refaults) > 0, "900 MB of accounts do not stay in 256 MB"
    assert told["contrasts"][0]["control"] == "small"
    assert json.loads((one.record / "verdict.json").read_text())["sentence"]
