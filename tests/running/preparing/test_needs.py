"""An arm that needs what its build or the kernel has not is named, with what to type."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from steelyard.cli.options import study_resolution
from steelyard.engines.differences import SettingRules
from steelyard.engines.engine import MissingFeature
from steelyard.engines.mysql.settings import SETTING_RULES
from steelyard.engines.postgres.settings import SETTING_RULES as OF_POSTGRES
from steelyard.model.errors import EngineError, StudyError, UsageError
from steelyard.running.preparing.needs import (
    arms_left_out,
    require_abilities,
    require_effects,
    settings_of_unloaded,
)
from steelyard.running.preparing.standbys_and_poolers import require_connections
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.telemetry.doctor import kernel
from steelyard.workloads.reading.scripts import Script
from story.noop.engine import NoopEngine


@dataclass
class Built(NoopEngine):
    """A build that lacks what it is said to lack."""

    lacks: tuple[str, ...] = ()

    def missing(self, need: str) -> MissingFeature | None:
        return (
            MissingFeature(f"made without {need}", f"bring {need}") if need in self.lacks else None
        )


def engines(study: Study, *lacks: str) -> dict[str, Built]:
    return {arm.name: Built(lacks=lacks) for arm in study.every_arm}


def test_arms_are_left_out_by_what_their_build_lacks() -> None:
    study = read_study("wal-compression")
    assert [arm.name for arm in study.arms] == ["pglz", "lz4", "zstd"]
    left_out = arms_left_out(study, engines(study, "zstd"), {})
    assert left_out == {"zstd": MissingFeature("made without zstd", "bring zstd")}
    assert arms_left_out(study, engines(study), {}) == {}


def test_what_the_kernel_refuses_counts_where_the_build_has_it() -> None:
    study, refusal = read_study("io-method"), {"io_uring": ("forbidden", "sysctl")}
    assert arms_left_out(study, engines(study), refusal) == {
        "io_uring": MissingFeature("forbidden", "sysctl")
    }
    lacking = arms_left_out(study, engines(study, "io_uring"), refusal)
    assert lacking["io_uring"].why == "made without io_uring"


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        (["arm.settings.jit=off"], True),
        (["control.settings.jit=on", "arm.settings.jit=off"], True),
        (["settings.work_mem=8MB", "arm.settings.jit_above_cost=1"], True),
        (["arm.settings.JIT=off"], True),
        (["arm.settings.jit=off", "arm.settings.work_mem=8MB"], False),
        (["arm.settings.jit_provider=mine"], False),
        (["arm.settings.jitter=1"], False),
        (["settings.jit=off", "arm.settings.work_mem=8MB"], False),
        (["arm.weight.double_work=3%"], False),
    ],
)
def test_arms_that_differ_in_jit_alone_need_builds_with_it(
    changes: list[str], refused: bool
) -> None:
    study = read_study("settings", changes)
    require_abilities(study, engines(study))
    if not refused:
        require_abilities(study, engines(study, "jit"))
        return
    with pytest.raises(EngineError, match="needs jit, and made without jit") as refusal:
        require_abilities(study, engines(study, "jit"))
    assert refusal.value.hint == "bring jit"


@pytest.mark.postgres
def test_the_bundle_is_weighed_by_what_it_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernel, "io_uring_refusal", lambda: ("forbidden", "sysctl"))
    whole = read_study("io-method")
    study = study_resolution.resolve_arms(whole, None)
    assert [arm.name for arm in study.arms] == ["sync", "worker-8", "worker-16", "worker-32"]
    assert 'arm "io_uring" is left out: ' in capsys.readouterr().err
    alone = whole.model_copy(update={"arms": whole.arms[-1:]})
    with pytest.raises(UsageError, match="no arm of study io-method is left") as refused:
        study_resolution.resolve_arms(alone, None)
    assert refused.value.hint


def test_an_override_that_names_no_arm_is_about_the_certain_one() -> None:
    study = read_study("wal-compression", ["arm.settings.wal_compression=lz4"])
    assert [arm.name for arm in study.arms] == ["wal_compression=lz4"]
    named = read_study("wal-compression", ["arm.zstd.settings.wal_level=logical"])
    assert len(named.arms) == 3


@pytest.mark.parametrize("key", ["version", "directory", "wal_directory"])
def test_an_override_of_what_all_arms_have_is_of_all(key: str) -> None:
    value = "19" if key == "version" else "/mnt/slow"
    for name in ("io-method", "checksums"):
        study = read_study(name, [f"{key}={value}"])
        assert {getattr(arm, key) for arm in study.every_arm} == {value}


READS = Script("reads", "SELECT v FROM created_at WHERE id = :a;", 1, None, writes=False)


def differing(*changes: str) -> Study:
    return read_study("settings", ["engine=mysql", "workload.name=tpcb-like", *changes])


def ruled(study: Study, rules: SettingRules = SETTING_RULES) -> dict[str, Built]:
    """Engines that have these rules about settings."""
    every = engines(study)
    for engine in every.values():
        engine.setting_rules = rules
    return every


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (["arm.settings.sql_mode=ANSI"], "sessions of a load set their own"),
        (["control.settings.SQL-Mode=ANSI", "arm.settings.sql_mode=TRADITIONAL"], "set their own"),
        (["arm.settings.init_connect=SET autocommit=0"], "not execute it for the superuser"),
        (["arm.settings.sql_mode=ANSI", "arm.settings.innodb_io_capacity=400"], "set their own"),
        (["arm.settings.innodb_file_per_table=OFF"], "it acts where a table is made"),
        (["arm.settings.loose_default_storage_engine=MyISAM"], "it acts where a table is made"),
        (["arm.settings.Collation-Server=utf8mb4_unicode_ci"], "it acts where a table is made"),
        (["arm.settings.innodb_fill_factor=80"], "it acts where a table is made"),
        (  # an arm's sql is executed by a server that is not set yet
            ["arm.settings.innodb_file_per_table=OFF", "arm.sql=ALTER TABLE t ENGINE=InnoDB"],
            "it acts where a table is made",
        ),
    ],
)
def test_arms_do_not_differ_in_what_changes_nothing_for_them(changes: list[str], why: str) -> None:
    """Their servers report the difference: equal arms would be weighed as if they were not."""
    study = differing(*changes)
    with pytest.raises(StudyError, match="arms cannot differ in") as refused:
        require_effects(study, ruled(study), [READS])
    assert why in refused.value.primary
    assert refused.value.hint is not None


@pytest.mark.parametrize(
    "changes",
    [
        ["arm.settings.innodb_io_capacity=400"],
        ["settings.sql_mode=ANSI", "arm.settings.innodb_io_capacity=400"],
    ],
)
def test_what_all_arms_have_alike_is_left(changes: list[str]) -> None:
    study = differing(*changes)
    require_effects(study, ruled(study), [READS])
    other = differing("arm.settings.sql_mode=ANSI")
    require_effects(other, ruled(other, SettingRules()), [READS])


@pytest.mark.parametrize("text", ["CREATE TABLE t (n INT);", "begin;\nTruncate t;"])
def test_scripts_that_make_tables_make_them_as_their_arm_says(text: str) -> None:
    study = differing("arm.settings.innodb_file_per_table=OFF")
    require_effects(study, ruled(study), [READS, Script("makes", text, 1, None, writes=True)])


WRITES = Script("writes", "UPDATE t SET v = 1;", 1, None, writes=True)


@pytest.mark.parametrize(
    ("study", "changes", "why", "how"),
    [
        (
            "queries",
            ["arm.settings.default_statistics_target=1000"],
            "it acts where ANALYZE gathers statistics",
            """--set 'arm.sql=["SET default_statistics_target = 1000", "ANALYZE"]'""",
        ),
        (  # also beside what acts
            "settings",
            ["control.settings.Default_Statistics_Target=10", "arm.settings.work_mem=8MB"],
            "it acts where ANALYZE gathers statistics",
            """--set 'control.sql=["SET default_statistics_target = 10", "ANALYZE"]'""",
        ),
        (  # of the two that data was not gathered by
            "queries",
            [
                "control.settings.default_statistics_target=100",
                "arm.settings.default_statistics_target=500",
            ],
            "it acts where ANALYZE gathers statistics",
            """gathered so: --set 'arm.sql=["SET default_statistics_target = 500", "ANALYZE"]'""",
        ),
        (  # an arm's sql is executed by a server that is not set yet
            "queries",
            ["arm.settings.default_statistics_target=1000", "arm.sql=ANALYZE"],
            "it acts where ANALYZE gathers statistics",
            """arm.sql=["SET default_statistics_target = 1000", "ANALYZE"]""",
        ),
        (
            "settings",
            ["arm.settings.default_toast_compression=lz4"],
            "it acts where a value is stored, and the work only reads",
            "or drive work that writes",
        ),
        (
            "settings",
            ["arm.settings.default_table_access_method=columnar"],
            "it acts where a table is made",
            'arm.sql="ALTER TABLE ..."',
        ),
        (
            "settings",
            ["arm.settings.ssl=on"],
            "clients of the socket are never encrypted",
            "the arms would be equal",
        ),
        (
            "settings",
            ["control.settings.SSL=off", "arm.settings.password_encryption=md5"],
            "no password is asked for at the socket",
            "the arms would be equal",
        ),
        (
            "sessions",
            ["address=host=db", "arm.settings.default_statistics_target=1000"],
            "it acts where ANALYZE gathers statistics",
            "a server that is not ours",
        ),
    ],
)
def test_arms_do_not_differ_in_what_no_work_of_theirs_would_show(
    study: str, changes: list[str], why: str, how: str
) -> None:
    """The data of all arms were loaded and analysed alike, before any arm was set, and their
    clients come by the socket."""
    arms = read_study(study, changes)
    with pytest.raises(StudyError, match="arms cannot differ in") as refused:
        require_effects(arms, ruled(arms, OF_POSTGRES), [READS])
    assert why in refused.value.primary
    assert how in str(refused.value.hint)


@pytest.mark.parametrize(
    ("changes", "scripts"),
    [
        (["arm.settings.default_statistics_target=1000"], [READS, WRITES]),
        (["arm.settings.default_toast_compression=lz4"], [READS, WRITES]),
        (  # as pgtune writes it down: what data was gathered by
            ["arm.settings.default_statistics_target=100", "arm.settings.work_mem=8MB"],
            [READS],
        ),
        (["arm.settings.ssl=on", "arm.connect=tls", "control.connect=tcp"], [READS]),
        (["arm.settings.ssl=on", "arm.settings.work_mem=8MB"], [READS]),
        (  # as a profile has it, among others
            ["arm.settings.default_toast_compression=lz4", "arm.settings.work_mem=8MB"],
            [READS],
        ),
        (
            [
                "arm.settings.default_statistics_target=1000",
                'arm.sql=["SET default_statistics_target = 1000", "ANALYZE"]',
            ],
            [READS],
        ),
        (
            ["settings.default_statistics_target=1000", "arm.settings.work_mem=8MB"],
            [READS],
        ),
        (
            ["arm.settings.default_toast_compression=lz4", "arm.sql=ALTER TABLE t ALTER v TYPE x"],
            [READS],
        ),
    ],
)
def test_what_acts_on_the_data_of_an_arm_may_differ(
    changes: list[str], scripts: list[Script]
) -> None:
    study = read_study("settings", changes)
    require_effects(study, ruled(study, OF_POSTGRES), scripts)


LOADED = {
    "shared_preload_libraries": "pg_stat_statements, $libdir/auto_explain",
    "auto_explain.log_analyze": "off",
    "auto_explain.log_timing": "on",
}


@pytest.mark.parametrize(
    ("changes", "control", "arm", "unloaded"),
    [
        (["arm.settings.auto_explain.log_analyze=on"], {}, {}, {"auto_explain.log_analyze"}),
        (["settings.Auto_Explain.log_analyze=on"], {}, {}, {"auto_explain.log_analyze"}),
        (["arm.settings.cron.timezone=UTC"], {}, {}, {"cron.timezone"}),
        (  # as a configuration file has it whose module no build here has
            ["arm.settings.pg_stat_statements.max=100", "arm.settings.work_mem=8MB"],
            {}, {}, {"pg_stat_statements.max"},
        ),
        (["arm.settings.auto_explain.log_analyze=on"], {}, LOADED, set()),
        (["settings.auto_explain.log_analyze=on"], {}, LOADED, set()),
        (["settings.auto_explain.log_analyze=on", "arm.sql=LOAD 'auto_explain'"], {}, {}, set()),
        (["arm.settings.my.tenant=7", "arm.settings.hnsw.ef_search=100"], {}, {}, set()),
        (["arm.settings.plpgsql.variable_conflict=error"], {}, {}, set()),
    ],
)  # fmt: skip
def test_a_setting_of_a_module_that_is_not_loaded_has_no_effect(
    changes: list[str], control: dict[str, str], arm: dict[str, str], unloaded: set[str]
) -> None:
    """A server takes it, and says nothing."""
    study = read_study("settings", changes)
    reported = {study.control.name: control, study.arms[0].name: arm}
    assert {*settings_of_unloaded(study, reported, OF_POSTGRES, [READS])} == unloaded
    assert settings_of_unloaded(study, reported, SETTING_RULES, [READS]) == {}
    loading = Script("loads", "LOAD 'auto_explain';", 1, None, writes=True)
    others = {name for name in unloaded if not name.startswith("auto_explain")}
    assert {*settings_of_unloaded(study, reported, OF_POSTGRES, [loading])} == others


def test_a_setting_that_a_loaded_module_has_not_is_refused_with_the_near_one() -> None:
    study = read_study("settings", ["arm.settings.auto_explain.log_anlyze=on"])
    reported = {study.control.name: {}, study.arms[0].name: LOADED}
    with pytest.raises(UsageError, match="unrecognized setting") as refused:
        settings_of_unloaded(study, reported, OF_POSTGRES, [READS])
    assert refused.value.hint == 'Perhaps you meant "auto_explain.log_analyze".'
    assert "There are auto_explain.log_analyze, auto_explain.log_timing." in str(refused.value)


@pytest.mark.parametrize(
    ("rules", "clients", "changes", "allowed"),
    [
        (OF_POSTGRES, 91, [], 100),
        (OF_POSTGRES, 90, [], None),
        (SETTING_RULES, 90, [], None),
        (SETTING_RULES, 141, [], None),
        (SETTING_RULES, 142, [], 151),
        (SETTING_RULES, 100, ["arm.settings.max-connections=60"], 60),
        (SETTING_RULES, 100, ["settings.Max-Connections=60"], 60),
        (SETTING_RULES, 100, ["arm.settings.loose_max_connections=60"], 60),
        (SETTING_RULES, 300, ["settings.max-connections=310"], None),
    ],
)
def test_clients_fit_into_what_a_server_takes_by_its_settings_or_usually(
    rules: SettingRules, clients: int, changes: list[str], allowed: int | None
) -> None:
    """MySQL's options may be written with dashes, and its servers take 151 connections unasked."""
    study = read_study("settings", ["arm.settings.a=1", f"workload.clients={clients}", *changes])
    bare = {name: v for name, v in study.settings.items() if name != "max_connections"}
    if not any("onnections" in change for change in changes):
        study = study.model_copy(update={"settings": bare})
    if allowed is None:
        require_connections(study, ruled(study, rules))
        return
    with pytest.raises(StudyError, match=f"max_connections is {allowed}") as refused:
        require_connections(study, ruled(study, rules))
    typed = (refused.value.hint or "").removeprefix("--set ")
    assert typed.endswith(f"={clients + 10}")
    changes = ["arm.settings.a=1", f"workload.clients={clients}", *changes, typed]
    again = read_study("settings", changes)
    require_connections(again, ruled(again, rules))
