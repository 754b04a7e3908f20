"""A sweep is read from its words, its values in the order in which people read them."""

from __future__ import annotations

import pytest

from steelyard.model.errors import UsageError
from steelyard.study.sweep import read_sweep


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("workload.clients=256,8,32", ("8", "32", "256")),
        ("settings.shared_buffers=1GB,128MB", ("128MB", "1GB")),
        ("budget.slice=1s,50ms", ("50ms", "1s")),
        ("arm.settings.wal_compression=pglz,lz4", ("lz4", "pglz")),
        ("workload.scripts={a = 1, b = 2},{a = 1}", ("{a = 1, b = 2}", "{a = 1}")),
    ],
)
def test_values_are_cut_and_sorted(text: str, values: tuple[str, ...]) -> None:
    sweep = read_sweep(text)
    assert sweep.key == text.partition("=")[0]
    assert set(sweep.values) == set(values)
    if "{" not in text:
        assert sweep.values == values


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("workload.clients", "invalid sweep"), ("=8,32", "invalid sweep"),
        ("workload.clients=8", "2 to 32"), ("workload.clients=8,8", "twice"),
        ("decision.judged=jointly,separately", "cannot sweep"),
    ],
)  # fmt: skip
def test_what_is_no_sweep_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_sweep(text)


def test_a_point_changes_the_key_last_and_is_judged_once() -> None:
    sweep = read_sweep("workload.clients=8,32")
    assert sweep.name == "clients"
    assert sweep.overrides(["workload.scale=1"], "32") == [
        "workload.scale=1", "workload.clients=32", "decision.judged=separately",
    ]  # fmt: skip
