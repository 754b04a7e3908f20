"""A repetition whose profiles depend on the device has it probed before anything is weighed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from steelyard.cli.weighing import reproduce
from steelyard.cli.weighing.reproduce import ReproduceRequest, begin_reproduction
from steelyard.model.errors import SteelyardError


@pytest.mark.parametrize(("kept", "status"), [(False, 0), (False, 3), (True, 0)])
def test_the_device_is_probed_first_where_no_probe_is_kept(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kept: bool,
    status: int,
) -> None:
    ran: list[str] = []

    def run(words: Sequence[str]) -> int:
        ran.append(words[0])
        return status if words[0] == "probe" else 1

    monkeypatch.setattr(reproduce, "last_probe", lambda place, cache: object() if kept else None)
    monkeypatch.setattr(reproduce, "run", run)
    monkeypatch.setattr(reproduce, "run", run)
    monkeypatch.setattr(reproduce, "missing_engines", lambda steps, account: [])

    def begin(name: str) -> None:
        request = ReproduceRequest(
            name=name, only=None, longer=False, full=False, changes=(), seed=17,
            record=tmp_path / name, account=None, as_json=False,
        )  # fmt: skip
        with pytest.raises(SteelyardError, match="ended with status 1"):
            begin_reproduction(request)

    begin("tuning")
    assert ran == (["weigh"] if kept else ["probe", "weigh"])
    assert ("not probed:" in capsys.readouterr().err) == bool(status)
    ran.clear()
    begin("page-verify")
    assert ran == ["weigh"], "its study does not depend on the device"
