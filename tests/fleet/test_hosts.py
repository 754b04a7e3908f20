"""What many hosts say together: a table below six, an interval from six on, and whether they
differ by more than their epochs explain."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from history.made import DAY, change, change_contrast, keep_record, readings
from steelyard.analysis.decision.sign_flip import confidence_set
from steelyard.cli.views.history.comparison_view import fleet_lines
from steelyard.fleet.hosts import Across, across
from steelyard.history.index import read_history
from steelyard.history.question import questions_of
from steelyard.history.reading import COLLECTED
from steelyard.model.units import percent_of_log


def machine(number: int) -> dict[str, Any]:
    return {"hostname": f"host-{number}", "processor": "P", "processors": 2, "kernel": "Linux 6",
            "allowed_processors": [0, 1], "memory_bytes": 8e9, "virtual": True}  # fmt: skip


def weighed(folder: Path, effects: list[float], **options: Any) -> Across:
    """One record a host, with these log effects."""
    for number, effect in enumerate(effects):
        keep_record(
            folder / "checksums" / DAY.format(day=number + 1),
            effect=effect,
            seed=number,
            machine=machine(number),
            **options,
        )
    [found] = across(questions_of(read_history(folder).entries))
    return found


def test_five_hosts_are_a_table_and_six_have_an_interval(tmp_path: Path) -> None:
    five = weighed(tmp_path / "five", [0.02, 0.021, 0.022, 0.023, 0.024])
    assert five.interval is None
    assert "faster on 5 of 5 hosts" in five.sentence
    assert "an interval over hosts needs 6" in five.sentence
    assert len(list(fleet_lines([five]))) == 1 + 5 + 2
    six = weighed(tmp_path / "six", [0.02, 0.021, 0.022, 0.023, 0.024, 0.025])
    assert six.interval is not None
    estimate, low, high = six.interval
    assert low < estimate < high
    assert estimate == pytest.approx(2.28, abs=0.25)
    assert "hosts of this kind: +2" in six.sentence


def test_the_interval_over_hosts_covers_what_hosts_of_that_kind_do() -> None:
    """Hosts' own effects scatter by more than their epochs: 200 fleets of 8."""
    draw, covered = random.Random(3), 0
    for _ in range(200):
        means = np.array([draw.gauss(0.02, 0.01) for _ in range(8)])
        ends = confidence_set(means, 0.05).interval
        covered += ends.low <= 0.02 <= ends.high
    assert covered >= 180


def test_the_interval_is_of_the_means_of_hosts_and_not_of_their_epochs(tmp_path: Path) -> None:
    """Pooled epochs would say of a kind what is known of six hosts."""
    effects = [0.02, 0.03, 0.01, 0.05, -0.01, 0.04]
    found = weighed(tmp_path, effects)
    every = [readings(effect, 0.002, 8, seed) for seed, effect in enumerate(effects)]
    means = np.array([np.mean(one) for one in every])
    wanted = confidence_set(means, 0.05).interval
    assert found.interval is not None
    estimate, low, high = found.interval
    assert estimate == pytest.approx(percent_of_log(float(means.mean())))
    assert (low, high) == (
        pytest.approx(percent_of_log(wanted.low)), pytest.approx(percent_of_log(wanted.high)),
    )  # fmt: skip
    pooled = confidence_set(np.concatenate(every), 0.05).interval
    assert high - low > 2 * (percent_of_log(pooled.high) - percent_of_log(pooled.low))


def test_containers_of_one_machine_are_one_host_whatever_their_names(tmp_path: Path) -> None:
    """Six pods of a node are no six replicates of its kind: the newest one counts."""
    for number in range(6):
        keep_record(
            tmp_path / "checksums" / DAY.format(day=number + 1), effect=0.01 * number, seed=number,
            machine={**machine(number), "boot_id": "the node's"},
        )  # fmt: skip
    [found] = across(questions_of(read_history(tmp_path).entries))
    [host] = found.hosts
    assert host.machine.startswith("host-0, ")
    assert host.point.entry.path == f"checksums/{DAY.format(day=6)}"
    assert found.interval is None
    assert "of 1 host;" in f"{found.sentence};"


def test_a_machine_that_was_restarted_is_one_host_and_so_are_its_containers(
    tmp_path: Path,
) -> None:
    """Its name links its boots, and each boot its containers; another machine has neither."""
    seen = [(1, "first"), (1, "second"), (2, "second"), (3, "first"), (4, "other"), (5, "")]
    for day, (number, boot) in enumerate(seen, 1):
        keep_record(
            tmp_path / "checksums" / DAY.format(day=day), seed=day,
            machine={**machine(number), "boot_id": boot},
        )  # fmt: skip
    [found] = across(questions_of(read_history(tmp_path).entries))
    told = {host.machine.partition(",")[0]: host.point.entry.path[-18:-8] for host in found.hosts}
    assert told == {"host-1": "2026-03-04", "host-4": "2026-03-05", "host-5": "2026-03-06"}


def test_hosts_that_differ_more_than_their_epochs_are_said_to(tmp_path: Path) -> None:
    alike = weighed(tmp_path / "alike", [0.02] * 4)
    assert alike.differ_p is not None
    assert "they differ no more than their epochs explain" in alike.sentence
    apart = weighed(tmp_path / "apart", [0.02, 0.05, -0.03, 0.02])
    assert apart.differ_p is not None
    assert apart.differ_p < 1e-6
    assert "they differ more than their epochs explain (p < 0.0001)" in apart.sentence


def test_of_a_host_the_newest_answer_counts_and_invalid_ones_are_left_out(tmp_path: Path) -> None:
    for day, effect in ((1, 0.5), (2, 0.02)):
        keep_record(
            tmp_path / "checksums" / DAY.format(day=day), effect=effect, seed=day,
            machine=machine(1),
        )  # fmt: skip
    spoilt = keep_record(tmp_path / "checksums" / DAY.format(day=3), seed=3, machine=machine(2))
    change_contrast(spoilt, verdict="invalid")
    [found] = across(questions_of(read_history(tmp_path).entries))
    [host] = found.hosts
    assert host.mean == pytest.approx(0.02, abs=0.005)
    assert [why for _, why in found.left_out] == ["its verdict is invalid"]
    assert found.to_json()["hosts"][0]["machine"] == host.machine
    assert any(line.startswith("left out: ") for line in fleet_lines([found]))


def test_hosts_of_two_kinds_are_never_pooled(tmp_path: Path) -> None:
    for number in range(6):
        kind = "small" if number % 2 else "large"
        place = keep_record(
            tmp_path / "checksums" / DAY.format(day=number + 1),
            effect=0.02 if kind == "small" else 0.05,
            seed=number,
            machine=machine(number),
        )
        (place / COLLECTED).write_text(json.dumps({"kind": kind, "files": {}}))
    large, small = across(questions_of(read_history(tmp_path).entries))
    assert (large.kind, small.kind) == ("large", "small")
    assert len(large.hosts) == len(small.hosts) == 3
    assert large.interval is None
    assert small.to_json()["kind"] == "small"
    assert [line for line in fleet_lines([large, small]) if line.endswith(", small")]


def test_a_host_on_which_an_arm_did_no_work_is_left_out_and_named(tmp_path: Path) -> None:
    for number in range(2):
        keep_record(
            tmp_path / "checksums" / DAY.format(day=number + 1), seed=number,
            machine=machine(number),
        )  # fmt: skip
    place = tmp_path / "checksums" / DAY.format(day=2)
    change(place / "verdict.json", _with_an_idle_epoch)
    [found] = across(questions_of(read_history(tmp_path).entries))
    assert [host.machine.partition(",")[0] for host in found.hosts] == ["host-0"]
    [(host, why)] = found.left_out
    assert host.point.entry.path == f"checksums/{DAY.format(day=2)}"
    assert why == "it has an epoch in which an arm did no work"


def _with_an_idle_epoch(verdict: dict[str, Any]) -> dict[str, Any]:
    """As a verdict keeps an infinite log ratio: the epoch counts, and has no finite one."""
    d = verdict["contrasts"][0]["details"]["d"]
    verdict["contrasts"][0]["details"]["d"] = [None, *d[1:]]
    return verdict


def test_other_builds_are_another_row_of_hosts(tmp_path: Path) -> None:
    for day, version in ((1, "18.4"), (2, "17.0")):
        keep_record(
            tmp_path / "checksums" / DAY.format(day=day), seed=day, machine=machine(1),
            arm_build={"version": version}, control_build={"version": version},
        )  # fmt: skip
    found = across(questions_of(read_history(tmp_path).entries))
    assert len(found) == 2
    assert {one.builds.split()[0] for one in found} == {"18.4", "17.0"}
