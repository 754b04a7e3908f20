"""Settings of MySQL and MariaDB: names, values that mean the same, options."""

from __future__ import annotations

import pytest

from steelyard.engines.mysql.settings import (
    SETTING_RULES,
    as_options,
    normal,
    refuse_slot_settings,
    same_value,
)
from steelyard.model.errors import EngineError


def test_names_are_those_that_the_server_reports() -> None:
    assert normal({"Innodb-Buffer-Pool-Size": "64M"}) == {"innodb_buffer_pool_size": "64M"}


def test_options_are_written_with_dashes() -> None:
    assert as_options({"innodb_doublewrite": "0"}) == ["--innodb-doublewrite=0"]


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


def test_what_the_server_works_out_follows_from_what_was_set() -> None:
    instances = ("innodb_buffer_pool_instances", "1", "8")
    assert SETTING_RULES.follows(instances, ["innodb_buffer_pool_size"])
    assert not SETTING_RULES.follows(instances, ["innodb_doublewrite"])
