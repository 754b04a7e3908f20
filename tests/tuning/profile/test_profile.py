"""A profile fits its memory and its build, follows its basis, and says why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.errors import UsageError
from steelyard.model.profiles import WorkKind
from steelyard.tuning.profile.advice import GROUPS, LeftAlone
from steelyard.tuning.profile.basis import Storage
from steelyard.tuning.profile.profile import make_profile
from steelyard.tuning.profile.published import MEMORY_BYTES, PROCESSORS, as_printed, scaled
from steelyard.tuning.profile.rules import work_processes
from tuning.profile.accepting import ALLOWED, GB, PROBED, basis

KINDS: tuple[WorkKind, ...] = ("oltp", "olap", "mixed")


@given(
    st.integers(256 << 20, 4 << 40),
    st.integers(1, 2000),
    st.sampled_from(KINDS),
    st.integers(1, 512),
)
def test_a_profile_never_takes_more_memory_than_there_is(
    memory: int, clients: int, kind: WorkKind, processors: int
) -> None:
    given_ = basis(memory, clients, kind, processors)
    if clients * (10 << 20) > memory / 8:
        return  # there may be none
    made = make_profile("ours", given_, ALLOWED)
    settings = made.settings
    assert made.need.total_bytes <= memory
    for name, value in settings.items():
        known = ALLOWED[name]
        if known.values:
            assert value in known.values
    assert all(one.reason and one.source and one.group in GROUPS for one in made.advice)


def test_memory_is_shared_out_by_its_amount_and_the_kind_of_work() -> None:
    oltp = make_profile("ours", basis(16 * GB, 16), ALLOWED).settings
    olap = make_profile("ours", basis(16 * GB, 16, "olap"), ALLOWED).settings
    assert oltp["shared_buffers"] == olap["shared_buffers"] == "4GB"
    assert oltp["effective_cache_size"] == "12GB"
    assert oltp["work_mem"] == "64MB"  # (0.20 × 16384 − 16 × 10) ÷ (16 × 3)
    # 16 clients and 16 parallel workers: (0.40 × 16384 − 16 × 10) ÷ (32 × 3)
    assert olap["work_mem"] == "66MB"
    assert oltp["jit"] == "off"
    assert "jit" not in olap


def test_parallel_workers_of_long_queries_take_work_mem_too() -> None:
    small = make_profile("ours", basis(640 << 20, 1, "olap", 2), ALLOWED)
    assert small.settings["work_mem"] == "27MB"  # (0.40 × 640 − 10) ÷ ((1 + 2) × 3)
    assert small.need.sessions_bytes <= 0.4 * (640 << 20)
    [work] = [one for one in small.advice if one.name == "work_mem"]
    assert "as have 2 parallel workers" in work.reason
    streams = basis(640 << 20, 8, "olap", 2)
    assert work_processes(streams, {}) == 16  # max_parallel_workers are shared
    assert work_processes(streams, {"max_parallel_workers_per_gather": "0"}) == 8
    assert work_processes(basis(640 << 20, 8), {}) == 8


def test_what_storage_decides_is_measured_or_left_alone() -> None:
    probed = make_profile("ours", basis(), ALLOWED)
    assert probed.settings["random_page_cost"] == "1.9"  # 1 + (10 − 1) × 0.1
    assert probed.settings["effective_io_concurrency"] == "71"
    large = make_profile("ours", basis(data_bytes=120 * GB), ALLOWED)
    assert large.settings["random_page_cost"] == "9.1"  # nine tenths are not cached
    small = make_profile("ours", basis(data_bytes=1 * GB), ALLOWED)
    assert small.settings["random_page_cost"] == "1.1"
    blind = make_profile("ours", basis(storage=None), ALLOWED)
    assert not {"random_page_cost", "effective_io_concurrency"} & set(blind.settings)
    assert any("no probe" in one.why for one in blind.left_alone)
    cached = Storage("vda", PROBED.taken, None, None, why_not="it was memory")
    unmeasured = make_profile("ours", basis(storage=cached), ALLOWED)
    assert not {"random_page_cost", "effective_io_concurrency"} & set(unmeasured.settings)
    assert (
        LeftAlone("random_page_cost, effective_io_concurrency", "it was memory")
        in unmeasured.left_alone
    )
    by_processors = replace(PROBED, most_by_processors=True)
    [depth] = [
        one
        for one in make_profile("ours", basis(storage=by_processors), ALLOWED).advice
        if one.name == "effective_io_concurrency"
    ]
    assert depth.reason.endswith("processors could ask for; the device may have more")
    slow = make_profile("ours", basis(storage=replace(PROBED, useful_depth=3.0)), ALLOWED)
    assert "effective_io_concurrency" not in slow.settings, "never below the default"


def test_the_log_takes_a_tenth_of_the_free_disk_at_most() -> None:
    assert make_profile("ours", basis(), ALLOWED).settings["max_wal_size"] == "8GB"
    tight = make_profile("ours", basis(free_disk_bytes=30 * GB), ALLOWED).settings
    assert tight["max_wal_size"] == "3GB"
    full = make_profile("ours", basis(free_disk_bytes=GB), ALLOWED)
    assert "max_wal_size" not in full.settings, "1 GB is the default"


def test_durability_is_never_traded() -> None:
    for kind in KINDS:
        made = make_profile("ours", basis(kind=kind), ALLOWED)
        assert not {"fsync", "full_page_writes", "synchronous_commit"} & set(made.settings)


def test_what_the_build_does_not_have_or_assumes_anyway_is_left_alone() -> None:
    without = {name: known for name, known in ALLOWED.items() if name != "jit"}
    made = make_profile("ours", basis(), without)
    assert "jit" not in made.settings
    assert ("jit", "this version has no such setting") in {
        (one.name, one.why) for one in made.left_alone
    }
    theirs = make_profile("theirs", basis(), ALLOWED)
    assert "huge_pages" not in theirs.settings
    lz4 = {**ALLOWED, "wal_compression": replace(ALLOWED["wal_compression"], values=("lz4", "off"))}
    assert make_profile("ours", basis(), lz4).settings["wal_compression"] == "lz4"
    assert "wal_compression" not in make_profile("ours", basis(), ALLOWED).settings


def test_a_value_outside_the_builds_bounds_is_brought_inside() -> None:
    narrow = {**ALLOWED, "maintenance_work_mem": replace(ALLOWED["work_mem"], high=1024)}
    made = make_profile("ours", basis(), narrow)
    [one] = [one for one in made.advice if one.name == "maintenance_work_mem"]
    assert one.value == "1024"
    assert "outside what this build accepts" in one.reason


def test_the_published_table_scaled_to_its_own_machine_is_the_table_as_printed() -> None:
    there = basis(MEMORY_BYTES, 96, processors=PROCESSORS)
    assert {one.name: one.value for one in scaled(there)} == {
        one.name: one.value for one in as_printed()
    }


def test_the_published_table_is_refused_where_its_memory_is_not() -> None:
    with pytest.raises(UsageError, match="theirs-literal"):
        make_profile("theirs-literal", basis(16 * GB), ALLOWED)
    there = basis(MEMORY_BYTES, 96, processors=PROCESSORS)
    assert make_profile("theirs-literal", there, ALLOWED).settings["shared_buffers"] == "94GB"


def test_a_group_can_be_left_at_the_defaults() -> None:
    made = make_profile("ours", basis(), ALLOWED)
    left = made.without("log")
    assert set(made.settings) - set(left) == {
        "max_wal_size",
        "min_wal_size",
        "checkpoint_timeout",
    }
