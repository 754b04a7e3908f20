"""A whole postgresql.conf is an arm: its settings, without what belongs to its place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from steelyard.cli.options.arm_options import arm_changes, require_unlike, with_known_settings
from steelyard.cli.weighing import sweep as module
from steelyard.engines import adapters
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.intake import Neutralised, ServerSettings
from steelyard.model.errors import EngineError, UsageError
from steelyard.record.sweep import SweepPlan
from steelyard.study.read import read_study, write_study
from steelyard.study.sweep import read_sweep

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
    for study in ("settings", "builds"):
        with pytest.raises(UsageError, match="is a change of the study") as refused:
            arm_changes(study, None, "jit=off", None)
        assert refused.value.hint == "Write it as --set arm.settings.jit=off"
    assert arm_changes("settings", None, None, None) == []


@pytest.mark.parametrize("study", ["settings", "builds"])
@pytest.mark.parametrize("option", ["control", "arm"])
def test_a_file_without_conf_is_refused_with_it(tmp_path: Path, study: str, option: str) -> None:
    file = tmp_path / "prod new.conf"
    file.write_text("work_mem = 4MB\n")
    options = {"control": None, "arm": None, option: str(file)}
    with pytest.raises(UsageError, match="is a file") as refused:
        arm_changes(study, options["control"], options["arm"], None)
    assert str(refused.value.hint).endswith(f"--{option} 'conf={file}'")


THEIRS = "work_mem = 64MB\nrandom_page_cost = 1.1\nenable_nestloop = off\nport = 5433\n"


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("file", "changes", "names"),
    [
        ("work_mem = 32MB\n", [], "random_page_cost, enable_nestloop"),
        ("work_mem = 32MB\n", ["arm.settings.enable_nestloop=on"], "random_page_cost"),
        ("work_mem = 32MB\n", ["settings.enable_nestloop=on"], "random_page_cost"),
        ("work_mem = 32MB\nrandom_page_cost = 4\nenable_nestloop = on\n", [], ""),
    ],
)
def test_what_a_file_does_not_mention_of_the_datas_server_is_said(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    file: str,
    changes: list[str],
    names: str,
) -> None:
    """A line that is deleted has its default on a server, and the data's value in an arm."""
    (tmp_path / "theirs.conf").write_text(THEIRS)
    (tmp_path / "new.conf").write_text(file)
    option = f"conf={tmp_path / 'new.conf'}"
    of_data = [
        f"source.place={tmp_path}", "source.kind=dump", f"source.config={tmp_path / 'theirs.conf'}",
    ]  # fmt: skip
    changes = [*arm_changes("settings", None, option, None), *changes]
    with_known_settings(read_study("settings", changes), None, option, None, changes)
    assert "does not mention" not in capsys.readouterr().err
    changes = [*changes, *of_data]
    with_known_settings(read_study("settings", changes), None, option, None, changes)
    text = " ".join(capsys.readouterr().err.split())
    assert ("new.conf does not mention what the data's server has" in text) == bool(names)
    assert f"has it from there: {names}. For" in text or not names
    assert not names or "--set arm.settings." in text


@pytest.mark.parametrize("option", ["control", "arm"])
@pytest.mark.parametrize("debian", [False, True], ids=["beside it", "in its data directory"])
def test_a_file_above_which_alter_system_set_others_is_refused_with_what_to_type(
    tmp_path: Path, debian: bool, option: str
) -> None:
    data = tmp_path / "main"
    data.mkdir()
    file = (tmp_path if debian else data) / "postgresql.conf"
    text = f"jit = off\ndata_directory = '{data}'\n" if debian else "jit = off\n"
    file.write_text(text)
    automatic = data / "postgresql.auto.conf"

    def settings(file: Path) -> dict[str, str]:
        options = {"control": None, "arm": None, option: f"conf={file}"}
        changes = arm_changes("settings", options["control"], options["arm"], None)
        study = read_study("settings", changes)
        return study.control.settings if option == "control" else study.arms[0].settings

    automatic.write_text("# Do not edit this file manually!\nport = '1'\njit = 'off'\n")
    assert settings(file) == {"jit": "off"}
    automatic.write_text("jit = 'on'\nwork_mem = '64MB'\n")
    with pytest.raises(UsageError, match="ALTER SYSTEM set others") as refused:
        settings(file)
    assert str(refused.value.detail).endswith(f'"{automatic}": jit, work_mem.')
    typed = str(refused.value.hint).partition("the line ")[2].partition(", with")[0]
    both, alone = tmp_path / "both.conf", tmp_path / "alone.conf"
    both.write_text(f"{text}{typed}\n")
    assert settings(both) == {"jit": "on", "work_mem": "64MB"}
    alone.write_text("jit = off\n")
    assert settings(alone) == {"jit": "off"}


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


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("old/postgresql.conf", "new/postgresql.conf", "old/postgresql.conf new/postgresql.conf"),
        ("16/main/pg.conf", "18/main/pg.conf", "16/pg.conf 18/pg.conf"),
        ("pg 1/p.conf", "pg 2/p.conf", "pg_1/p.conf pg_2/p.conf"),
        ("a.conf", "b.conf", "a.conf b.conf"),
        ("x/a.conf", "b.conf", "a.conf b.conf"),
    ],
)  # fmt: skip
def test_files_of_one_name_are_named_with_their_folders(
    tmp_path: Path, old: str, new: str, names: str
) -> None:
    """Everywhere a server's file is called postgresql.conf."""
    for file, size in ((old, "4MB"), (new, "8MB")):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(f"work_mem = {size}\n")
    options = [f"conf={tmp_path / file}" for file in (old, new)]
    study = read_study("settings", arm_changes("settings", *options, None))
    assert " ".join(arm.name for arm in study.every_arm) == names
    assert [arm.settings["work_mem"] for arm in study.every_arm] == ["4MB", "8MB"]
    require_unlike(study, *options)


@pytest.mark.parametrize(
    ("control", "arm"),
    [
        (None, "listen_addresses = '*'\n"),
        ("work_mem = 4MB\n", "work_mem = '4MB'\n"),
        (None, "shared_buffers = 128MB\n"),  # as all arms of the study have it
        ("work_mem = 4MB\n", None),  # the same file
    ],
)
def test_a_file_that_makes_no_difference_is_refused(
    tmp_path: Path, control: str | None, arm: str | None
) -> None:
    (tmp_path / "a.conf").write_text(control or "")
    (tmp_path / "b.conf").write_text(arm or "")
    options = (
        None if control is None else f"conf={tmp_path / 'a.conf'}",
        f"conf={tmp_path / ('a.conf' if arm is None else 'b.conf')}",
    )
    study = read_study("settings", arm_changes("settings", *options, None))
    with pytest.raises(UsageError, match="arm and control are equal"):
        require_unlike(study, *options)


KNOWN_BY = {"16": {"work_mem"}, "17": {"work_mem", "of_17"}, "18": {"work_mem", "of_17", "of_18"}}


class KnowingEngine:
    """An engine of a version that knows some settings and no others."""

    def __init__(self, version: str) -> None:
        self.version = version

    def known(self, offered: ServerSettings) -> ServerSettings:
        known = KNOWN_BY[self.version]
        gone = [Neutralised(name, "no") for name in offered.settings if name not in known]
        settings = {name: value for name, value in offered.settings.items() if name in known}
        return ServerSettings(settings, tuple(gone))

    def accepted(self, offered: ServerSettings, slot: object, report: object) -> ServerSettings:
        raise NotImplementedError


@pytest.fixture
def knowing(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_arms(
        requests: Sequence[BuildRequest], account: str | None, *, contrib: bool
    ) -> list[KnowingEngine]:
        if any(request.version not in KNOWN_BY for request in requests):
            raise EngineError("no such build")
        return [KnowingEngine(request.version) for request in requests]

    monkeypatch.setattr(adapters, "adapter", lambda _: SimpleNamespace(find_arms=find_arms))


CONF = "work_mem = 8MB\nof_17 = 1\nof_18 = 1\nnever = 1\n"


@pytest.mark.parametrize(
    ("swept", "typed", "settings", "left_out"),
    [
        ("workload.clients=2,4", [], {"work_mem", "of_17", "of_18"}, {"never"}),
        ("version=17,18", [], {"work_mem", "of_17"}, {"of_18", "never"}),
        ("version=16,17,18,99", [], {"work_mem"}, {"of_17", "of_18", "never"}),
        ("arm.version=17,18", ["arm.settings.never=2"], {"work_mem", "of_17", "never"}, {"of_18"}),
        ("arm.settings.of_19=1,2", [], {"work_mem", "of_17", "of_18", "of_19"}, {"never"}),
    ],
)
def test_of_a_file_every_point_of_a_sweep_has_what_the_builds_of_all_points_take(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    knowing: None,
    swept: str,
    typed: list[str],
    settings: set[str],
    left_out: set[str],
) -> None:
    """Each point refused what a plain weighing leaves out. What is typed or swept is no file's."""
    (tmp_path / "prod.conf").write_text(CONF)
    option = f"conf={tmp_path / 'prod.conf'}"
    plans: list[SweepPlan] = []
    monkeypatch.setattr(module, "_go_on", lambda plan, *_, **__: plans.append(plan))
    changes = [*arm_changes("settings", None, option, None), *typed]
    module.begin_sweep(
        module.SweepRequest(
            "settings", swept, changes, False, 7, tmp_path / "sweep", None, ("steelyard",), False,
            arms=(None, option),
        )
    )  # fmt: skip
    [plan] = plans
    again = SweepPlan.of_json(plan.to_json(), "as it is resumed")
    for value in again.values:
        point = read_study("settings", read_sweep(swept).overrides(again.changes, value))
        assert {*point.arms[0].settings} == settings
        assert point.arms[0].settings["work_mem"] == "8MB"
    said = [line for line in capsys.readouterr().err.splitlines() if "left out of" in line]
    assert {line.split(": ")[-1].split()[0] for line in said} == left_out
    assert len(said) == len(left_out), "each once"


def test_a_sweep_with_a_file_of_which_nothing_is_left_is_refused(
    tmp_path: Path, knowing: None
) -> None:
    (tmp_path / "prod.conf").write_text("never = 1\n")
    option = f"conf={tmp_path / 'prod.conf'}"
    request = module.SweepRequest(
        "settings", "workload.clients=2,4", arm_changes("settings", None, option, None), False, 7,
        tmp_path / "sweep", None, ("steelyard",), False, arms=(None, option),
    )  # fmt: skip
    with pytest.raises(UsageError, match="arm and control are equal"):
        module.begin_sweep(request)
    with pytest.raises(UsageError, match="arm and control are equal"):
        with_known_settings(read_study("settings", request.changes), None, option, None)


def test_at_an_address_no_build_of_this_machine_leaves_out_of_a_file(
    tmp_path: Path, knowing: None
) -> None:
    (tmp_path / "prod.conf").write_text(CONF)
    option = f"conf={tmp_path / 'prod.conf'}"
    changes = ["address=host=db1 dbname=shop", *arm_changes("sessions", None, option, None)]
    study = read_study("sessions", changes)
    assert with_known_settings(study, None, option, None, changes) is study
