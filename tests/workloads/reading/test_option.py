"""What can be chosen about a workload is said, and what cannot is refused with what is accepted."""

from __future__ import annotations

import pytest

from steelyard.model.errors import StudyError, UsageError
from steelyard.study.read import read_study, write_study
from steelyard.workloads.reading.command_words import scale_and_options
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.option import Option
from steelyard.workloads.reading.resolved import resolve_workload
from steelyard.workloads.reading.scripts import resolve_scripts


def test_options_have_defaults_and_choose_the_mix() -> None:
    workload = find_workload("tproc-c")
    assert workload.chosen["profile"] == "spec"
    assert workload.mix()["new-order"] == 45
    assert find_workload("tproc-c", {"profile": "hammerdb"}).mix()["hammerdb-new-order"] == 10


def test_a_switch_is_a_number_to_the_scripts() -> None:
    assert find_workload("tproc-c", {"thinking": "on"}).variables(3)["thinking"] == 1
    assert find_workload("tproc-c").variables(3)["all_warehouses"] == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"profil": "spec"}, 'Did you mean "profile"?'),
        ({"profile": "fast"}, "Accepted: spec, hammerdb."),
        ({"partitions": "many"}, "Accepted: 0 to 1000."),
        ({"partitions": 1001}, "Accepted: 0 to 1000."),
        ({"thinking": "maybe"}, "Accepted: true, false."),
    ],
)
def test_an_option_that_is_wrong_is_named(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        find_workload("tproc-c", options)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("workload", "options", "chosen"),
    [
        ("ycsb", {"mix": "A"}, "a"),
        ("sysbench", {"rand": "Uniform"}, "uniform"),
        ("sysbench", {"test": "OLTP_READ_ONLY"}, "oltp_read_only"),
        ("sysbench", {"skip_trx": "yes"}, True),
        ("sysbench", {"skip_trx": "No"}, False),
    ],
)
def test_capital_letters_in_a_word_tell_nothing(
    workload: str, options: dict[str, object], chosen: object
) -> None:
    [name] = options
    assert find_workload(workload, options).chosen[name] == chosen


def test_words_that_capital_letters_alone_tell_apart_are_two() -> None:
    option = Option(title="t", default="a", values=("a", "A", "b"))
    assert [option.read(value) for value in ("a", "A", "B", "c")] == ["a", "A", "b", None]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("oltp_read_only", "--set workload=sysbench --set workload.options.test=oltp_read_only"),
        ("YCSB", 'Did you mean "ycsb"?'),
        ("TPC-C", 'Did you mean "tproc-c"?'),
        ("select-only", 'It is a script of workload "pgbench"'),
    ],
)
def test_what_is_of_another_workload_is_told_with_what_to_type(name: str, words: str) -> None:
    with pytest.raises(UsageError, match="unknown workload") as refused:
        find_workload(name)
    assert words in (refused.value.hint or "")


def test_a_workload_without_options_says_so() -> None:
    with pytest.raises(UsageError, match='workload "pgbench" has no option "profile"') as refused:
        find_workload("pgbench", {"profile": "spec"})
    assert "It has none." in str(refused.value)


def test_whoever_takes_the_scale_for_an_option_is_told_its_names() -> None:
    with pytest.raises(UsageError, match="Its scale is no option: scale or thousands"):
        find_workload("reserva", {"accounts": 2000})


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "", "²", "many", "9" * 5000])
@pytest.mark.parametrize("key", ["scale", "thousands", "workload.scale"])
def test_what_is_no_scale_is_refused(key: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"invalid {key}"):
        scale_and_options("ycsb", [f"{key}={text}"])
    assert scale_and_options("ycsb", [f"{key}=12", "mix=b"]) == (12, {"mix": "b"})


def test_only_options_that_decide_the_rows_decide_the_digest() -> None:
    plain = find_workload("tproc-c").digest()
    assert find_workload("tproc-c", {"thinking": True}).digest() == plain
    assert find_workload("tproc-c", {"profile": "hammerdb"}).digest() != plain


def test_a_workload_that_loads_as_another_shares_its_load() -> None:
    own, other = find_workload("tproc-c-client"), find_workload("tproc-c")
    assert own.digest() == other.digest()
    assert own.loaded_name == "tproc-c"
    assert own.statements("checks.sql", 1) == other.statements("checks.sql", 1)
    assert "hammerdb-payment" not in own.scripts


def test_a_profile_that_a_workload_has_no_scripts_for_is_refused() -> None:
    with pytest.raises(UsageError, match='value for option "profile" of workload') as refused:
        find_workload("tproc-c-client", {"profile": "hammerdb"})
    assert "Accepted: spec." in str(refused.value)


def test_a_study_names_a_workload_and_gets_its_scale_and_mix() -> None:
    study = resolve_workload(read_study("settings", ["workload=tproc-c"]))
    assert study.workload.scale == 10
    assert study.workload.scripts["payment"] == 43
    assert study.workload.options["profile"] == "spec"


def test_what_a_study_says_of_its_workload_holds_and_is_kept() -> None:
    changes = ["workload=tproc-c", "workload.scale=2", "workload.options.profile=hammerdb"]
    study = resolve_workload(read_study("settings", changes))
    assert study.workload.scale == 2
    assert study.workload.scripts["hammerdb-delivery"] == 1
    assert 'profile = "hammerdb"' in write_study(study)


def test_a_wrong_option_of_a_study_is_a_usage_error() -> None:
    with pytest.raises((UsageError, StudyError), match='no option "profiel"'):
        resolve_workload(
            read_study("settings", ["workload=tproc-c", "workload.options.profiel=spec"])
        )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("tproc-c", {"thinking": True, "all_warehouses": True}),
        ("tproc-c-client", {"thinking": True, "all_warehouses": True}),
        ("insert-read", {"window": 3}),
        ("reserva", {"deletes": 100}),
        ("tproc-h", {"schema": "hammerdb"}),
    ],
)
def test_every_branch_of_every_script_has_a_result(name: str, options: dict[str, object]) -> None:
    workload = find_workload(name, options)
    for scale in (1, 7):
        resolve_scripts(workload, dict.fromkeys(workload.scripts, 1), scale)


def test_an_option_of_words_is_a_number_for_each_word_to_sql() -> None:
    variables = find_workload("tproc-h", {"schema": "hammerdb"}).variables(1)
    assert (variables["schema_hammerdb"], variables["schema_native"]) == (1, 0)
