"""Machines that did the same are ranked by throughput and by cost; what may not be compared is
said, and a table of prices that names nothing is refused."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from history.made import DAY, change, change_contrast, keep_record
from steelyard.cli.commands.records.fleet import sub
from steelyard.cli.views.history.comparison_view import machine_lines
from steelyard.fleet.machines import WhichMachine, which_machine
from steelyard.fleet.prices import read_prices
from steelyard.history.index import read_history
from steelyard.model.errors import UsageError
from steelyard.model.latency_goal import METRIC_WORDS, higher_is_better
from steelyard.model.price import parse_price
from steelyard.site.pages import build_site

PRICES = {"fast": parse_price("0.30 USD/h"), "slow": parse_price("0.20 USD/h")}


def keep_host_record(folder: Path, day: int, host: str, speed: float, **options: Any) -> Path:
    """A record of a host whose arms are so many times as fast as those of others."""
    place = keep_record(
        folder / "checksums" / DAY.format(day=day),
        seed=day,
        machine={"hostname": host, "processor": "P", "processors": 2},
        **options,
    )

    def faster(verdict: dict[str, Any]) -> dict[str, Any]:
        for contrast in verdict["contrasts"]:
            for epoch in contrast["details"]["epochs"]:
                epoch["throughput"] = {
                    arm: 1000 * speed * math.exp(0.01 * ((7 * epoch["epoch"]) % 3))
                    * (1.05 if arm == "off" else 1.0)
                    for arm in ("on", "off")
                }  # fmt: skip
                epoch["d"] = 0.0488
        return verdict

    change(place / "verdict.json", faster)
    return place


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Three hosts did the same, one of them at another scale, and one was invalid."""
    folder = tmp_path / "records"
    keep_host_record(folder, 1, "slow", 1.0)
    keep_host_record(folder, 2, "fast", 1.3)
    keep_host_record(folder, 3, "other", 5.0, scale=100)
    keep_host_record(folder, 4, "broken", 9.0)
    change_contrast(folder / "checksums" / DAY.format(day=4), verdict="invalid")
    return folder


def ranked(records: Path, prices: Any = None) -> WhichMachine:
    return which_machine(read_history(records).entries, prices)


def test_machines_are_ranked_where_they_did_the_same(records: Path) -> None:
    found = ranked(records)
    several = [one for one in found.groups if len(one.by_throughput) > 1]
    assert len(several) == 2  # checksums on, and off
    for group in several:
        first, second = group.by_throughput
        assert first.machine.name.startswith("fast")
        assert second.machine.name.startswith("slow")
        assert second.against_first is not None
        middle, low, high = second.against_first
        assert middle == pytest.approx(100 * (1 / 1.3 - 1))
        assert low < middle < high < 0
        assert second.apart
        assert not group.by_cost
        assert len(group.without_price) == 2


@pytest.mark.parametrize("metric", [*METRIC_WORDS, "rate at p99 ≤ 20 ms", "rate at p50 <= 1ms"])
def test_machines_are_ranked_by_metrics_that_count_work(tmp_path: Path, metric: str) -> None:
    change_contrast(keep_host_record(tmp_path, 1, "slow", 1.0), metric=metric)
    ranking = ranked(tmp_path)
    assert bool(ranking.groups) is higher_is_better(metric)
    assert bool(ranking.left_out) is not bool(ranking.groups)


def test_the_cheaper_machine_comes_first_by_cost(records: Path) -> None:
    group = ranked(records, PRICES).groups[0]
    first, second = group.by_cost
    assert first.machine.name.startswith("slow")  # two thirds of the price for 77 % of the speed
    assert second.against_first is not None
    assert second.against_first[0] == pytest.approx(100 * (1.5 / 1.3 - 1))
    assert first.machine.cost == pytest.approx(0.2 / (first.machine.throughput * 3600) * 1e6)
    low, high = first.machine.cost_ends
    assert low is not None
    assert high is not None
    assert low < (first.machine.cost or 0) < high


def test_prices_in_several_currencies_make_no_ranking_by_cost_and_that_is_said(
    records: Path, tmp_path: Path
) -> None:
    """As where a table names some hosts, and the records of others have prices of their own."""
    prices = {**PRICES, "slow": parse_price("0.20 EUR/h")}
    ranking = ranked(records, prices)
    assert ranking.groups[0].by_cost == ()
    words = "no ranking by cost: prices in several currencies (EUR, USD)"
    assert f"  {words}" in machine_lines(ranking)
    assert ranking.to_json()["groups"][0]["currencies"] == ["EUR", "USD"]
    site = build_site(read_history(records), tmp_path / "site", prices).folder
    assert words[1:] in (site / "machines.html").read_text(encoding="utf-8")
    assert not [line for line in machine_lines(ranked(records, PRICES)) if "currencies" in line]


def test_what_no_other_did_is_said_with_the_keys_it_differs_in(records: Path) -> None:
    lines = "\n".join(machine_lines(ranked(records, PRICES)))
    assert "not compared: other" in lines
    assert "workload.scale (100, here 50)" in lines
    assert "left out: checksums/2026-03-04T120000Z: its verdict is invalid" in lines
    assert "by the cost of a million transactions" in lines


def test_machines_with_other_texts_of_a_script_of_one_name_did_not_the_same(
    tmp_path: Path,
) -> None:
    for day, host in enumerate(("one", "two", "three"), 1):
        place = keep_host_record(tmp_path / "records", day, host, 1.0)
        files = {"script mine.sql": ("b" if host == "three" else "a") * 64}
        change(place / "environment.json", lambda facts, files=files: {**facts, "files": files})
    both, alone = ranked(tmp_path / "records").groups[:2], ranked(tmp_path / "records").groups[2:]
    assert [len(group.by_throughput) for group in (*both, *alone)] == [2, 2, 1, 1]
    assert "texts of the scripts (SHA-256 " in alone[0].differs_in(both[0])
    assert "SHA-256" not in both[0].words


def test_machines_of_one_speed_are_not_told_apart(tmp_path: Path) -> None:
    for day, host in enumerate(("one", "two", "three"), 1):
        keep_host_record(tmp_path / "records", day, host, 1.0)
    group = ranked(tmp_path / "records").groups[0]
    assert not any(row.apart for row in group.by_throughput)
    assert "not told apart from the first" in "\n".join(machine_lines(ranked(tmp_path / "records")))


def test_a_machine_counts_once_by_its_newest_record(records: Path) -> None:
    keep_host_record(records, 9, "slow", 2.0)
    first = ranked(records).groups[0].by_throughput[0].machine
    assert first.name.startswith("slow")
    assert first.record.endswith(DAY.format(day=9))


def test_a_copy_of_a_record_is_no_newer_one(records: Path) -> None:
    place = keep_host_record(records, 9, "slow", 2.0)
    shutil.copytree(
        records / "checksums" / DAY.format(day=1), records / "saved" / DAY.format(day=28)
    )
    machines = {m.machine.name: m.machine for m in ranked(records).groups[0].by_throughput}
    (slow,) = (machine for name, machine in machines.items() if name.startswith("slow"))
    assert slow.record == place.relative_to(records).as_posix()


def test_servers_at_addresses_are_on_no_machine_that_is_known(tmp_path: Path) -> None:
    place = keep_host_record(tmp_path / "records", 1, "here", 1.0)
    study = (place / "study.toml").read_text()
    (place / "study.toml").write_text(
        'address = "host=db"\n' + study.replace("checksums = false", "")
    )
    found = ranked(tmp_path / "records")
    assert not found.groups
    [(_, why)] = found.left_out
    assert "at addresses" in why


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a table of prices"),
        ("fast = 1", "is not a table of prices"),
        ("[prices", "cannot parse prices"),
        ('[prices]\nfast = "0.5"', 'price of "fast": invalid price: "0.5"; accepted'),
        ("[prices]\nfast = 0.5", 'price of "fast" is no text'),
        ('[prices]\nc8g.large = "0.5/h"', 'price of "c8g" is a table'),
        ('[prices]\nfast = "1 USD/h"\nslow = "1 EUR/h"', r"several currencies \(EUR, USD\)"),
        ('[prices]\nnobody = "1 USD/h"', 'no record is of a host or a kind of host "nobody"'),
    ],
)
def test_bad_tables_of_prices_are_refused(
    records: Path, tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=words):
        read_prices(file, read_history(records).entries)
    with pytest.raises(UsageError, match="could not read prices"):
        read_prices(tmp_path / "missing.toml", ())


def test_the_command_prints_both_rankings_and_json(records: Path, tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text('[prices]\nfast = "0.30 USD/h"\nslow = "0.20 USD/h"\n')
    arguments = ["machines", "--records", str(records), "--prices", str(file)]
    told = CliRunner().invoke(sub, [*arguments, "--json"])
    assert told.exit_code == 0, told.output
    found = json.loads(told.output)
    assert [row["price"] for row in found["groups"][0]["by_cost"]] == ["0.2 USD/h", "0.3 USD/h"]
    assert found["groups"][-1]["not_compared_with_first"]


def test_the_page_has_rankings_and_what_may_not_be_compared(records: Path, tmp_path: Path) -> None:
    site = build_site(read_history(records), tmp_path / "site", PRICES).folder
    page = (site / "machines.html").read_text(encoding="utf-8")
    for words in ("By throughput", "By cost", "0.3 USD/h", "May not be compared", "Left out"):
        assert words in page
    assert 'href="machines.html"' in (site / "index.html").read_text(encoding="utf-8")
    (tmp_path / "none").mkdir()
    empty = build_site(read_history(tmp_path / "none"), tmp_path / "empty").folder
    assert "No two machines did the same" in (empty / "machines.html").read_text(encoding="utf-8")
