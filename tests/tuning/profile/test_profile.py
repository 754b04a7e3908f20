"""A profile fits its memory and its build, follows its basis, and says why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.errors import UsageError
from steelyard.model.readings import ProfileName, WorkKind
from steelyard.model.setting_value import Allowed, number_in, size_bytes
from steelyard.tuning.profile import profile
from steelyard.tuning.profile.advice import (
    GROUPS,
    Advice,
    LeftAlone,
    TuningProfile,
    as_arm,
    as_configuration,
)
from steelyard.tuning.profile.basis import Basis, Storage
from steelyard.tuning.profile.profile import make_profile, most_clients
from steelyard.tuning.profile.shares import (
    MEMORY_BYTES,
    PROCESSORS,
    as_printed,
    scaled,
    work_processes,
)
from tuning.profile.accepting import ALLOWED, GB, PROBED, basis

KINDS: tuple[WorkKind, ...] = ("oltp", "olap", "mixed")


MEMORY, CLIENTS = st.integers(64 << 20, 4 << 40), st.integers(1, 5000)
PLACES = st.one_of(st.none(), st.integers(0, 1 << 44))
PROBES = st.one_of(
    st.none(),
    st.builds(
        lambda cost, depth: replace(PROBED, random_page_cost=cost, useful_depth=depth),
        st.one_of(st.none(), st.floats(0.5, 500)),
        st.one_of(st.none(), st.floats(0.5, 5000)),
    ),
)
NAMES: tuple[ProfileName, ...] = ("ours", "theirs", "theirs-literal")
BASES = st.builds(
    basis,
    memory_bytes=MEMORY,
    clients=CLIENTS,
    kind=st.sampled_from(KINDS),
    processors=st.integers(1, 512),
    storage=PROBES,
    data_bytes=st.one_of(st.none(), st.integers(0, 1 << 45)),
    free_disk_bytes=PLACES,
)


@given(BASES, st.sampled_from(NAMES))
def test_a_profile_takes_no_more_memory_than_there_is_or_is_refused(
    given_: Basis, name: ProfileName
) -> None:
    try:
        made = make_profile(name, given_, ALLOWED)
    except UsageError:
        assert name != "ours" or most_clients(given_, ALLOWED) < given_.clients
        return
    assert made.need.total_bytes <= given_.memory_bytes
    for setting, value in made.settings.items():
        known = ALLOWED[setting]
        if known.values:
            assert value in known.values
    assert all(one.reason and one.source and one.group in GROUPS for one in made.advice)


@given(BASES, st.sampled_from(NAMES))
def test_nothing_is_proposed_below_the_default_without_a_reason_and_its_source(
    given_: Basis, name: ProfileName
) -> None:
    try:
        made = make_profile(name, given_, ALLOWED)
    except UsageError:
        return
    for one in made.advice:
        known = ALLOWED[one.name]
        value, default = (
            number_in(one.value, known.unit),
            number_in(known.default or "", known.unit),
        )
        if value is None or default is None or value >= default:
            continue
        assert one.name in ("random_page_cost", "effective_cache_size"), one
        assert one.default_why, one
        assert one.source, one
        assert one.default_why in one.reason, one
    # -1 stands for maintenance_work_mem.
    own = made.settings.get("autovacuum_work_mem", "64MB")
    assert (size_bytes(own, "kB") or 0) >= 64 << 20


def test_a_value_below_the_default_that_nothing_measured_is_left_at_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    low = Advice("memory", "work_mem", "64kB", "a formula", "a source")
    monkeypatch.setattr(profile, "advised", lambda *_: [low])
    made = make_profile("ours", basis(), ALLOWED)
    assert "work_mem" not in made.settings
    [left] = [one for one in made.left_alone if one.name == "work_mem"]
    assert "64kB would be less than the default" in left.why
    monkeypatch.setattr(profile, "advised", lambda *_: [replace(low, default_why="measured")])
    [one] = make_profile("ours", basis(), ALLOWED).advice
    assert one.reason == "a formula; less than the default: measured"


@pytest.mark.parametrize(
    ("memory_mb", "clients", "processors"),
    [
        (mb, clients, 2)
        for mb, clients in (
            *((2048, 50), (2048, 100), (1024, 50), (3072, 100), (6144, 200), (512, 20)),
            *((3072, 50), (6144, 100), (8192, 100), (4096, 100), (256, 1), (1024, 23)),
        )
    ],
)
def test_many_clients_keep_the_default_work_mem_or_are_refused_with_how_many_fit(
    memory_mb: int, clients: int, processors: int
) -> None:
    asked = basis(memory_mb << 20, clients, processors=processors)
    most = most_clients(asked, ALLOWED)
    if most < clients:
        with pytest.raises(UsageError, match="cannot make profile") as refused:
            make_profile("ours", asked, ALLOWED)
        hint = refused.value.hint or ""
        assert (f"-c {most}: so many fit" if most else "what PostgreSQL's defaults may") in hint
        with pytest.raises(UsageError, match="cannot make profile"):
            make_profile("ours", replace(asked, clients=most + 1), ALLOWED)
        if most == 0:
            return
    made = make_profile("ours", replace(asked, clients=most), ALLOWED)
    assert "work_mem" not in made.settings
    [left] = [one for one in made.left_alone if one.name == "work_mem"]
    assert left.why.startswith("4MB is what this build assumes: 20 % of memory for")
    assert "pooler" in left.why


def test_as_many_connections_are_proposed_as_the_clients_need() -> None:
    many = make_profile("ours", basis(64 * GB, 200), ALLOWED)
    assert many.settings["max_connections"] == "203"
    assert "max_connections" in many.restart
    for clients in (97, 20):
        few = make_profile("ours", basis(64 * GB, clients), ALLOWED)
        assert "max_connections" not in few.settings, "97 of 100 are for ordinary sessions"
        [left] = [one for one in few.left_alone if one.name == "max_connections"]
        assert f"memory was counted for {clients} at work" in left.why
    assert make_profile("ours", basis(64 * GB, 98), ALLOWED).settings["max_connections"] == "101"
    own = {**ALLOWED, "max_connections": replace(ALLOWED["max_connections"], default="500")}
    assert "max_connections" not in make_profile("ours", basis(64 * GB, 200), own).settings


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
    # 640 − 160 of shared_buffers − 4 × 64 of upkeep, − 10, ÷ ((1 + 2) × 3)
    assert small.settings["work_mem"] == "23MB"
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
    disk = replace(PROBED, random_page_cost=310.0)
    slow = make_profile("ours", basis(GB, storage=disk, data_bytes=1 << 50), ALLOWED)
    assert slow.settings["random_page_cost"] == "310"  # as a file has it, without an exponent
    small = make_profile("ours", basis(data_bytes=1 * GB), ALLOWED)
    assert small.settings["random_page_cost"] == "1.1"
    blind = make_profile("ours", basis(storage=None), ALLOWED)
    assert not {"random_page_cost", "effective_io_concurrency"} & set(blind.settings)
    assert any("no probe" in one.why for one in blind.left_alone)
    cached = Storage("vda", PROBED.probed_at, None, None, why_not="it was memory")
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
    [left] = [one for one in full.left_alone if one.name == "max_wal_size"]
    assert left.why.endswith("at most a tenth of 1024 MB, free there")
    unknown = make_profile("ours", basis(free_disk_bytes=None), ALLOWED)
    [log] = [one for one in unknown.advice if one.name == "max_wal_size"]
    assert (log.value, "no disk was looked at" in log.reason) == ("8GB", True)


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


def of_19(processors: int = 64, kind: WorkKind = "oltp") -> TuningProfile:
    """Of a build of 19 with lz4 and zstd."""
    methods = ("pglz", "lz4", "zstd", "on", "off")
    gone = {name: known for name, known in ALLOWED.items() if name != "io_workers"}
    allowed = {
        **gone,
        "io_min_workers": replace(ALLOWED["io_workers"], default="2"),
        "io_max_workers": replace(ALLOWED["io_workers"], default="8"),
        "jit": replace(ALLOWED["jit"], default="off"),
        "wal_compression": replace(ALLOWED["wal_compression"], values=methods),
        "default_toast_compression": Allowed(
            "enum", "lz4", "", None, None, ("pglz", "lz4"), "user"
        ),
    }
    there = replace(basis(processors=processors, kind=kind), version_number=190000)
    return make_profile("ours", there, allowed)


def test_what_19_changed_is_advised_by_its_own_names_and_defaults() -> None:
    made = of_19()
    assert made.settings["io_max_workers"] == "16"
    assert not {"io_workers", "io_min_workers", "jit", "default_toast_compression"} & set(
        made.settings
    )
    assert made.settings["wal_compression"] == "lz4", "by method: on is another one in 19"
    why = {one.name: one.why for one in made.left_alone}
    assert "from 19 on" in why["jit"]
    assert "from 19 on" in why["default_toast_compression"]
    assert "auto is the default" in why["timing_clock_source"]
    assert "no such setting" not in " ".join(why.values())
    few = of_19(processors=16)
    assert "io_max_workers" not in few.settings, "never below the default"
    assert "weigh it" in {one.name: one.why for one in of_19(kind="olap").left_alone}["jit"]


def test_before_19_lz4_is_advised_for_large_values_where_the_build_has_it() -> None:
    toast = Allowed("enum", "pglz", "", None, None, ("pglz", "lz4"), "user")
    made = make_profile("ours", basis(), {**ALLOWED, "default_toast_compression": toast})
    assert made.settings["default_toast_compression"] == "lz4"
    assert make_profile("ours", basis(), ALLOWED).settings["io_workers"] == "4"
    plain = {**ALLOWED, "default_toast_compression": replace(toast, values=("pglz",))}
    assert "default_toast_compression" not in make_profile("ours", basis(), plain).settings


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
    left = made.for_arm("log")
    assert set(made.settings) - set(left) == {
        "max_wal_size",
        "min_wal_size",
        "checkpoint_timeout",
    }


def test_how_many_may_connect_to_an_arm_is_left_to_its_study() -> None:
    made = make_profile("ours", basis(64 * GB, 200), ALLOWED)
    assert made.settings.keys() - made.for_arm().keys() == {"max_connections"}
    assert "max_connections" not in as_arm(made)
    assert "max_connections = '203'" in as_configuration(made, "PostgreSQL 18.4")


def test_the_published_table_on_a_small_machine_keeps_the_defaults_of_what_it_raised() -> None:
    made = make_profile("theirs", basis(2 * GB, 8, processors=2), ALLOWED)
    assert not {name for name in made.settings if name.startswith("max_parallel")}
    assert "max_worker_processes" not in made.settings
