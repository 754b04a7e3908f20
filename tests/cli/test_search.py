"""A search makes candidates for its study: its work, its data, and the memory a server has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from record.made import verdict_of
from steelyard.cli.weighing import search
from steelyard.model.errors import UsageError
from steelyard.model.identity import Identity
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.tuning.profile.proposing import Accepting, ProfileRequest
from steelyard.tuning.search.race import _with
from steelyard.tuning.search.trial import BestCandidate, Trial
from steelyard.workloads.reading.resolved import data_bytes, resolve_workload
from tuning.profile.accepting import ALLOWED
from tuning.search.raced import contrast

ACCEPTING = Accepting(
    Identity("postgres", "18.4", 180004, "gcc", "", "", "bundle", "/bin", False), ALLOWED
)


REQUEST = search.SearchRequest(
    study="tuning", overrides=(), budget=None, trials=4, durability=(), profile="ours",
    work=None, memory_bytes=None, processors=None, data_bytes=None, seed=1,
    record=None, resume=None, account=None, as_json=False,
)  # fmt: skip
GB = 1 << 30
FITTING = ["memory=none", "bound=none", "workload.scale=4"]
READING = [
    "workload.name=pgbench", "workload.options={}", "workload.scripts={select-only = 1}"
]  # fmt: skip


@dataclass(frozen=True)
class Proposed:
    """A profile that was asked for."""

    wish: ProfileRequest

    def for_arm(self) -> dict[str, str]:
        return {"max_wal_size": "8GB"}


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 8 GB, on which profiles are only asked for."""
    monkeypatch.setattr(search, "propose", lambda wish, *_: Proposed(wish))
    monkeypatch.setattr(
        search, "memory_here", lambda cap, servers: (cap or 8 * GB // servers, "here")
    )


def wished(study: Study, **more: Any) -> tuple[ProfileRequest, str]:
    """What the first candidate's profile is for, and the layout."""
    first, layout = search._proposed(replace(REQUEST, **more), study, ACCEPTING)
    assert isinstance(first, Proposed)
    return first.wish, layout


@pytest.mark.parametrize(
    ("overrides", "layout", "servers"),
    [
        (["layout=turns"], "turns", 1),
        (["layout=slices"], "slices", search.BATCH + 1),
        (["layout=auto"], "turns", 1),
        (["layout=auto", *FITTING], "cycles", search.BATCH + 1),
        (["layout=auto", *FITTING, "workload.scale=100000"], "turns", 1),
        (["layout=cycles", *FITTING], "cycles", search.BATCH + 1),
        (
            ["layout=auto", *READING],
            "slices",
            search.BATCH + 1,
        ),
    ],
)
def test_servers_that_stand_at_once_follow_the_layout_that_is_taken(
    overrides: list[str], layout: str, servers: int
) -> None:
    wish, taken = wished(read_study("tuning", overrides))
    assert (taken, wish.servers) == (layout, servers)


def test_the_kind_of_work_is_that_of_the_studys_workload_unless_it_is_named() -> None:
    """Candidates for long queries share memory with their parallel workers, as profiles do."""
    queries = resolve_workload(read_study("tuning-queries"))
    assert wished(queries)[0].kind == "olap"
    assert wished(queries, work="mixed")[0].kind == "mixed"
    assert wished(resolve_workload(read_study("tuning")))[0].kind == "oltp"


@pytest.mark.parametrize(
    ("asked", "memory", "layout", "cap"),
    [
        (None, GB, "turns", GB),
        (GB // 2, GB, "turns", GB // 2),
        (4 * GB, GB, "turns", GB),
        (4 * GB, None, "turns", 4 * GB),
        (4 * GB, None, "slices", None),  # five servers stand at once: a fifth of 8 GB each
        (GB, None, "slices", GB),
    ],
)
def test_memory_bounds_candidates_below_what_a_server_has(
    asked: int | None, memory: int | None, layout: str, cap: int | None
) -> None:
    study = read_study("tuning", [f"layout={layout}"]).model_copy(update={"memory": memory})
    assert wished(study, memory_bytes=asked)[0].cap_bytes == cap


def test_the_size_of_the_data_is_the_workloads_unless_it_is_named() -> None:
    study = resolve_workload(read_study("tuning"))
    assert wished(study)[0].data_bytes == data_bytes(study)
    assert wished(study, data_bytes=GB)[0].data_bytes == GB


def test_a_control_that_has_a_profile_is_refused() -> None:
    with pytest.raises(UsageError, match='control "profile" of study "tuning-ablation" has one'):
        search._study_without_arms(replace(REQUEST, study="tuning-ablation"))


@pytest.mark.parametrize("key", ["arm.ours.settings.jit", "arm.theirs.profile", "arm"])
def test_a_key_of_an_arm_that_a_search_leaves_out_is_refused(key: str) -> None:
    value = '[{ settings = { jit = "off" } }]' if key == "arm" else "theirs"
    of_arm = replace(REQUEST, overrides=(f"{key}={value}",))
    with pytest.raises(UsageError, match=f'override "{key}" has no effect') as refused:
        search._study_without_arms(of_arm)
    assert "--set control.settings.NAME=VALUE" in (refused.value.hint or "")
    search._study_without_arms(replace(REQUEST, overrides=("control.settings.jit=off",)))


def test_an_address_is_refused_with_what_weighs_settings_there() -> None:
    """Candidates are servers that are started with their settings."""
    at_address = replace(REQUEST, study="sessions", overrides=("address=host=db1 dbname=shop",))
    with pytest.raises(UsageError, match="cannot search at an address") as refused:
        search._study_without_arms(at_address)
    assert "steelyard weigh sessions --address DSN" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("metric", "log_ratio", "verdict", "sought", "fresh"),
    [
        ("throughput", 0.2, "faster", "+22.1 %", "+20.0 % [+15.0, +25.0]; that one counts. Its"),
        ("geometric_mean", -0.2, "faster", "−18.1 %", "−20.0 % [−25.0, −15.0]; that one counts."),
        (
            "geometric_mean",
            -0.2,
            "invalid",
            "−18.1 %",
            "−20.0 % [−25.0, −15.0]; but it is invalid, so that nothing is shown. Its settings:",
        ),
    ],
)
def test_the_searchs_figure_and_the_fresh_one_have_one_sign_and_name_their_metric(
    metric: str, log_ratio: float, verdict: str, sought: str, fresh: str
) -> None:
    """Of a time that a candidate takes less of, both are below 0."""
    higher = metric == "throughput"
    ends = (15.0, 20.0, 25.0) if higher else (-25.0, -20.0, -15.0)
    percents = dict(zip(("low_percent", "estimate_percent", "high_percent"), ends, strict=True))
    line = contrast(
        "trial-1", [log_ratio] * 2, ["complete"] * 2, metric=metric, higher_is_better=higher,
        verdict=verdict, **percents,
    )  # fmt: skip
    weighed = verdict_of(line)
    winner = _with(Trial(1, {}, {"work_mem": "64MB"}), weighed, "round-01")
    assert winner.log_ratio == pytest.approx(0.2), "above 0 where it is better"
    best = BestCandidate(1, "found", (winner,), winner, weighed, 1, metric)
    lines = search.search_lines(best, 100)
    words = {"throughput": "throughput", "geometric_mean": "geometric mean time"}[metric]
    assert lines[0] == f"1 candidate in 1 weighing; change of {words} against the control"
    assert f"trial-1   {sought:>10}  2 epochs" in lines[2]
    text = " ".join(" ".join(lines).split())
    assert f"trial-1 read {sought} in the search" in text
    assert f"The fresh weighing read {fresh}" in text
    assert (best.to_json()["trials"][0]["search_percent"] < 0) is not higher
