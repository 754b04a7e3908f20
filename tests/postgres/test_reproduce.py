"""A repetition over real servers: killed, it goes on; each step is a record, the page has all."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from underway import SEVERAL_S, Underway, until

pytestmark = [pytest.mark.postgres, pytest.mark.long]

Start = Callable[..., Underway]
MINE = """
title = "Mine"
question = "Does it hold?"
published = "A page."
claimed = "alike"
design = "Once."
could_see = "Nothing."
seen = "nothing"
ours = "Often."
figures = [{ what = "TPS", control = "1", arm = "2" }]

[[step]]
name = "alone"
question = "Alone"
minutes = 1
weigh = ["aa", "--budget", "20s"]

[[step.claim]]
arm = "b"
percent = 0
why = "They are alike."

[[step]]
name = "swept"
question = "By clients"
minutes = 1
weigh = ["own.toml", "--sweep", "workload.clients=1,2", "--budget", "20s"]
"""
OWN = """
title = "Own"
question = "Own?"
[control]
name = "a"
[arm]
name = "b"
settings = { work_mem = "8MB" }
[workload]
name = "pgbench"
scripts = { "select-only" = 1 }
"""
BRIEF = ("--set", "workload.scale=1", "--set", "budget.slice=50ms")


def test_a_killed_repetition_goes_on_and_writes_its_page(start: Start, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    (tmp_path / "own.toml").write_text(OWN)
    begun = start("repeated", str(tmp_path / "mine.toml"), *BRIEF, command="reproduce")
    folder = begun.record
    until((folder / "alone" / "plan.json").exists, "the first step to be planned")
    begun.process.send_signal(signal.SIGINT)
    begun.process.communicate()
    again = start("repeated", "--resume", str(folder), command="reproduce")
    assert again.end(SEVERAL_S) == 0, again.said
    told = again.verdict
    assert set(told["steps"]) == {"alone", "swept"}
    assert len(told["steps"]["swept"]["points"]) == 2
    page = (folder / "page.md").read_text()
    assert "Published: b is equal in throughput." in page
    assert "They are alike." in page
    assert "Not yet weighed" not in page
    assert json.loads((folder / "reproduce.json").read_text())["steps"]["alone"][0] == "aa"
