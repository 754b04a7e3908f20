"""A change holds its value, and its text reads back as the same."""

from __future__ import annotations

import copy
import re
import tomllib
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.errors import StudyError
from steelyard.study.change import Change, general_first, key_of, says_key, toml_text
from steelyard.study.read import builtin_studies, read_study, write_study
from steelyard.study.study import Source, WorkloadChoice
from steelyard.study.sweep import read_sweep

SCALARS = st.text() | st.booleans() | st.integers(-(2**62), 2**62)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@given(VALUES)
def test_the_text_is_toml_of_the_value(value: Any) -> None:
    assert tomllib.loads(f"value = {toml_text(value)}") == {"value": value}


@pytest.mark.parametrize(
    "value", ["plain", "1.10", "0x10", "true", "off", 'a "b" \\ c', "/data/\U0001f600", "del\x7f"]
)
def test_a_setting_is_the_same_by_its_value_and_by_its_text(value: str) -> None:
    change = Change("arm.settings.my.x", value)
    for given_as in (change, str.__str__(change)):
        [arm] = read_study("settings", [given_as]).arms
        assert arm.settings == {"my.x": value}


def test_a_value_is_not_read_again() -> None:
    study = read_study("settings", [Change("workload.scripts", {"a b.sql": 3})])
    assert study.workload.scripts == {"a b.sql": 3}
    assert key_of(Change("workload.clients", 4)) == "workload.clients"
    assert Change("workload.clients", 4) == "workload.clients=4"


def test_a_copy_is_the_same_change() -> None:
    change = Change("workload.scripts", {"a.sql": 3})
    copied = copy.deepcopy(change)
    assert (copied, copied.key, copied.value) == (change, change.key, change.value)


def test_another_workload_is_named_by_its_text_too() -> None:
    change = Change("workload", "tproc-c")
    for given_as in (change, str.__str__(change), "workload=tproc-c"):
        assert read_study("checksums-rw", [given_as]).workload.name == "tproc-c"


def test_a_script_that_is_named_twice_is_refused() -> None:
    from steelyard.cli.options.weigh_options import changes_of
    from steelyard.model.errors import UsageError

    with pytest.raises(UsageError, match=r'"a\.sql" is named twice'):
        changes_of(None, None, None, ["a.sql", "a.sql@2"])


STUDY = 'title = "t"\nquestion = "q"\n'
ARMS = '[control]\nname = "c"\n[[arm]]\nname = "17.0"\n[[arm]]\nname = "17.0.1"\n'


def written(tmp_path: Path, text: str) -> str:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ('control = 5\narm = {name = "x"}', ["version=17"]),
        ('control = {name = "c"}\narm = "x"', ["arm.version=17"]),
        ('control = {name = "c"}\narm = ["x"]', ["version=17"]),
        ('control = {name = "c"}\narm = ["x"]', ["arm.x.version=17"]),
        ('control = {name = "c"}\narm = ["x"]', []),
        ('control = {name = "c"}\narm = 5', []),
        ('settings = 5\ncontrol = {name = "c"}\narm = {name = "x"}', ["settings.jit=off"]),
        ('disk = 5\ncontrol = {name = "c"}\narm = {name = "x"}', ["disk.read_iops=5"]),
        ('disk = 5\ncontrol = {name = "c"}\narm = {name = "x"}', []),
    ],
)
def test_what_should_be_a_table_and_is_none_is_refused(
    tmp_path: Path, text: str, changes: list[str]
) -> None:
    with pytest.raises(StudyError, match=r'"(control|arm|settings|disk)"'):
        read_study(written(tmp_path, STUDY + text), changes)


@pytest.mark.parametrize("changes", [["arm.17.0.1.version=16", "arm.17.0.version=15"]])
def test_an_arm_whose_name_has_dots_is_reached(tmp_path: Path, changes: list[str]) -> None:
    for order in (changes, changes[::-1]):
        arms = read_study(written(tmp_path, STUDY + ARMS), order).arms
        assert [arm.version for arm in arms] == ["15", "16"]


BARE = "[control]\n[[arm]]\nsettings = { jit = 1 }\n[[arm]]\nsettings = { jit = 0 }\n"


def test_arms_that_no_one_named_are_reached_by_their_roles(tmp_path: Path) -> None:
    """As refusals and hints call them: not by jit=0, which no key can hold."""
    file = written(tmp_path, STUDY + BARE)
    assert [arm.name for arm in read_study(file).arms] == ["jit=1", "jit=0"]
    changed = read_study(file, ["arm.arm2.version=16", "arm.arm.settings.work_mem=1MB"])
    assert [arm.version for arm in changed.arms] == ["18", "16"]
    assert changed.arms[0].settings == {"jit": "1", "work_mem": "1MB"}
    with pytest.raises(StudyError, match="does not say which arm") as refused:
        read_study(file, ["arm.version=16"])
    assert "the arms are arm, arm2." in str(refused.value.hint)
    control = "control.settings.jit=on"
    with pytest.raises(StudyError, match="has no effect") as idle:
        read_study(file, ["settings.jit=off", control])
    typed = re.findall(r"--set (\S+?)\.?(?= --set|$)", str(idle.value.hint))
    assert len(typed) == 3
    again = read_study(file, [control, *(change.replace("VALUE", "off") for change in typed)])
    assert {arm.settings["jit"] for arm in again.every_arm} == {"off"}


@pytest.mark.parametrize(
    ("text", "change", "value"),
    [
        ('workload = "tproc-c"\n', "workload.clients=3", ("workload", "clients", 3)),
        ('source = "/data"\n', "source.database=2024", ("source", "database", "2024")),
    ],
)
def test_a_table_of_which_one_key_is_given_takes_more(
    tmp_path: Path, text: str, change: str, value: tuple[str, str, object]
) -> None:
    table, key, expected = value
    study = read_study(written(tmp_path, STUDY + text + ARMS), [change])
    assert getattr(getattr(study, table), key) == expected


@pytest.mark.parametrize("config", [None, "/etc/theirs.conf"])
@pytest.mark.parametrize("reported", [False, True])
@pytest.mark.parametrize("as_text", [False, True])
def test_other_data_have_nothing_of_what_was_found_of_the_former(
    tmp_path: Path, config: str | None, reported: bool, as_text: bool
) -> None:
    """By the digest of Monday's copy the weighing of Tuesday's data would take Monday's."""
    former = Source(
        place="/monday/main",
        database="shop",
        config=config,
        kind="base backup",
        digest="d",
        reported=reported,
        partial="no rights",
        backup="its token",
        settings_digest="s",
    )
    study = read_study("checksums").model_copy(update={"source": former})
    change: str = Change("source.place", "/tuesday/main")
    found = read_study(
        written(tmp_path, write_study(study)), [str.__str__(change) if as_text else change]
    )
    theirs = None if reported else config
    assert found.source == Source(place="/tuesday/main", database="shop", config=theirs)


def test_what_is_said_of_other_data_after_their_place_counts(tmp_path: Path) -> None:
    changes = [Change("source.place", "/b"), Change("source.digest", "new"), "source.config=/c"]
    found = read_study(written(tmp_path, f'{STUDY}source = "/a"\n{ARMS}'), changes).source
    assert found == Source(place="/b", digest="new", config="/c")


def test_the_ready_pooler_takes_the_keys_that_are_documented() -> None:
    changes = ["arm.pooler.connections=20", "control.pooler=pgbouncer", "arm.connect=tls"]
    study = read_study("pooler", changes)
    assert [arm.pooler and arm.pooler.connections for arm in study.every_arm] == [16, 20]


@pytest.mark.parametrize("spelt", ["Shared_Buffers", "SHARED_BUFFERS", "shared_buffers"])
def test_a_setting_is_one_however_it_is_spelt(spelt: str) -> None:
    study = read_study("checksums", [f"settings.{spelt}=1GB", f"arm.settings.{spelt}=2GB"])
    assert study.settings["shared_buffers"] == "1GB"
    assert {key.lower() for key in study.settings} == {*study.settings}
    assert study.arms[0].settings == {"shared_buffers": "2GB"}


def test_a_setting_that_stands_twice_in_a_file_is_refused(tmp_path: Path) -> None:
    settings = 'settings = { jit = "on", JIT = "off" }\n'
    with pytest.raises(StudyError, match='setting "jit" stands there twice'):
        read_study(written(tmp_path, STUDY + settings + ARMS))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ('search_path = ["app", "public"]', 'setting "search_path" is a list: write one text'),
        ("shared_preload_libraries = []", 'setting "shared_preload_libraries" is a list'),
        ('auto_explain.log_min_duration = "1s"', 'in quotes: "auto_explain.log_min_duration"'),
        ("pg_stat_statements = { max = 100 }", 'in quotes: "pg_stat_statements.max"'),
    ],
)
@pytest.mark.parametrize(
    "study",
    [
        STUDY + ARMS + "[settings]\n{}\n",
        STUDY + 'control = { name = "c" }\n[arm]\nname = "x"\n[arm.settings]\n{}\n',
        STUDY + ARMS + '[source]\nplace = "/data"\n[source.beneath]\n{}\n',
    ],
)
def test_a_setting_that_is_no_single_value_is_refused(
    tmp_path: Path, study: str, setting: str, words: str
) -> None:
    with pytest.raises(StudyError, match=re.escape(words)):
        read_study(written(tmp_path, study.replace("{}", setting)))


def test_the_name_of_a_setting_in_quotes_has_its_dots(tmp_path: Path) -> None:
    settings = '[settings]\n"auto_explain.log_min_duration" = "1s"\nsearch_path = "app, public"\n'
    study = read_study(written(tmp_path, STUDY + ARMS + settings))
    assert study.settings == {"auto_explain.log_min_duration": "1s", "search_path": "app, public"}


@pytest.mark.parametrize(
    "key",
    [
        *("workload.clients", "workload.scale", "workload.threads", "workload.pace"),
        *("budget.epochs", "budget.measuring", "decision.margin", "disk.read_iops", "memory"),
        *("disk.read_rate", "turns.time_scale", "arm.replication.standbys", "arm.weight.stall"),
        *("arm.weight.stall_time", "arm.pooler.connections", "arm.price"),
    ],
)
@pytest.mark.parametrize("switch", ["true", "false"])
def test_a_switch_is_no_number(key: str, switch: str) -> None:
    with pytest.raises(StudyError, match=f'invalid value for "{key}": accepted: '):
        read_study("pooler", [f"{key}={switch}"])


@pytest.mark.parametrize(
    "key",
    [
        *("decision.margin", "workload.pace", "turns.time_scale", "arm.weight.double_work"),
        *("arm.weight.stall_share", "workload.variables.x"),
    ],
)
@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_what_is_no_finite_number_is_refused(key: str, number: str) -> None:
    for given_as in (f"{key}={number}", Change(key, float(number))):
        with pytest.raises(StudyError, match=f'invalid value for "{key}'):
            read_study("pooler", [given_as])


def test_a_stall_has_a_unit() -> None:
    with pytest.raises(StudyError, match="200 has no unit: 200ms"):
        read_study("aa", ["arm.weight.stall=1%", "arm.weight.stall_time=200"])
    [arm] = read_study("aa", ["arm.weight.stall=1%", "arm.weight.stall_time=200ms"]).arms
    assert arm.weight.stall_time == 200_000_000


@pytest.mark.parametrize("switch", ["true", "false"])
def test_a_switch_may_be_one(switch: str) -> None:
    study = read_study("aa", [f"archive={switch}", f"workload.timed={switch}"])
    assert (study.archive, study.workload.timed) == (switch == "true", switch == "true")


@pytest.mark.parametrize(
    ("study", "changes"),
    [
        ("pooler", ["arm.pooler=none"]),
        ("replication", ["arm.on.replication=none"]),
        ("settings", ["disk.read_iops=5", "disk=none"]),
        ("aa", ["directory=/mnt/x", "wal_directory=/mnt/y", "directory=none"]),
        ("aa", ["arm.price=1/h", "arm.price=none"]),
    ],
)
def test_what_a_study_has_is_taken_back_by_none(study: str, changes: list[str]) -> None:
    read = read_study(study, changes)
    assert (read.disk, read.control.directory) == (None, None)
    arms = {arm.name: (arm.pooler, arm.price) for arm in read.arms}
    assert {*arms.values()} == {(None, None)}


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        (["disk=3000"], "disk.read_iops"),
        (["arm.on.replication=2"], "arm.on.replication.standbys"),
    ],
)
def test_a_table_is_refused_a_value_with_the_keys_that_it_has(changes: list[str], key: str) -> None:
    with pytest.raises(StudyError, match="it is a table") as refused:
        read_study("replication", changes)
    assert key in (refused.value.hint or "")


def test_an_arm_is_named_in_a_refusal_as_an_override_names_it() -> None:
    with pytest.raises(StudyError, match=r'"arm\.on\.replication\.standbys"'):
        read_study("replication", ["arm.on.replication.standbys=3"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("version=16", True),
        ("control.version=16", True),
        ("arm.version=debian-18", True),
        ("arm.17.0.1.version=17.0.1", True),
        (" arm . bindir =/opt/pg/bin", True),
        ("factors.build.old.version=16", True),
        ('control={ version = "16" }', True),
        ('arm=[{ name = "a", settings = { jit = "on" } }, { bindir = "/b" }]', True),
        ('factors={ build = { old = { version = "16" }, new = {} } }', True),
        (Change("control", {"name": "a", "version": "16"}), True),
        ("settings.ssl_min_protocol_version=TLSv1.2", False),
        ("control.settings.ssl_max_protocol_version=TLSv1.3", False),
        ("arm.a.settings.my.version=3", False),
        ("arm.settings={ server_version = 3, version = 3 }", False),
        ('control={ settings = { version = "3" } }', False),
        ("workload.variables.version=3", False),
        ("workload.options.version=3", False),
        ("settings.version=3", False),
        ("factors.version={ old = { checksums = false }, new = { checksums = true } }", False),
        ("arm.conversion=1", False),
        ("workload=own", False),
        ("version", True),  # no change, as another reader of it says
    ],
)
def test_a_version_is_named_by_the_keys_that_mean_one(change: str, says: bool) -> None:
    assert says_key(change, "version", "bindir") == says


@given(st.from_regex(r"(?:[a-z]+[._])?version", fullmatch=True), st.text(max_size=5))
def test_no_setting_names_a_version(name: str, value: str) -> None:
    for table in ("settings", "control.settings", "arm.settings", "arm.on.settings"):
        assert not says_key(Change(f"{table}.{name}", value), "version", "bindir")


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("key", ["workload.pace", "workload.variables.x", "arm.weight.stall"])
def test_a_number_that_is_none_or_has_no_end_is_refused(key: str, number: str) -> None:
    with pytest.raises(StudyError, match="invalid value for"):
        read_study("settings", [f"{key}={number}", "decision.metric=latency_mean"])


@pytest.mark.parametrize(
    ("study", "changes"),
    [
        ("checksums", ["workload=tproc-c", "workload.clients=3", "workload.threads=1"]),
        ("pooler", ["arm.pooler=pgbouncer", "arm.pooler.connections=20"]),
        ("versions", ["version=17", "arm.version=16"]),
        ("aa", ["wal_directory=/mnt/x", "arm.wal_directory=/mnt/y", "control.checksums=false"]),
        ("aa", ["price=1/h", "arm.price=2/h"]),
        ("aa", ["settings={jit = 'off'}", "settings.work_mem=1MB", "arm.settings.jit=on"]),
        ("aa", ["arm.settings={work_mem = '1MB'}", "arm.settings.auto_explain.log_timing=off"]),
        ("aa", ["budget={epochs = 20}", "budget.measuring=3m"]),
        ("pooler", ["arm={pooler = 'pgpool'}", "arm.settings={jit = 'off'}", "arm.settings.x=1"]),
        ("settings", ["disk={read_iops = 5}", "disk.write_iops=3", "memory=1GB"]),
    ],
)
def test_no_override_takes_back_a_more_particular_one(study: str, changes: list[str]) -> None:
    written = {write_study(read_study(study, order)) for order in permutations(changes)}
    assert written == {write_study(read_study(study, changes))}


@given(st.permutations(["workload=a", "workload=b", "workload.x=1", "budget.epochs=2", "title=t"]))
def test_overrides_are_applied_in_their_order_but_general_ones_first(given_as: list[str]) -> None:
    ordered = general_first(given_as)
    assert sorted(ordered) == sorted(given_as)
    assert ordered.index("workload.x=1") > ordered.index("workload=a")
    rest = [change for change in given_as if change != "workload.x=1"]
    names = [change for change in rest if key_of(change) == "workload"]
    assert [change for change in ordered if change in names] == names


@pytest.mark.parametrize("study", builtin_studies())
def test_another_workload_is_driven_by_the_clients_of_the_study(study: str) -> None:
    """Its scale, scripts and options were those of the workload that it had."""
    changes = ["workload=select-insert", "workload.threads=1"]
    usual, other = read_study(study).workload, read_study(study, changes).workload
    assert other.clients == usual.clients
    bare = {"name": "select-insert", "clients": usual.clients, "threads": 1}
    assert other == WorkloadChoice.model_validate(bare)


def test_a_sweep_over_workloads_keeps_what_else_is_said_of_the_workload() -> None:
    sweep = read_sweep("workload=pgbench,tproc-c")
    for value in sweep.values:
        study = read_study("checksums", sweep.overrides(["workload.clients=3"], value))
        assert (study.workload.name, study.workload.clients) == (value, 3)
