"""A weighing goes on with the study that it was planned for, to the letter."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.model.errors import UsageError
from story.asked import Watcher
from story.scripted import ScriptedWorld
from thinned import thinned

Weigh = Callable[..., dict[str, Any]]
EDITS = {
    "a longer budget": ("measuring", "# measuring"),
    "another margin": ("[decision]\n", '[decision]\nmargin = "3%"\n'),
    "another treatment": ("checksums = false", "checksums = true"),
    "more clients": ("clients = 4", "clients = 5"),
    "a note": ("", "# by hand\n"),
}


class Interrupting(Watcher):
    """Ctrl-C after the third epoch."""

    def epoch(self, n: int, total: int, contrasts: Any, seconds_left: float | None) -> None:
        super().epoch(n, total, contrasts, seconds_left)
        if n == 3:
            raise KeyboardInterrupt


@pytest.fixture
def record(tmp_path: Path, weigh_in: Weigh) -> Path:
    """Of a weighing that was interrupted."""
    weigh_in(ScriptedWorld(tmp_path / "first"), progress=Interrupting())
    return tmp_path / "record"


@thinned("edit", EDITS, 1)
def test_it_is_refused_once_its_study_was_edited(
    tmp_path: Path, record: Path, weigh_in: Weigh, edit: str
) -> None:
    file, watcher = record / "study.toml", Watcher()
    text = file.read_text()
    edited = text.replace(*EDITS[edit], 1)
    assert edited != text
    file.write_text(edited)
    kept = {path: path.read_bytes() for path in record.iterdir()}
    with pytest.raises(UsageError, match=r"its study.toml is not what it was") as refused:
        weigh_in(ScriptedWorld(tmp_path / "again"), resume=record, progress=watcher)
    assert f"weigh anew: steelyard weigh {file}" in (refused.value.hint or "")
    assert watcher.stages == [], "nothing was loaded for it"
    assert {path: path.read_bytes() for path in record.iterdir()} == kept
    file.write_text(text)
    verdict = weigh_in(ScriptedWorld(tmp_path / "again"), resume=record)
    assert verdict["contrasts"][0]["epochs"] == 10


def test_a_record_that_is_older_than_the_digest_goes_on(
    tmp_path: Path, record: Path, weigh_in: Weigh
) -> None:
    plan = json.loads((record / "plan.json").read_text())
    del plan["study_sha256"]
    (record / "plan.json").write_text(json.dumps(plan))
    verdict = weigh_in(ScriptedWorld(tmp_path / "again"), resume=record)
    assert verdict["contrasts"][0]["epochs"] == 10
