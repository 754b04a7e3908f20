"""What a study says for no arm, and a share without its unit, is refused and not guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.model.errors import StudyError
from steelyard.study.read import read_recorded_study, read_study, write_study

MINIMAL = """
title = "t"
question = "q"
[control]
name = "a"
[arm]
name = "b"
"""


@pytest.fixture
def minimal(tmp_path: Path) -> Path:
    file = tmp_path / "mine.toml"
    file.write_text(MINIMAL)
    return file


ANSWER = """
[answer.{}]
subject = "the treatment"
"""


@pytest.mark.parametrize(
    ("arm", "name", "hint"),
    [
        ('name = "b"', "b", ""),
        ("checksums = false", "arm", ""),
        ('name = "b"', "bb", 'Perhaps you meant "answer.b".'),
        ("checksums = false", "amr", 'Perhaps you meant "answer.arm".'),
        ('name = "b"', "a", None),
    ],
)
def test_words_for_what_is_no_arm_are_refused_with_the_near_one(
    minimal: Path, arm: str, name: str, hint: str | None
) -> None:
    minimal.write_text(MINIMAL.replace('name = "b"', arm) + ANSWER.format(name))
    if hint == "":
        assert read_study(str(minimal)).answer.keys() == {name}
        return
    with pytest.raises(StudyError, match=rf'^error: mine\.toml: .* "answer\.{name}"') as refused:
        read_study(str(minimal))
    assert refused.value.hint == hint
    (minimal.parent / "plan.json").write_text("{}")
    recorded = minimal.rename(minimal.with_name("study.toml"))
    assert read_study(str(recorded)).answer == {}, "of a record, whose arms may be fewer"


@pytest.mark.parametrize(
    ("study", "changes"),
    [
        ("wal-compression", ["arm.settings.wal_compression=pglz"]),  # the others are left out
        ("checksums", ["arm.name=plain"]),
        ("checksums", ["answer.off.plural=false"]),
    ],
)
def test_words_for_arms_that_overrides_leave_out_or_rename_are_no_error(
    study: str, changes: list[str], tmp_path: Path
) -> None:
    (file := tmp_path / "mine.toml").write_text(write_study(read_study(study, changes)))
    assert read_study(str(file)).arms == read_study(study, changes).arms
    with pytest.raises(StudyError, match=r'unrecognized key: "answer\.of": it names no arm'):
        read_study(study, [*changes, "answer.of.subject=x"])


@pytest.mark.parametrize(
    "key", ["decision.margin", "arm.weight.double_work", "control.weight.stall_share"]
)
@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("0.02", '0.02 has no unit: "2%", or "0.02%"'),
        ("0.3", '0.3 has no unit: "30%", or "0.3%"'),
        ("1e-3", '0.001 has no unit: "0.1%", or "0.001%"'),
        ("2", "2 has no unit: 2%"),
    ],
)
def test_a_share_without_a_unit_is_not_guessed(
    minimal: Path, key: str, number: str, words: str
) -> None:
    table, _, name = key.rpartition(".")
    in_file = f"{MINIMAL}[{table}]\n{name} = {number}\n"
    for text, changes in ((MINIMAL, [f"{key}={number}"]), (in_file, [])):
        minimal.write_text(text)
        with pytest.raises(StudyError) as refused:
            read_study(str(minimal), changes)
        assert refused.value.primary.endswith(f'invalid value for "{key}": {words}')


def test_an_older_record_has_bare_shares_and_what_is_typed_beside_it_has_none(
    tmp_path: Path,
) -> None:
    (tmp_path / "plan.json").write_text("{}")
    file = tmp_path / "study.toml"
    file.write_text(f"{MINIMAL}[decision]\nmargin = 0.02\n")
    assert read_study(str(file)).decision.margin == 0.02
    assert read_recorded_study(file).decision.margin == 0.02
    with pytest.raises(StudyError, match="has no unit"):
        read_study(str(file), ["decision.margin=0.03"])


@pytest.mark.parametrize("percent", ["1", "2.5", "1.1", "0.07", "7", "12.345", "33.3", "0.0001"])
def test_a_share_is_written_in_percent_and_reads_back(minimal: Path, percent: str) -> None:
    changes = [f"{key}={percent}%" for key in ("decision.margin", "arm.weight.double_work")]
    study = read_study(str(minimal), changes)
    minimal.write_text(write_study(study))
    assert f'margin = "{percent}%"' in minimal.read_text()
    assert read_study(str(minimal)) == study
