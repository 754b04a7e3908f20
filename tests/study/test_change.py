"""A change holds its value, and its text reads back as the same."""

from __future__ import annotations

import copy
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.study.change import Change, key_of, toml_text
from steelyard.study.read import read_study

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
