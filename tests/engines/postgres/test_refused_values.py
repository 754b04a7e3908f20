"""What a build refuses of a typed setting is said with what to type in its place."""

from __future__ import annotations

import pytest

from steelyard.engines.postgres.selection import find_postgres
from steelyard.model.errors import SteelyardError

UNITS = 'Valid units for this parameter are "B", "kB", "MB", "GB", and "TB".'


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("work_mem", "1GiB", "Perhaps you meant work_mem = 1GB."),
        ("work_mem", "64mb", "Perhaps you meant work_mem = 64MB."),
        ("checkpoint_timeout", "5 minutes", "Perhaps you meant checkpoint_timeout = 5min."),
        ("jit", "enabled", "Perhaps you meant jit = on."),
        ("synchronous_commit", "loca", "Perhaps you meant synchronous_commit = local."),
        ("work_mem", "5min", UNITS),  # of another kind: nothing is near
        ("synchronous_commit", "sync",
         "Available values: local, remote_write, remote_apply, on, off."),
        ("checkpoint_timeout", "10", None),  # its words say the range
        ("data_checksums", "off", "Checksums are a key of an arm: --set arm.checksums=off"),
        ("server_version", "17", "A version is a key of an arm: --set arm.version=17"),
        ("wal_segment_size", "64MB", "initdb decides it: weigh two clusters of yours as they "
         "stand, steelyard weigh addresses"),
        ("block_size", "16384", "It was decided when the server was compiled: steelyard weigh "
         "builds --control DIR --arm DIR"),
        ("in_hot_standby", "on", "No server lets one set it: leave it out."),
        ("data_directory", "/x",
         "Where its data are is a key of an arm: --set arm.directory=/mnt/fast"),
        ("port", "1",
         "Everything but the treatment belongs to the slot and is redrawn every epoch."),
    ],
)  # fmt: skip
def test_a_refused_value_is_said_with_what_to_type(name: str, value: str, hint: str | None) -> None:
    with pytest.raises(SteelyardError) as refused:
        find_postgres("18").validate({name: value})
    assert refused.value.hint == hint


def test_what_may_be_a_password_is_not_repeated_as_advice() -> None:
    with pytest.raises(SteelyardError) as refused:
        find_postgres("18").validate({"work_mem": "s3same"})
    assert "s3same" not in (refused.value.hint or "")


@pytest.mark.parametrize("value", ["64MB", "1 GB", "65536"])
def test_what_the_build_takes_is_taken(value: str) -> None:
    find_postgres("18").validate({"work_mem": value, "jit": "no"})
