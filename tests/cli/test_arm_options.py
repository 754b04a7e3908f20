"""A whole postgresql.conf is an arm: its settings, without what belongs to its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.cli.options.arm_options import arm_changes, with_known_settings
from steelyard.model.errors import EngineError, UsageError
from steelyard.study.read import read_study, write_study

TEXT = """
listen_addresses = '*'
shared_buffers = 512MB
pg_stat_statements.track = all    # an extension's
search_path = '"$user", public'
archive_command = 'cp %p /backup'
work_mem = '16MB'
"""


def test_a_file_is_an_arm_and_what_belongs_to_its_place_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "prod.conf").write_text(TEXT)
    changes = arm_changes("settings", None, f"conf={tmp_path / 'prod.conf'}", None)
    study = read_study("settings", changes)
    [arm] = study.arms
    assert arm.settings == {
        "shared_buffers": "512MB",
        "pg_stat_statements.track": "all",
        "search_path": '"$user", public',
        "work_mem": "16MB",
    }
    said = capsys.readouterr().err
    assert "left out of prod.conf: listen_addresses (the place is its slot's)" in said
    assert "archive_command (nothing is archived from it)" in said
    assert "/backup" not in said


def test_two_files_are_weighed_against_each_other(tmp_path: Path) -> None:
    (tmp_path / "old.conf").write_text("work_mem = 4MB\n")
    (tmp_path / "new.conf").write_text("work_mem = 8MB\njit = off\n")
    old, new = (f"conf={tmp_path / name}" for name in ("old.conf", "new.conf"))
    study = read_study("settings", arm_changes("settings", old, new, None))
    assert study.control.settings == {"work_mem": "4MB"}
    assert study.arms[0].settings == {"work_mem": "8MB", "jit": "off"}


def test_a_file_that_cannot_be_read_and_a_build_for_another_study_are_refused(
    tmp_path: Path,
) -> None:
    with pytest.raises(EngineError, match="could not read configuration"):
        arm_changes("settings", None, f"conf={tmp_path / 'missing'}", None)
    (tmp_path / "wrong.conf").write_text("= 3\n")
    with pytest.raises(EngineError, match="line 1 is no setting"):
        arm_changes("settings", None, f"conf={tmp_path / 'wrong.conf'}", None)
    with pytest.raises(UsageError, match="belong to study builds"):
        arm_changes("settings", None, str(tmp_path), None)
    assert arm_changes("settings", None, None, None) == []


@pytest.mark.postgres
def test_what_the_build_of_an_arm_refuses_of_its_file_is_left_out_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "vend.conf"
    file.write_text(
        "shared_preload_libraries = 'timescaledb'\nwork_mem = 8MB\ncheckpoint_segments = 32\n"
        "lc_time = 'de_XX.UTF-8'\n"
    )
    given = f"conf={file}"
    study = read_study("settings", arm_changes("settings", None, given, None))
    known = with_known_settings(study, None, given, None)
    assert known.arms[0].settings == {"work_mem": "8MB"}
    assert known.control == study.control
    said = capsys.readouterr().err
    for name in ("timescaledb in shared_preload_libraries", "checkpoint_segments", "lc_time"):
        assert f"left out of vend.conf: {name} (this build" in said
    assert with_known_settings(study, None, None, None) is study
    changes = [*arm_changes("settings", None, given, None), "arm.settings.Randm_Page_Cost=2"]
    typed = with_known_settings(read_study("settings", changes), None, given, None, changes)
    assert typed.arms[0].settings == {"work_mem": "8MB", "randm_page_cost": "2"}  # refused by name
    assert "randm_page_cost" not in capsys.readouterr().err


def test_a_value_of_any_letters_comes_back_from_the_study_and_one_of_no_utf_8_is_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / "odd.conf").write_text("my.x = 'a\\nb\\r\\033\"\\\\''c'\n")
    study = read_study(
        "settings", arm_changes("settings", None, f"conf={tmp_path / 'odd.conf'}", None)
    )
    assert study.arms[0].settings == {"my.x": "a\nb\r\x1b\"\\'c"}
    (tmp_path / "again.toml").write_text(write_study(study))
    assert read_study(str(tmp_path / "again.toml")) == study
    (tmp_path / "latin.conf").write_bytes(b"my.x = 'gr\xfc\xdfe'\n")
    with pytest.raises(UsageError, match=r'"my\.x" is no UTF-8'):
        arm_changes("settings", None, f"conf={tmp_path / 'latin.conf'}", None)
