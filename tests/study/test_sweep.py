"""A sweep is read from its words, its values in the order in which people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.errors import UsageError
from steelyard.study.change import toml_text
from steelyard.study.read import read_study
from steelyard.study.sweep import read_sweep, values_of


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("workload.clients=256,8,32", ("8", "32", "256")),
        ("settings.shared_buffers=1GB,128MB", ("128MB", "1GB")),
        ("budget.slice=1s,50ms", ("50ms", "1s")),
        ("budget.slice=1m,900us,2s,40µs", ("40µs", "900us", "2s", "1m")),
        ("memory=2G,512M,64k", ("64k", "512M", "2G")),
        ("memory=2GiB,512MiB,16g", ("512MiB", "2GiB", "16g")),
        ("arm.settings.seq_page_cost=2e6,.5,1e7,1e-3", ("1e-3", ".5", "2e6", "1e7")),
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
    ("listed", "values"),
    [
        ("8, 32 ,256", ("8", "32", "256")),
        ('[["a"]],[["b", "c"]]', ('[["a"]]', '[["b", "c"]]')),
        ("{a = {b = 1}, c = 2},{d = 1}", ("{a = {b = 1}, c = 2}", "{d = 1}")),
        ("\"x,y\",'a,]b',z", ('"x,y"', "'a,]b'", "z")),
        ('"a\\",b",c', ('"a\\",b"', "c")),
        ('{ "a]}," = 1 },2', ('{ "a]}," = 1 }', "2")),
        ("it's,b's", ("it's", "b's")),
        ("/mnt/a,/mnt/b", ("/mnt/a", "/mnt/b")),
        ("x]y,z", ("x]y", "z")),
        ("", ()),
    ],
)
def test_commas_within_a_value_are_no_borders(listed: str, values: tuple[str, ...]) -> None:
    assert values_of(listed) == values


VALUES = st.recursive(
    st.text(min_size=1) | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@given(st.lists(VALUES, min_size=1, max_size=5))
def test_values_written_as_toml_are_cut_where_they_end(values: list[object]) -> None:
    texts = tuple(map(toml_text, values))
    assert values_of(",".join(texts)) == texts


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("workload.clients", "invalid sweep"), ("=8,32", "invalid sweep"),
        ("workload.clients=8", "2 to 32"), ("workload.clients=8,8", "twice"),
        ("decision.judged=jointly,separately", "cannot sweep"),
        ("decision.margin=1%,2%", "cannot sweep decision.margin"),
        ("arm.settings.x=,a", "no value before"), ("arm.settings.x=,a,b", "no value before"),
        ("workload.clients=8,,32", "no value before"), ("workload.clients=8, ,2", "before a comma"),
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


def test_an_empty_text_is_a_value_in_quotes_and_a_comma_may_end_the_list() -> None:
    sweep = read_sweep("arm.settings.shared_preload_libraries='',auto_explain,")
    assert {*sweep.values} == {"''", "auto_explain"}
    libraries = [read_study("settings", sweep.overrides([], v)).arms[0] for v in sweep.values]
    assert {arm.settings["shared_preload_libraries"] for arm in libraries} == {"", "auto_explain"}
