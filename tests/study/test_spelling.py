"""A study is read as it was written, or refused with what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.model.errors import StudyError
from steelyard.study.read import read_study, write_study
from steelyard.study.values import WrittenFloat

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


@pytest.mark.parametrize("version", ["18", "16.4", "18.10", '"18.10"'])
def test_a_version_of_a_file_keeps_its_letters(minimal: Path, version: str) -> None:
    minimal.write_text(MINIMAL.replace('name = "b"', f'name = "b"\nversion = {version}'))
    study = read_study(str(minimal))
    assert study.arms[0].version == version.strip('"')
    minimal.write_text(write_study(study))
    assert read_study(str(minimal)) == study


@pytest.mark.parametrize("number", ["90", "18.10", "true", "2026-01-01", "inf"])
@pytest.mark.parametrize(
    ("key", "line"),
    [("arm.name", 'name = "b"'), ("title", 'title = "t"'), ("question", 'question = "q"')],
)
def test_a_number_in_place_of_a_text_is_refused_with_the_quotes_to_write(
    minimal: Path, key: str, line: str, number: str
) -> None:
    written = f"{key.rpartition('.')[2]} = "
    minimal.write_text(MINIMAL.replace(line, written + number))
    with pytest.raises(StudyError) as refused:
        read_study(str(minimal))
    text = f'it is a text: write it in quotes: "{number}"'
    assert f'invalid value for "{key}": {text}' in refused.value.primary
    minimal.write_text(MINIMAL.replace(line, f'{written}"{number}"'))
    read_study(str(minimal))


@pytest.mark.parametrize("value", ["18.10", "0x10", "2026-01-01"])
def test_a_text_of_an_override_may_look_like_a_number_or_a_date(minimal: Path, value: str) -> None:
    study = read_study(str(minimal), [f"title={value}", f"arm.role={value}"])
    assert (study.title, study.arms[0].role) == (value, value)
    with pytest.raises(StudyError, match=f'compared with "{value}", which is no other arm'):
        read_study(str(minimal), [f"arm.against={value}"])


def test_a_value_that_may_be_of_several_types_is_refused_by_its_own_key(minimal: Path) -> None:
    for key in ("workload.options.x", "workload.variables.x"):
        with pytest.raises(StudyError, match=f'invalid value for "{key}": '):
            read_study(str(minimal), [f"{key}=[1]"])


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("true", "true"), ("false", "false"), ("8", 8), ("-8", -8), ("0.5", 0.5),
        ("1.10", "1.10"), ("1e3", "1e3"), ("2026-01-01", "2026-01-01"), ("10:30:00", "10:30:00"),
        ("'1.10'", "1.10"), ("'8'", "8"),
    ],
)  # fmt: skip
def test_a_variable_of_scripts_is_what_was_written(
    minimal: Path, written: str, value: object
) -> None:
    """As -D has it: 1.10 may be a text, and true is no 1."""
    typed = read_study(str(minimal), [f"workload.variables.x={written}"]).workload.variables
    minimal.write_text(f"{MINIMAL}[workload.variables]\nx = {written}\n")
    study = read_study(str(minimal))
    for variables in (typed, study.workload.variables):
        assert variables == {"x": value}
        assert type(variables["x"]) in (type(value), WrittenFloat)
    minimal.write_text(write_study(study))
    assert read_study(str(minimal)).workload.variables == {"x": value}


@pytest.mark.parametrize("typed", ["0x10", "1_000", "+5", "007", "TRUE", "a b", "1.", ""])
def test_a_variable_that_is_typed_keeps_its_letters(minimal: Path, typed: str) -> None:
    study = read_study(str(minimal), [f"workload.variables.x={typed}"])
    assert study.workload.variables == {"x": typed}


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ("clients=32", 'Perhaps you meant "workload.clients".'),
        ("margin=2%", 'Perhaps you meant "decision.margin".'),
        ("checksums=false", 'Perhaps you meant "control.checksums" or "arm.checksums".'),
        ("cycles=3", 'Perhaps you meant "turns.cycles" or "budget.cycles".'),
        ("arm.memory=2GB", 'Perhaps you meant "memory".'),
        ("workload.epochs=8", 'Perhaps you meant "budget.epochs".'),
        (
            "work_mem=64MB",
            "A setting of the arm is arm.settings.work_mem; of all arms, settings.work_mem.",
        ),
        ("arm.work_mem=64MB", "A setting of the server is arm.settings.work_mem."),
        ("arm.other.settings.jit=off", 'Write [[arm]] before each arm, and name = "other" beneath'),
        ("budgets.epochs=8", 'Perhaps you meant "budget".'),
        ("nonsense.x=8", None),
    ],
)
def test_a_key_that_stands_elsewhere_is_refused_with_where_it_stands(
    minimal: Path, change: str, hint: str | None
) -> None:
    with pytest.raises(StudyError, match="unrecognized key") as refused:
        read_study(str(minimal), [change])
    assert hint is None or (refused.value.hint or "").startswith(hint)
    assert hint is not None or refused.value.hint is None


@pytest.mark.parametrize("name", ["b", "17.0", "mine"])
@pytest.mark.parametrize("header", ["[arm]", "[[arm]]"])
def test_the_only_arm_is_reached_by_its_name_too(minimal: Path, name: str, header: str) -> None:
    text = MINIMAL.replace('"b"', f'"{name}"').replace("[arm]", header)
    minimal.write_text(text.replace('name = "mine"', 'role = "mine"'))
    for key in (f"arm.{name}.settings.jit", "arm.settings.jit"):
        assert read_study(str(minimal), [f"{key}=off"]).arms[0].settings == {"jit": "off"}


@pytest.mark.parametrize("text", [f"\ufeff{MINIMAL}", MINIMAL.replace("\n", "\r\n")])
def test_a_study_is_the_same_with_the_marks_and_ends_of_lines_of_other_editors(
    minimal: Path, text: str
) -> None:
    plain = read_study(str(minimal))
    minimal.write_bytes(text.encode())
    assert read_study(str(minimal)) == plain


def test_a_setting_of_mysql_is_one_with_dashes_too(minimal: Path) -> None:
    with pytest.raises(StudyError, match="has no effect") as refused:
        read_study("doublewrite", ["settings.innodb-doublewrite=0"])
    assert "--set arm.settings.innodb_doublewrite=VALUE" in (refused.value.hint or "")
    study = read_study("doublewrite", ["arm.settings.innodb-doublewrite=1"])
    assert study.arms[0].settings == {"innodb-doublewrite": "1"}
    minimal.write_text(f'{MINIMAL}[settings]\nsql-mode = "ANSI"\nsql_mode = "TRADITIONAL"\n')
    with pytest.raises(StudyError, match='setting "sql_mode" stands there twice'):
        read_study(str(minimal))


def test_arms_are_given_whole_and_by_the_word_that_overrides_have(minimal: Path) -> None:
    [arm] = read_study(str(minimal), ['arm={ name = "c", version = "17" }']).arms
    assert (arm.name, arm.version) == ("c", "17")
    whole = read_study(str(minimal), ['arm=[{ name = "c" }, { name = "d" }]', "arm.d.version=17"])
    assert [(arm.name, arm.version) for arm in whole.arms] == [("c", "18"), ("d", "17")]
    for key in ("arms", "arms.settings.jit"):
        with pytest.raises(StudyError, match=f'unrecognized key: "{key}"') as refused:
            read_study(str(minimal), [f"{key}=off"])
        assert refused.value.hint == f'Write "{key.replace("arms", "arm")}".'
    with pytest.raises(StudyError, match='invalid value for "arm'):
        read_study(str(minimal), ["arm=5"])
