"""Weighings of a validation are made anew where they were stopped, and never where they ended."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from validation import weigh_command

WEIGHS = """#!{python}
import json, sys
from pathlib import Path

record = Path(sys.argv[-1])
if record.exists():
    sys.exit("record directory already holds a weighing")
record.mkdir(parents=True)
(record / "slices.jsonl").write_text("")
for result in {{"verdict.json", "swept.json"}} & {{*sys.argv}}:
    (record / result).write_text("{{}}")
print(json.dumps({{"words": sys.argv[1:-3]}}))
"""


@pytest.fixture(autouse=True)
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "steelyard"
    path.write_text(WEIGHS.format(python=sys.executable))
    path.chmod(0o755)
    monkeypatch.setattr(weigh_command, "STEELYARD", path)


def test_a_record_of_a_run_that_was_stopped_makes_room(tmp_path: Path) -> None:
    record = tmp_path / "case" / "record"
    assert weigh_command.run_weigh("case", ["stopped"], record)["words"] == ["weigh", "stopped"]
    assert not (record / "verdict.json").exists()
    words = ["weigh", "verdict.json"]
    assert weigh_command.run_weigh("case", ["verdict.json"], record)["words"] == words
    assert (record / "verdict.json").exists()


@pytest.mark.parametrize("result", ["verdict.json", "swept.json"])
def test_a_record_with_a_verdict_stays(tmp_path: Path, result: str) -> None:
    record = tmp_path / "case" / "record"
    weigh_command.run_weigh("case", [result], record)
    with pytest.raises(SystemExit, match="case ended with 1\nrecord directory already holds"):
        weigh_command.run_weigh("case", [result], record)
    assert (record / result).exists()
