"""A search over real servers names the value at which a plan flips, and goes on where it was
killed; of commits it weighs what their build command made, and leaves out what it did not."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from underway import SEVERAL_S, Underway, until

from steelyard.engines.postgres.builds.build import parts_of_copy
from steelyard.engines.postgres.selection import find_postgres

pytestmark = [pytest.mark.postgres, pytest.mark.long]

Start = Callable[..., Underway]
BRIEF = (
    *("--set", "workload.scale=1", "--set", "workload.clients=2", "--budget", "20s"),
    *("--set", "budget.slice=50ms", "--set", "layout=slices"),
)
COSTS = "1,2,4,1000000,2000000,4000000"
"""From a million on no index is scanned any more."""


def test_a_killed_search_goes_on_and_names_the_cost_at_which_no_index_is_scanned(
    start: Start,
) -> None:
    words = ("settings", "--along", f"settings.random_page_cost={COSTS}", *BRIEF, "--seed", "5")
    begun = start("searched", "bisect", *words, command="history")
    folder = begun.record
    until((folder / "steps" / "ends" / "verdict.json").exists, "the ends to be weighed")
    begun.process.send_signal(signal.SIGKILL)
    begun.process.communicate()
    weighed = (folder / "steps" / "ends" / "verdict.json").stat().st_mtime_ns
    again = start("searched", "bisect", "--resume", str(folder), command="history")
    assert again.end(SEVERAL_S) == 0, again.said
    assert (folder / "steps" / "ends" / "verdict.json").stat().st_mtime_ns == weighed
    found = again.verdict["bisected"]
    assert (found["outcome"], found["before"], found["after"]) == ("found", "4", "1000000")
    assert json.loads((folder / "bisected.json").read_text()) == found
    ends, *middles = found["steps"]
    assert ends["high_percent"] < -50
    assert {step["place"] for step in middles} >= {"4", "1000000"}
    assert all((folder / step["record"] / "report.html").is_file() for step in found["steps"])


def test_a_commit_whose_build_fails_is_left_out_and_said(start: Start, tmp_path: Path) -> None:
    installed, libraries = parts_of_copy(find_postgres("bundle-18")._build)
    (tmp_path / "commits").write_text("".join(f"{n}a{n}a{n}a{n} words\n" for n in range(4)))
    fails = 'case $COMMIT in 1*|2*) echo "no compiler"; exit 1;; esac'
    build = f'{fails}; cp -r {installed}/. "$PREFIX" && cp {libraries}/* "$PREFIX/lib"'
    words = ("builds", "--commits", "commits", "--build", build, *BRIEF, "--seed", "5")
    changed = start("searched", "bisect", *words, "--set", "arm.settings.enable_indexscan=off",
                    "--set", "arm.settings.enable_bitmapscan=off", command="history")  # fmt: skip
    assert changed.end(SEVERAL_S) == 0, changed.said
    found = changed.verdict["bisected"]
    assert (found["outcome"], found["before"], found["after"]) == ("narrowed", "0a0a0a0", "3a3a3a3")
    left_out = [step for step in found["steps"] if step.get("failed")]
    assert [step["place"] for step in left_out] == ["1a1a1a1", "2a2a2a2"]
    assert all("it was not built: status 1" in step["failed"] for step in left_out)
    assert "no compiler" in (changed.record / "builds" / "1a1a1a1.log").read_text()
