"""A study that says a password, key or token is refused, and the key that says it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.model.errors import StudyError
from steelyard.study.read import read_recorded_study, read_study
from steelyard.study.secrets import holds_password

STUDY = """
title = "t"
question = "q"
[control]
name = "a"
[[arm]]
name = "b"
"""
OF_A_RECORD = """settings = { "my.api_token" = "x" }
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    file = tmp_path / "mine.toml"
    file.write_text(STUDY)
    return file


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("settings.my.api_token=x", "settings.my.api_token"),
        ("control.settings.primary_conninfo=host=h", "control.settings.primary_conninfo"),
        ("arm.b.settings.archive_command=cp %p /a", "arm.b.settings.archive_command"),
        ("arm.b.settings.my.url=https://u:x@h", "arm.b.settings.my.url"),
        ('sql=["SELECT 1", "ALTER ROLE a PASSWORD \'x\'"]', "sql"),
        ("arm.b.sql=CREATE USER a IDENTIFIED BY 'x'", "arm.b.sql"),
        ("workload.texts={q = \"SELECT set_config('x.token', 'y', true)\"}", "workload.texts.q"),
        ("workload.variables={api_key = 'x'}", "workload.variables.api_key"),
        ("title=password=x", "title"),
        ("sql=[\"INSERT INTO users VALUES (1, 'bob', 'x')\"]", "sql"),
        ('sql=["CREATE TABLE t (a int, pw text)", "INSERT INTO t VALUES (1, \'x\')"]', "sql"),
    ],
)
def test_the_key_that_says_a_secret_is_named(change: str, key: str, study: Path) -> None:
    with pytest.raises(StudyError, match=f'"{key}" may say a password, key or token') as refused:
        read_study(str(study), [change])
    assert refused.value.detail is None


@pytest.mark.parametrize(
    "change",
    [
        "arm.b.settings.password_encryption=md5",
        "arm.b.settings.ssl_key_file=/etc/key",
        "arm.b.settings.x.token=off",
        "arm.b.sql=CREATE INDEX ON tokens (token)",
        "arm.b.sql=CREATE ROLE a LOGIN",
        'sql=["CREATE TABLE users (a int, b text)", "INSERT INTO users VALUES (1, \'x\')"]',
        "sql=[\"INSERT INTO users (a, b) VALUES (1, 'x')\", \"INSERT INTO t VALUES (1, 'x')\"]",
        "arm.b.sql=ALTER ROLE a PASSWORD NULL",
        "title=which token is faster?",
    ],
)
def test_what_says_none_is_taken(change: str, study: Path) -> None:
    read_study(str(study), [change])


def test_a_wrong_value_at_the_name_of_a_secret_is_not_quoted(study: Path) -> None:
    with pytest.raises(StudyError) as refused:
        read_study(str(study), ["arm.b.settings.my.token=['hunter2']"])
    assert "hunter2" not in str(refused.value)


def test_the_study_of_a_record_of_an_earlier_version_is_still_read(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY + OF_A_RECORD)
    assert read_recorded_study(file).arms[0].settings == {"my.api_token": "x"}
    with pytest.raises(StudyError, match="api_token"):
        read_study(str(file))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:x@h/d",
        "postgresql://u:x/y@h/d",
        "mysql://u:x?y@h/d",
        "host=h sslpassword=x",
        "host=h oauth_client_secret=x",
        "host=h scram_client_key = x",
        "postgres://h/d?pass%77ord=x",
        "postgres://h/d?options=-c%20my.token%3Dx",
        "host=h options='-c my.token=x'",
    ],
)
def test_an_address_says_a_secret_by_any_word_that_carries_one(address: str) -> None:
    assert holds_password(address)


def test_the_key_of_the_only_arm_is_the_one_that_is_typed() -> None:
    with pytest.raises(StudyError, match=r'"arm\.settings\.archive_command" may say'):
        read_study("settings", ["arm.settings.archive_command=cp %p /a"])
