"""A published study that cannot be read is refused by its file and key, or by the nearest name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.cli.weighing.reproduce import require_claims
from steelyard.model.errors import StudyError
from steelyard.reproductions.reproduction import (
    PUBLISHED,
    claim_names,
    names,
    read_reproduction,
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = ", "cannot parse"),
        ('title = "x"', 'invalid value for "question"'),
        ("unknown = 1", 'invalid value for "title"'),
    ],
)
def test_a_file_that_is_wrong_is_named_with_its_key(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(StudyError, match=said):
        read_reproduction(str(tmp_path / "mine.toml"))


def test_a_chief_reading_of_no_step_is_refused_by_its_name(tmp_path: Path) -> None:
    text = (PUBLISHED / "checksums.toml").read_text("utf-8")
    (tmp_path / "mine.toml").write_text(text.replace('step = "reading"', 'step = "reeding"', 1))
    with pytest.raises(StudyError, match='"reeding", which is no'):
        read_reproduction(str(tmp_path / "mine.toml"))


def test_a_name_that_is_almost_one_is_answered_with_the_nearest() -> None:
    with pytest.raises(StudyError) as refused:
        read_reproduction("checksum")
    assert 'Perhaps you meant "checksums"' in str(refused.value)
    assert json.dumps(names()[0])


MINE = """
title = "t"
question = "q"
published = "p"
claimed = "c"
design = "d"
could_see = "s"
seen = "s"
ours = "o"
figures = []
[[step]]
name = "reading"
question = "q"
weigh = ["checksums", "--sweep", "workload.clients=8,32"]
minutes = 4
[[step.claim]]
arm = "off"
percent = 3.0
at = "8"
why = "w"
[[step]]
name = "writing"
question = "q"
weigh = ["settings", "--set", "arm.settings.jit=off"]
minutes = 4
[[step.claim]]
arm = "jit=off"
percent = 3.0
why = "w"
"""


def written(tmp_path: Path, *change: str) -> str:
    (tmp_path / "mine.toml").write_text(MINE.replace(*change) if change else MINE)
    return str(tmp_path / "mine.toml")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('title = "t"', 'title = "t"\nsteps = []'), 'unrecognized key: "steps"'),
        (('name = "writing"', 'name = "reading"'), 'two .* have the name "reading"'),
        (("minutes = 4", "minutes = true"), 'invalid value for "step.0.minutes": accepted: a num'),
        (('name = "writing"', 'name = "../x"'), 'invalid value for "step.1.name"'),
        (('title = "t"', 'title = "t"\nname = "../x"'), 'invalid value for "name"'),
        (("percent = 3.0", "percent = 3.0\ndirection = 'faster'"), "either a percent or a dir"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    with pytest.raises(StudyError, match=words):
        read_reproduction(written(tmp_path, *change))


def test_a_key_that_is_almost_one_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r'"step\.0\.claim\.0\.percnt"') as refused:
        read_reproduction(written(tmp_path, "percent = 3.0", "percent = 3.0\npercnt = 4.0"))
    assert refused.value.hint == 'Perhaps you meant "percent".'


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('arm = "off"', 'arm = "of"'), 'step "reading": claim with arm = "of"'),
        (('at = "8"', 'at = "16"'), 'step "reading": claim with at = "16"'),
        (('"--sweep", "workload', '"--sweep=workload'), ""),
        (('arm = "jit=off"', 'arm = "anything"'), ""),
    ],
)
def test_a_claim_of_what_its_step_does_not_weigh_is_refused_before_it_is_weighed(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    reproduction = read_reproduction(written(tmp_path, *change))
    if not words:  # arms that are named by what they are get their names at the weighing
        require_claims(reproduction)
        return
    with pytest.raises(StudyError, match=words) as refused:
        require_claims(reproduction)
    assert ("off" if "arm" in words else "32, 8") in (refused.value.hint or "")


@pytest.mark.parametrize("name", [*names(), *claim_names()])
def test_every_claim_is_of_what_its_step_weighs(name: str) -> None:
    require_claims(read_reproduction(name))


def test_a_file_is_found_again_from_another_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert read_reproduction("mine.toml").place == tmp_path
