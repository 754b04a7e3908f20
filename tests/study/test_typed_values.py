"""What people type in a study means what they see: sizes have units, settings keep their words."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from steelyard.model.errors import StudyError
from steelyard.study.change import toml_text
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


BARE_NUMBERS = [
    ("memory", "4096", "4096kB, 4096MB, or 4096B for bytes"),
    ("memory", '"4096"', "4096kB, 4096MB, or 4096B for bytes"),
    ("memory", "8", "8MB, 8GB"),
    ("disk.read_rate", "125000", "125000kB, 125000MB, or 125000B for bytes"),
    ("disk.read_rate", '"125000/s"', "125000kB, 125000MB, or 125000B for bytes"),
    ("arm.replication.round_trip", "5000", "5000us, 5000ms, 5000s"),
    ("arm.replication.round_trip", "5", "5ms"),
    ("arm.weight.stall_time", "5000000", "5000000us, 5000000ms, 5000000s"),
    ("budget.measuring", "45000000000", "45000000000us"),
]


@pytest.mark.parametrize(("key", "value", "units"), BARE_NUMBERS)
def test_a_number_alone_is_no_size_and_no_duration(
    minimal: Path, key: str, value: str, units: str
) -> None:
    with pytest.raises(StudyError, match=f"has no unit: {re.escape(units)}"):
        read_study(str(minimal), [f"{key}={value}"])
    table, _, last = key.rpartition(".")
    header = f"[{table}]\n" if table else ""
    text = MINIMAL if table else f"{last} = {value}\n{MINIMAL}"
    minimal.write_text(f"{text}{header}{last} = {value}\n" if table else text)
    with pytest.raises(StudyError, match=f"has no unit: {re.escape(units)}"):
        read_study(str(minimal))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("arm.replication.round_trip", "0"),
        ("memory", "4096MB"),
        ("memory", "3000000001B"),
        ("disk.read_rate", "125MB/s"),
        ("budget.measuring", "45s"),
        ("budget.measuring", "1h 30m"),
        ("arm.replication.round_trip", "1500us"),
    ],
)
def test_sizes_and_durations_are_written_with_units_and_read_again(
    minimal: Path, key: str, value: str
) -> None:
    study = read_study(str(minimal), [f"{key}={value}"])
    minimal.write_text(write_study(study))
    assert read_study(str(minimal)) == study


def test_a_study_of_an_earlier_record_has_numbers_alone(minimal: Path) -> None:
    file = minimal.with_name("study.toml")
    file.write_text(f"memory = 4294967296\n{MINIMAL}[budget]\nmeasuring = 45000000000\n")
    with pytest.raises(StudyError, match="has no unit"):
        read_study(str(file))
    file.with_name("plan.json").write_text("{}")
    study = read_study(str(minimal.parent))
    assert (study.memory, study.budget.measuring) == (4 << 30, 45 * 10**9)
    assert read_recorded_study(file) == study


@pytest.mark.parametrize(
    ("key", "typed", "word"),
    [
        ("app.is_admin", "true", "true"),
        ("app.is_admin", "false", "false"),
        ("app.is_admin", "on", "on"),
        ("auto_explain.log_analyze", "true", "true"),
        ("jit", "true", "on"),
        ("jit", "false", "off"),
        ("search_path", '"MySchema"', '"MySchema"'),
        ("search_path", '"my-schema"', '"my-schema"'),
        ("search_path", '"MySchema", public', '"MySchema", public'),
        ("search_path", '"app"', "app"),
        ("search_path", '"app, public"', "app, public"),
        ("search_path", '""', ""),
        ("search_path", "'MySchema'", "MySchema"),
        ("search_path", "MySchema", "MySchema"),
        ("Temp_Tablespaces", '"Fast"', '"Fast"'),
        ("work_mem", '"64MB"', "64MB"),
        ("TimeZone", '"Europe/Berlin"', "Europe/Berlin"),
    ],
)
def test_a_setting_means_to_the_server_what_was_typed(
    minimal: Path, key: str, typed: str, word: str
) -> None:
    study = read_study(str(minimal), [f"arm.settings.{key}={typed}"])
    assert study.arms[0].settings == {key.lower(): word}


def test_a_truth_value_of_a_file_is_a_word_too(minimal: Path) -> None:
    minimal.write_text(f'{MINIMAL}[settings]\n"app.is_admin" = true\njit = false\n')
    assert read_study(str(minimal)).settings == {"app.is_admin": "true", "jit": "off"}


def test_a_name_that_is_not_utf_8_is_refused_before_anything_is_written() -> None:
    name = os.fsdecode(b"/data/\xff\xfe/dump.sql")
    with pytest.raises(StudyError, match="it is not UTF-8") as refused:
        toml_text({"source": [name]})
    assert refused.value.hint
    assert "\\udcff" in refused.value.primary
