"""Settings of MySQL and MariaDB: names, values that mean the same, options."""

from __future__ import annotations

import pytest

from steelyard.engines.differences import compare
from steelyard.engines.mysql.settings import (
    SETTING_RULES,
    as_options,
    by_one_name,
    normal,
    passed_over,
    refuse_slot_settings,
    same_value,
)
from steelyard.model.errors import EngineError


def test_names_are_those_that_the_server_reports() -> None:
    assert normal({"Innodb-Buffer-Pool-Size": "64M"}) == {"innodb_buffer_pool_size": "64M"}


def test_options_are_written_with_dashes() -> None:
    assert as_options({"innodb_doublewrite": "0"}) == ["--innodb-doublewrite=0"]


@pytest.mark.parametrize(
    ("name", "value", "option"),
    [
        ("log_bin", "OFF", "--skip-log-bin"),  # else a binary log whose name is OFF
        ("Log-Bin", "off", "--skip-log-bin"),
        ("loose_log_bin", "0", "--skip-log-bin"),
        ("log_bin", "false", "--skip-log-bin"),
        ("log_bin", "ON", "--log-bin=ON"),
        ("log_bin", "binlog", "--log-bin=binlog"),
        ("skip_log_bin", "1", "--skip-log-bin=1"),
        ("skip_log_bin", "on", "--skip-log-bin=1"),
        ("skip_log_bin", "0", "--skip-log-bin=0"),
        ("loose_log_bin", "binlog", "--loose-log-bin=binlog"),
        ("skip_log_bin", "off", "--skip-log-bin=0"),  # else it is skipped
        ("disable_log_bin", "FALSE", "--disable-log-bin=0"),
        ("loose_enable_log_bin", "no", "--loose-enable-log-bin=0"),
        ("skip_name_resolve", "OFF", "--skip-name-resolve=0"),
        ("general_log", "OFF", "--general-log=OFF"),
        ("innodb_flush_method", "O_DIRECT", "--innodb-flush-method=O_DIRECT"),
    ],
)
def test_a_word_of_no_means_no(name: str, value: str, option: str) -> None:
    assert as_options({name: value}) == [option]


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("skip-innodb-doublewrite", "innodb_doublewrite"),
        ("loose_skip_loose_innodb_doublewrite", "innodb_doublewrite"),
        ("Skip-Name-Resolve", "skip_name_resolve"),
        ("loose-skip-name-resolve", "skip_name_resolve"),
        ("skip_external_locking", "skip_external_locking"),
        ("disabled_storage_engines", "disabled_storage_engines"),
        ("loose-log-slow-query", "slow_query_log"),
        ("innodb_buffer_pool_size", "innodb_buffer_pool_size"),
    ],
)
def test_an_option_is_reported_without_what_may_stand_before_it(name: str, reported: str) -> None:
    assert SETTING_RULES.name_of(name) == reported


@pytest.mark.parametrize(
    ("names", "declared", "name"),
    [
        (("tx_isolation",), "transaction-isolation", "transaction_isolation"),  # MariaDB 10.11
        (("tx_isolation", "transaction_isolation"), "transaction_isolation", None),  # MySQL 5.7
        (("slow_query_log", "log_slow_query"), "slow_query_log", None),  # MariaDB from 10.11 on
        (("slow_query_log", "log_slow_query"), "log_slow_query", "slow_query_log"),
        (("long_query_time", "log_slow_query_time"), "long-query-time", "long_query_time"),
        (("tmp_table_size", "tmp_memory_table_size"), "tmp_table_size", None),  # MariaDB
    ],
)
def test_a_setting_that_a_server_reports_by_two_names_is_one_difference(
    names: tuple[str, ...], declared: str, name: str | None
) -> None:
    ours, theirs = (by_one_name(dict.fromkeys(names, value)) for value in "12")
    differences = compare(ours, theirs, {declared}, SETTING_RULES)
    assert differences.declared == [(name or declared, "1", "2")]
    assert not differences.undeclared
    assert passed_over({"loose_log_slow_query": "1"}, ["slow_query_log"])  # by one name known


@pytest.mark.parametrize("name", ["log_bin", "skip_log_bin", "disable-log-bin"])
def test_arms_may_differ_in_the_binary_log_by_each_of_its_names(name: str) -> None:
    ours, theirs = {"log_bin": "ON"}, {"log_bin": "OFF"}
    both = ({**ours, "log_replica_updates": "ON"}, {**theirs, "log_replica_updates": "OFF"})
    differences = compare(*both, {name}, SETTING_RULES)
    assert differences.declared == [("log_bin", "ON", "OFF")]
    assert differences.derived == [("log_replica_updates", "ON", "OFF")]


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("64M", "67108864"),
        ("1.5g", str(3 << 29)),
        ("OFF", "FALSE"),
        ("1", "TRUE"),
        ("crc32", "CRC32"),
        ("75", "75.000000"),
        ("1", "MINIMAL"),  # an enumeration by its number
        ("STRICT_ALL_TABLES,NO_ZERO_DATE", "NO_ZERO_DATE,STRICT_ALL_TABLES"),
    ],
)
def test_a_value_that_was_taken_as_it_was_meant(given: str, taken: str) -> None:
    assert same_value(given, taken)


@pytest.mark.parametrize(
    ("given", "taken"),
    [("1", "5242880"), ("7", "2"), ("maybe", "TRUE"), ("foo", "crc32"), ("64M", "64"), ("1", "0")],
)
def test_a_value_that_was_taken_as_another(given: str, taken: str) -> None:
    assert not same_value(given, taken)


@pytest.mark.parametrize("name", ["defaults_file", "Defaults-Extra-File", "loose_defaults_file"])
def test_an_option_file_is_no_setting(name: str) -> None:
    with pytest.raises(EngineError, match="servers here read no option files") as refusal:
        refuse_slot_settings({name: "/etc/my.cnf"})
    assert "--set arm.settings.NAME=VALUE" in (refusal.value.hint or "")


@pytest.mark.parametrize(
    "name",
    [
        *(
            "datadir",
            "socket",
            "SKIP-NETWORKING",
            "pid_file",
            "port",
            "loose_port",
            "Loose-DataDir",
        ),
        *("loose-skip-networking", "disable_skip_networking", "maximum-port", "loose_loose_socket"),
    ],
)
def test_what_belongs_to_the_slot_is_refused(name: str) -> None:
    with pytest.raises(EngineError, match="it belongs to the slot"):
        refuse_slot_settings({name: "1"})


@pytest.mark.parametrize("name", ["loose_innodb_doublewrite", "skip_name_resolve", "report_port"])
def test_what_may_stand_before_a_name_is_no_part_of_a_slot(name: str) -> None:
    refuse_slot_settings({name: "1"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("innodb_log_group_home_dir", "/mnt/fast/redo"),
        ("innodb-log-group-home-dir", "../redo"),
        ("innodb_undo_directory", "./a/../../undo"),
        ("innodb_data_home_dir", "~/data"),
        ("innodb_data_file_path", "ibdata1:12M;/mnt/more/ibdata2:12M:autoextend"),
        ("innodb_data_file_path", "../ibdata1:12M:autoextend"),
        ("innodb_doublewrite_dir", "'/mnt/fast'"),
        ("loose_innodb_temp_tablespaces_dir", "/tmp/t"),
        ("aria_log_dir_path", "/var/lib/aria"),
        ("log_bin", "/var/log/mysql/mysql-bin.log"),
    ],
)
def test_files_of_the_data_are_not_kept_outside_their_directory(name: str, value: str) -> None:
    """They would be neither copied with it nor restored: a redo log newer than its pages."""
    with pytest.raises(EngineError, match="leads out of the data directory") as refusal:
        refuse_slot_settings({name: value})
    assert refusal.value.hint is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("innodb_log_group_home_dir", "./"),
        ("innodb_undo_directory", "undo"),
        ("innodb_data_file_path", "ibdata1:12M;ibdata2:12M:autoextend"),
        ("innodb_data_home_dir", ""),
        ("log_bin", "ON"),
        ("log-bin", "mysql-bin..x"),
        ("skip_log_bin", "1"),
        ("slow_query_log_file", "/dev/null"),
        ("init_connect", "SET @a = '/..'"),
    ],
)
def test_a_path_below_the_data_directory_is_an_arms_own(name: str, value: str) -> None:
    refuse_slot_settings({name: value})


@pytest.mark.parametrize(
    "name",
    ["innodb_io_capacity", "Innodb-IO-Capacity", "loose_innodb_io_capacity",
     "loose-innodb-io-capacity"],
)  # fmt: skip
def test_a_difference_is_declared_however_option_files_spell_it(name: str) -> None:
    ours, theirs = {"innodb_io_capacity": "200"}, {"innodb_io_capacity": "400"}
    differences = compare(ours, theirs, {name}, SETTING_RULES)
    assert differences.declared == [("innodb_io_capacity", "200", "400")]
    assert not differences.undeclared
    assert compare(ours, theirs, {"innodb_io"}, SETTING_RULES).undeclared


def test_what_follows_from_a_setting_follows_however_that_is_spelt() -> None:
    ours = {"innodb_buffer_pool_size": "1", "innodb_buffer_pool_instances": "1"}
    theirs = {"innodb_buffer_pool_size": "2", "innodb_buffer_pool_instances": "8"}
    differences = compare(ours, theirs, {"innodb-buffer-pool-size"}, SETTING_RULES)
    assert differences.derived == [("innodb_buffer_pool_instances", "1", "8")]
    assert not differences.undeclared


@pytest.mark.parametrize(
    ("declared", "name", "ours", "theirs"),
    [
        ("log_bin", "version", "5.7.29", "5.7.29-log"),
        ("slow-query-log", "version", "10.11.19-MariaDB", "10.11.19-MariaDB-log"),
        ("performance_schema", "performance_schema_max_table_handles", "-1", "0"),
        ("performance_schema", "performance_schema_events_waits_history_size", "-1", "10"),
        ("query_cache_size", "query_cache_type", "OFF", "ON"),
        ("table_open_cache", "table_open_cache_instances", "4", "8"),
        ("expire_logs_days", "binlog_expire_logs_seconds", "0", "259200"),
    ],
)
def test_what_servers_were_seen_to_change_with_a_setting_follows_from_it(
    declared: str, name: str, ours: str, theirs: str
) -> None:
    differences = compare({name: ours}, {name: theirs}, {declared}, SETTING_RULES)
    assert differences.derived == [(name, ours, theirs)]
    assert compare({name: ours}, {name: theirs}, {"innodb_doublewrite"}, SETTING_RULES).undeclared


def test_what_the_server_works_out_follows_from_what_was_set() -> None:
    instances = ("innodb_buffer_pool_instances", "1", "8")
    assert SETTING_RULES.follows(instances, ["innodb_buffer_pool_size"])
    assert not SETTING_RULES.follows(instances, ["innodb_doublewrite"])


@pytest.mark.parametrize(
    ("name", "does_nothing"),
    [
        ("loose_innodb_doublewrite", False),
        ("Loose-Innodb-Doublewrite", False),
        ("loose_skip_log_bin", False),
        ("loose_loose_log_bin", False),
        ("loose_skip_name_resolve", False),
        ("loose_maximum_max_connections", False),
        ("loose_innodb_double", False),  # cut short, and known by it
        ("loose_innodb_chnage_buffering", True),
        ("Loose-Innodb-Nothing", True),
        ("loose_enable_nothing", True),
        ("innodb_nothing", False),  # refused: it must be known
        ("max_connections", False),
    ],
)
def test_what_may_do_nothing_does_nothing_where_no_option_is_called_so(
    name: str, *, does_nothing: bool
) -> None:
    known = ("innodb_doublewrite", "log_bin", "skip_name_resolve", "max_connections")
    assert passed_over({name: "1"}, known) == (frozenset({name}) if does_nothing else frozenset())
