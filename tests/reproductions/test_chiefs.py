"""Chief readings of a study: they stand for it where there is room for few."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproductions.test_reproductions import swept_of, verdict_in
from steelyard.cli.views.reproductions.page import row
from steelyard.reproductions.reproduction import Chief, names, read_reproduction


def test_a_study_with_chief_readings_shows_those_and_counts_the_rest(tmp_path: Path) -> None:
    study = read_reproduction("checksums")
    swept, verdict = swept_of(), verdict_in(tmp_path / "record")
    [(value, contrasts), *others] = [(point.value, point.contrasts) for point in swept.points]
    chief = Chief(step="reading", arm="off", at=str(value))
    with_chief = study.model_copy(update={"chiefs": (chief,)})
    words = row(with_chief, {"reading": swept, "beyond-memory": verdict})
    assert f"off at {value} **{contrasts[0].verdict}** +3" in words
    rest = [*contrasts[1:], *(each for _, more in others for each in more), *verdict.contrasts]
    assert f"{len(rest)} more on [its page](checksums.md)" in words
    assert "more on" not in row(with_chief, {"reading": swept})
    unread = Chief(step="writing", arm="off")
    assert "not yet weighed" in row(study.model_copy(update={"chiefs": (unread,)}), {})


@pytest.mark.parametrize("name", names())
def test_chief_readings_are_of_steps_and_arms_that_there_are(name: str) -> None:
    study = read_reproduction(name)
    assert study.chiefs
    steps = {step.name: step for step in study.steps}
    for chief in study.chiefs:
        step = steps[chief.step]
        arms = {claim.arm for claim in step.claims}
        assert chief.arm in arms or not arms, (name, chief)
        swept = [
            word for word in step.weigh if word.startswith("workload.clients=") and "," in word
        ]
        assert bool(chief.at) is bool(swept), (name, chief)
