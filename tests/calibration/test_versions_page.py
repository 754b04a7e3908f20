"""docs/results/18-against-16.md says what was weighed; each weighing of it is a command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from steelyard.study.read import read_study
from validation import versions
from validation.pages.folded import outdated
from validation.pages.versions import page
from validation.results import Results
from validation.versions import OF_18, OF_19, RESULTS, STEPS, WEIGHINGS

PAIR = "19-against-18"


def measure(metric: str, estimate: float, half: float) -> dict[str, Any]:
    return {
        "metric": metric, "unit": "1/min", "control_value": 9553.25, "arm_value": 10035.26,
        "estimate_percent": estimate, "low_percent": estimate - half,
        "high_percent": estimate + half,
    }  # fmt: skip


def weighed(**changed: Any) -> dict[str, Any]:
    builder = {"builder": "gcc 14"}
    loads = {"by": "before", "count": 3, "seconds": 20.3}
    return {
        "key": "tproc-c", "words": ["versions", "--set", "a={b = 1}"], "threats": ["drift"],
        "started": "2026-11-22T10:00:00+00:00", "load_before": 0.1, "metric": "throughput",
        "estimate_percent": 5.04, "low_percent": -3.06, "high_percent": 13.82,
        "verdict": "inconclusive", "epochs": 12, "epoch_sd_percent": 9.0,
        "work": [measure("new_orders_per_minute", 5.0, 9.0)],
        "causes": [
            *(measure(f"weak_{n}", 0.1, 5.0) for n in range(4)),
            measure("wal_bytes_per_transaction", -3.0, 1.0),
        ],
        "d": [0.1, 0.1, -1.0],
        "loads_of_epochs": [{"16": 0, "18": 0}, {"16": 1, "18": 0}, {"16": 0, "18": 1}],
        "loads": {"arms": {"before": loads, "after": loads}}, "sentence": "after is as before",
        "measured_seconds": 120.0, "seconds": 300.0, "revision": "abc",
        "arms": {"16": {"version": "16.14", **builder}, "18": {"version": "18.4", **builder}},
        "workload": {"name": "tproc-c", "scale": 1, "options": {"profile": "spec"}, "clients": 8},
        "machine": {
            "kernel": "Linux 6", "processor": "P", "allowed_processors": [0, 1],
            "memory_bytes": 8e9, "virtual": True,
        },
        **changed,
    }  # fmt: skip


def test_a_weighing_has_its_verdict_interval_doubts_work_and_strongest_causes() -> None:
    text = page([weighed()], OF_18)
    assert (
        "| +5.0 % of throughput | −3.1 … +13.8 % | inconclusive | slices | 12 | 9.0 % | drift | 5 |"
        in text
    )
    assert (
        "| tproc-c | new orders per minute, 1/min | 9,553 | 10,035 | +5.0 % | −4.0 … +14.0 % |"
        in text
    )
    assert "steelyard weigh versions --set 'a={b = 1}'" in text
    assert "wal bytes per transaction" in text
    assert text.count("weak") == 3, "the strongest four"
    assert "| scale 1, 8 clients (profile spec) |" in text
    assert "| +10.5 % (2), −63.2 % (1) |" in text


def test_turns_are_told_with_their_distance_and_each_machine_once() -> None:
    turned = weighed(layout="turns", time_scale=2.5, distance_seconds=31.2, threats=["a", "a"])
    other = {**turned["machine"], "kernel": "Linux 7"}
    none = weighed(layout="turns", time_scale=1.0, distance_seconds=None, machine=other)
    text = page([weighed(), turned, none], OF_18)
    assert "| turns, a checkpoint every 31 s (F = 2.5) | 12 | 9.0 % | a |" in text
    assert "| turns, no checkpoint |" in text
    assert text.count("Linux 6") == text.count("Linux 7") == 1


def test_what_was_weighed_by_another_command_is_weighed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Results(tmp_path / "kept.jsonl")
    for name in WEIGHINGS:
        words = ["versions", "--budget", "1s"] if name == "reserva" else versions.command(name)
        kept.add(name, weighed(key=name, words=words))
    asked: list[str] = []

    def weigh(name: str, words: list[str], records: Path) -> list[dict[str, Any]]:
        asked.append(name)
        return [weighed(key=name, words=words)]

    monkeypatch.setattr(versions, "RESULTS", kept)
    monkeypatch.setattr(versions, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(versions, "weigh", weigh)
    monkeypatch.setattr(sys, "argv", ["versions"])
    for _ in range(2):
        assert versions.main() == 0
    assert asked == ["reserva"]
    assert len(list(kept)) == len(WEIGHINGS)


def test_a_load_that_all_epochs_share_is_not_told_apart() -> None:
    assert "(2)" not in page([weighed(loads_of_epochs=[])], OF_18)


def test_an_interval_without_ends_is_unbounded() -> None:
    assert "| unbounded |" in page([weighed(low_percent=None, high_percent=None)], OF_18)


@pytest.mark.parametrize("name", list(WEIGHINGS))
def test_every_weighing_is_a_study_of_two_versions_on_its_workload(name: str) -> None:
    study, *options = WEIGHINGS[name]
    changes = [word for word in options if "=" in word]
    read = read_study(study, changes)
    assert read.workload.name == name
    assert [arm.version for arm in read.every_arm] == ["16", "18"]


@pytest.mark.parametrize("name", list(OF_19))
def test_every_weighing_of_19_is_of_two_builds_from_one_source(name: str) -> None:
    study, *options = OF_19[name]
    changes = [word for word in options if "=" in word]
    read = read_study(study, changes)
    versions_of = {"checksums-18": ("18", "18"), "checksums-19": ("19", "19")}
    named = versions_of.get(name, ("18", "19"))
    assert [arm.version for arm in read.every_arm] == [f"debian-{each}" for each in named]


@pytest.mark.parametrize("name", list(STEPS))
def test_steps_are_weighed_at_once_in_cycles_of_builds_of_one_builder(name: str) -> None:
    study, *options = STEPS[name]
    read = read_study(study, [word for word in options if "=" in word])
    assert (read.workload.name, read.layout) == (name, "cycles")
    assert [arm.version for arm in read.every_arm] == ["npm-16.14", "npm-17.10", "npm-18.4"]
    assert [base and base.name for base in map(read.base_of, read.arms)] == [None, "17"]


def document_of_three() -> dict[str, Any]:
    """What `weigh --json` says of three arms, as far as a page keeps it."""

    def contrast(control: str, arm: str, estimate: float) -> dict[str, Any]:
        return {
            "arm": arm, "control": control, "metric": "throughput", "estimate_percent": estimate,
            "low_percent": estimate - 1, "high_percent": estimate + 1, "verdict": "faster",
            "epochs": 8, "blocks": 8, "sentence": f"{arm} is faster than {control}",
            "details": {"epoch_sd_percent": 1.0, "d": [0.01]}, "threats": [{"name": "drift"}],
        }  # fmt: skip

    by = {"by": "16", "count": 3, "seconds": 3.0}
    return {
        "contrasts": [contrast("16", "17", 4.0), contrast("16", "18", 1.0)],
        "pairs": [contrast("17", "18", -3.0)],
        "work": [{"control": "16", "arm": "17", **measure("new_orders_per_minute", 4.0, 1.0)}],
        "causes": [{"control": "16", "arm": "18", **measure("wal_bytes", 2.0, 1.0)}],
        "loads": {"shared": False, "arms": {"16": by, "17": by, "18": by}},
        "layout": "cycles", "time_scale": 8.0, "distance_seconds": 24.0,
        "measured_seconds": 900.0, "seconds": 1800.0,
    }  # fmt: skip


def test_each_contrast_of_a_weighing_is_a_line_with_what_was_counted_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builds = {"16": "16.14", "17": "17.10", "18": "18.4"}
    environment = {
        "arms": {
            arm: {"build": {"version": version, "builder": "gcc 14"}}
            for arm, version in builds.items()
        },
        "workload": {"name": "pgbench", "scale": 20, "options": {}, "clients": 8, "threads": None},
        "machine": weighed()["machine"],
    }
    loads = [{"16": 0, "17": 1, "18": 0}]
    monkeypatch.setattr(versions, "run_weigh", lambda *_: document_of_three())
    monkeypatch.setattr(versions, "environment_of", lambda _: environment)
    monkeypatch.setattr(versions, "loads_of_epochs", lambda _: loads)
    rows = versions.weigh("pgbench", ["a.toml"], tmp_path)
    assert [row["key"] for row in rows] == ["pgbench-16-17", "pgbench-16-18", "pgbench-17-18"]
    assert {row["weighing"] for row in rows} == {"pgbench"}
    assert [list(row["arms"]) for row in rows] == [["16", "17"], ["16", "18"], ["17", "18"]]
    assert [len(row["work"]) for row in rows] == [1, 0, 0]
    assert [len(row["causes"]) for row in rows] == [0, 1, 0]
    assert all(set(row["loads"]["arms"]) == set(row["arms"]) for row in rows)
    text = page(rows, versions.comparisons()["16-to-18"].pair)
    assert "| pgbench-17-18 | 18 against 17: −3.0 % of throughput | −4.0 … −2.0 % |" in text


def test_steps_have_one_table_and_say_which_step_each_is() -> None:
    builder = {"builder": "gcc 14"}
    versions_of = {"16": "16.14", "17": "17.10", "18": "18.4"}
    rows = [
        weighed(
            key=f"pgbench-{before}-{after}",
            layout="cycles",
            time_scale=10.0,
            distance_seconds=30.0,
            arms={n: {"version": versions_of[n], **builder} for n in (before, after)},
            loads_of_epochs=[{before: 0, after: n % 2} for n in range(3)],
        )
        for before, after in (("16", "17"), ("17", "18"))
    ]
    text = page(rows, versions.comparisons()["16-to-18"].pair)
    assert "# PostgreSQL 16 → 17 → 18, workload by workload" in text
    assert "each step of PostgreSQL 16 → 17 → 18, both by one builder (gcc 14)" in text
    assert "| pgbench-17-18 | 18 against 17: +5.0 % of throughput |" in text


def test_what_is_weighed_within_a_version_has_a_table_of_its_own() -> None:
    arms = {name: {"version": "19.0", "builder": "gcc 16"} for name in ("on", "off")}
    loads = {"by": "on", "count": 1, "seconds": 2.0}
    own = weighed(
        key="checksums-19", arms=arms, loads={"arms": {"on": loads}}, loads_of_epochs=[]
    )  # fmt: skip
    text = page([own, weighed()], OF_18)
    assert text.index("| tproc-c |") < text.index("within each version")
    assert text.index("within each version") < text.index("| checksums-19 |")
    assert "PostgreSQL 16.14 (control) against 18.4" in text


def test_a_weighing_that_fails_leaves_the_others_to_be_weighed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Results(tmp_path / "kept.jsonl")

    def weigh(name: str, words: list[str], records: Path) -> list[dict[str, Any]]:
        if name == "reserva":
            raise SystemExit("error: reserva ended with 3")
        return [weighed(key=name, words=words)]

    monkeypatch.setattr(versions, "RESULTS", kept)
    monkeypatch.setattr(versions, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(versions, "weigh", weigh)
    monkeypatch.setattr(sys, "argv", ["versions"])
    assert versions.main() == 1
    assert {row["key"] for row in kept} == {*WEIGHINGS} - {"reserva"}
    assert "tproc-h" in (tmp_path / "page.md").read_text()


def test_builds_of_two_compilers_are_said_at_the_top() -> None:
    arms = {
        "before": {"version": "18.6", "builder": "gcc 16-1"},
        "after": {"version": "19.0", "builder": "gcc 16-3"},
    }
    loads = [{"before": 0, "after": 0}, {"before": 1, "after": 0}, {"before": 0, "after": 1}]
    text = page([weighed(arms=arms, loads_of_epochs=loads)], versions.comparisons()[PAIR].pair)
    assert "# PostgreSQL 19 against 18, workload by workload" in text
    assert "**builds differ** (gcc 16-1 and gcc 16-3)" in text
    assert "--pair 19-against-18` from `validation/results/versions-19.jsonl`" in text


def test_the_published_page_is_what_the_results_say() -> None:
    found = list(RESULTS)
    assert {one["key"] for one in found} == set(WEIGHINGS)
    assert not outdated(versions.files(versions.comparisons()["18-against-16"]))


@pytest.mark.parametrize("name", list(versions.comparisons()))
def test_a_page_is_what_its_results_say(name: str) -> None:
    compared = versions.comparisons()[name]
    weighed_rows = list(compared.results)
    assert {row.get("weighing", row["key"]) for row in weighed_rows} <= set(compared.weighings)
    if list(compared.results):
        assert not outdated(versions.files(compared))
    else:
        assert not compared.page.exists()
