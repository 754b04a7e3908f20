"""The page of a weighing in turns shows distances, curves, seconds, stalls and what was written."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from record.made import verdict_of
from report.test_page import Balanced, headings, page_of
from report.weighed import weigh_in_turns
from steelyard.record.plan import TurnChoices
from steelyard.record.turns.turn_summary import StallLine, TurnSummary, TurnSumsLine
from steelyard.record.verdict import Verdict
from steelyard.report import turns
from steelyard.report.page import write_report
from steelyard.wording.contrast_text import reading_text

Counts = Callable[[list[str], list[int]], list[int]]


@pytest.fixture(scope="module")
def weighed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Verdict]:
    """A record that no test changes, and its verdict."""
    return weigh_in_turns(tmp_path_factory.mktemp("turns"))


@pytest.fixture
def page(weighed: tuple[Path, Verdict], counts: Counts) -> str:
    return page_of(weighed[0], counts)


def section(page: str) -> str:
    [found] = re.findall(r'<h2 id="turns">.*?(?=<details class="part">|</main>)', page, re.DOTALL)
    return str(found)


def words(markup: str) -> str:
    return " ".join(re.sub("<svg.*?</svg>|<[^>]+>", " ", markup, flags=re.DOTALL).split())


def sums(arm: str, cycle_seconds: float | None, **more: Any) -> TurnSumsLine:
    nothing = dict.fromkeys(
        ("wal_bytes", "checkpoints", "waiting_at_start_bytes", "waiting_at_end_bytes")
    )
    facts = {"turns": 8, "seconds": 60.0, **nothing, **more}
    return TurnSumsLine(arm=arm, cycle_seconds=cycle_seconds, **facts)


def stall(arm: str, seconds: float, epoch: int = 1, cause: str = "unknown") -> StallLine:
    return StallLine(
        arm=arm, epoch=epoch, from_seconds=3.0, seconds=seconds, depth=0.21, cause=cause,
        storm=seconds >= 5,
    )  # fmt: skip


def sentence(scale: float, *lines: TurnSumsLine, nearer: Mapping[str, float] | None = None) -> str:
    choices = TurnChoices(
        time_scale=scale, time_scale_why="", cycles=2, warmup_cap_ns=1, wait_ns=1, longest_ns=1,
        turn_ns=1, nearer=nearer or {},
    )  # fmt: skip
    verdict = verdict_of(turns=TurnSummary(sums=lines))
    return turns.distance_sentence(verdict, choices, "turn").replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.long
def test_the_page_of_turns_has_its_own_section_in_place_of_slices(page: str) -> None:
    assert headings(page)[4:7] == ["Cause", "Epoch by epoch", "In turns"]
    assert "from the end of one of its checkpoints to the end of the 2nd one after it" in page
    shown = words(section(page)).replace("\N{NO-BREAK SPACE}", " ")
    assert "A checkpoint began every 20 s, as far apart as the arms" in shown
    assert "(time scale F = 1)" in shown
    assert "In every epoch each arm had one turn" in page
    assert "slices of 1 s on connections that stayed open; a transaction belongs" in words(page)
    assert "8 epochs ·" in page, "turns have no blocks"


def test_the_page_of_turns_is_well_formed(page: str) -> None:
    parser = Balanced()
    parser.feed(page)
    assert (parser.wrong, parser.open) == ([], [])
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)


def test_the_effect_by_distance_is_drawn_and_called_computed(
    page: str, weighed: tuple[Path, Verdict]
) -> None:
    assert "Effect by the distance between checkpoints, as computed: off against on" in page
    assert "not measured" in section(page)
    for one in weighed[1].by_distance:
        assert reading_text(one) in section(page)


def test_every_bin_of_the_curve_is_a_row_with_images_and_log(
    page: str, weighed: tuple[Path, Verdict]
) -> None:
    told = weighed[1].turns
    assert told is not None
    rows = turns.curve_rows(told.curve)
    assert [row["time"] for row in rows] == [
        "0 to 2 s",
        "2 s to 5 s",
        "5 s to 10 s",
        "10 s to 20 s",
    ]
    for row in rows:
        for value in row.values():
            assert value in section(page)
    assert float(rows[0]["arm_images"]) > 5 * float(rows[-1]["arm_images"])
    assert rows[0]["arm_wal"].endswith(" kB")


def shown(on_cycle_s: float | None, off_cycle_s: float | None) -> str:
    return turns.other_ages(("on", "off"), {"on": on_cycle_s, "off": off_cycle_s})


def test_a_curve_of_unlike_cycles_says_that_its_seconds_are_of_other_ages() -> None:
    assert shown(40.9, 3.67).startswith("Checkpoints are 40.9 s in on and 3.67 s in off apart")
    assert shown(30.0, 21.0) == shown(30.0, None) == ""
    assert turns.other_ages(("on", "off"), {}) == ""


@pytest.mark.long
def test_the_lead_says_that_an_arm_of_nearer_checkpoints_is_measured_as_the_other(
    tmp_path: Path, counts: Counts
) -> None:
    record, _ = weigh_in_turns(tmp_path)
    path = record / "plan.json"
    plan = json.loads(path.read_text())
    assert "at the same age" not in page_of(record, counts)
    plan["turns"]["limits"]["off"]["begin_ns"] //= 2
    path.write_text(json.dumps(plan))
    said = "where its checkpoints are nearer than another arm's, at the same age and for about as"
    assert said in words(page_of(record, counts)).replace("&#39;", "'")


@pytest.mark.long
def test_the_key_of_a_curve_names_its_two_arms_alone(tmp_path: Path, counts: Counts) -> None:
    arms = [{"name": name, "checksums": False} for name in ("off", "again")]
    record, _ = weigh_in_turns(tmp_path, arms=arms)
    shown = section(page_of(record, counts))
    keys = [words(key) for key in re.findall(r'<p class="key">.*?</p>', shown)]
    assert keys == ["on (control) off", "on (control) again"]
    assert re.findall("<h3>(.*?)</h3>", shown) == ["off against on", "again against on"]


def test_every_epoch_is_drawn_by_the_second_the_first_in_the_open(page: str) -> None:
    shown = section(page)
    drawn = re.findall(r'aria-label="Throughput by the second in epoch (\d+)"', shown)
    assert sorted(map(int, drawn)) == sorted([*range(1, 9)] * 2), "for desktop and for phone"
    folded = shown.index("<summary>The other epochs by the second")
    assert shown.index("Throughput by the second, epoch 1") < folded
    assert folded < shown.index("Throughput by the second, epoch 2")
    assert "not drawn by the second" not in shown


def test_epochs_that_do_not_fit_the_page_are_left_out_and_counted(
    weighed: tuple[Path, Verdict], counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "MOST_BYTES", 30_000)
    shown = section(page_of(weighed[0], counts))
    drawn = set(re.findall(r'aria-label="Throughput by the second in epoch (\d+)"', shown))
    assert 2 <= len(drawn) < 8
    assert f"{8 - len(drawn)} further epochs are not drawn by the second" in shown
    monkeypatch.setattr(turns, "MOST_BYTES", 1)
    shown = section(page_of(weighed[0], counts))
    assert "7 further epochs are not drawn by the second" in shown


@pytest.mark.long
def test_a_page_of_many_turns_stays_below_two_megabytes(
    weighed: tuple[Path, Verdict], counts: Counts, tmp_path: Path
) -> None:
    record = shutil.copytree(weighed[0], tmp_path / "long")
    for name in ("slices.jsonl", "telemetry.jsonl"):
        lines = [json.loads(line) for line in (record / name).read_text().splitlines()]
        last = lines.pop() if lines[-1].get("type") == "end" else None
        kept = [line for line in lines if line.get("epoch", -1) >= 0]
        more = [{**one, "epoch": one["epoch"] + 8 * n} for n in range(15) for one in kept]
        every = [*more, *([last] if last else [])]
        (record / name).write_text("".join(json.dumps(one) + "\n" for one in every))
    page = page_of(record, counts)
    assert len(page.encode()) < 2_000_000
    assert "further epochs are not drawn by the second" in page


def test_evenness_is_mean_spread_and_variation_with_intervals(
    page: str, weighed: tuple[Path, Verdict]
) -> None:
    told = weighed[1].turns
    assert told is not None
    rows = turns.evenness_rows(told.evenness)
    assert [row["metric"].partition(":")[0] for row in rows] == ["mean", "standard deviation", "CV"]
    assert rows[0]["control"].endswith(" tps")
    assert rows[2]["arm"].endswith(" %")
    for row in rows:
        assert row["reading"] in section(page)


def test_stalls_are_counted_by_arm_and_listed_with_their_cause(page: str) -> None:
    shown = words(section(page))
    assert "on 0 0 – –" in shown
    assert "off unknown (8) 8 0 8 s (2.5 % of the time) 1 s" in shown
    assert "epoch 3, off 1 s 1 s 31 % unknown" in shown


def test_storms_are_stalls_of_five_seconds_and_the_longest_stalls_are_kept() -> None:
    told = TurnSummary(
        stalls=(stall("off", 7.0, cause="kernel write-back"), stall("off", 2.0, 2)),
        sums=(sums("on", 30.0), sums("off", 30.0)),
    )
    [on, off] = turns.stall_sums(["on", "off"], told)
    assert (on["stalls"], on["time"]) == ("0", "–")
    assert (off["stalls"], off["storms"], off["longest"]) == ("2", "1", "7 s")
    assert off["note"] == "kernel write-back (1), unknown (1)"
    lengths = [row["length"] for row in turns.stall_rows(told.stalls)]
    assert lengths == ["7 s, a storm", "2 s"]
    many = [stall("off", 1.0 + n % 3, epoch) for n, epoch in enumerate(range(1, 91))]
    rows = turns.stall_rows(many)
    assert len(rows) == turns.MOST_STALLS
    assert {row["length"] for row in rows} == {"2 s", "3 s"}
    assert [row["where"] for row in rows][:2] == ["epoch 2, off", "epoch 3, off"]


def test_nothing_stalled_is_said(
    weighed: tuple[Path, Verdict], counts: Counts, tmp_path: Path
) -> None:
    record = shutil.copytree(weighed[0], tmp_path / "calm")
    verdict = json.loads((record / "verdict.json").read_text())
    verdict["turns"]["stalls"] = []
    (record / "verdict.json").write_text(json.dumps(verdict))
    shown = section(page_of(record, counts))
    assert "Nothing stalled" in shown
    assert "▲" not in shown


def test_what_each_arm_wrote_and_left_is_a_column_an_arm() -> None:
    rows = turns.sum_rows(
        ["on", "off"],
        [
            sums("off", None, wal_bytes=2e9, checkpoints=2.5, waiting_at_end_bytes=5e6),
            sums("on", 30.0, wal_bytes=1e9, checkpoints=2.0, waiting_at_start_bytes=0.0),
        ],
    )
    assert [tuple(row.values()) for row in rows] == [
        ("turns", "8", "8"),
        ("measured", "1 min", "1 min"),
        ("from one checkpoint to the next", "30 s", "–"),
        ("checkpoints completed", "2", "2.5"),
        ("WAL written", "954 MB", "1907 MB"),
        ("waiting to be written, at the start", "0 bytes", "–"),
        ("waiting to be written, at the end", "–", "4883 kB"),
    ]


def test_growth_of_the_files_is_told_where_it_is_known() -> None:
    grown = sums("on", 30.0, first_files_bytes=1 << 30, last_files_bytes=3 << 29)
    rows = turns.sum_rows(["on", "off"], [grown, sums("off", 30.0)])
    assert tuple(rows[-1].values()) == (
        "files of all arms, at its first turn and at its last", "1024 MB and 1536 MB", ""
    )  # fmt: skip


def test_the_sentence_names_the_distance_of_every_arm_and_the_time_scale() -> None:
    both = sums("on", 30.0), sums("off", 30.9)
    assert sentence(1, *both) == (
        "A checkpoint began every 30 s, as far apart as the arms' own settings have it "
        "(time scale F = 1)."
    )
    assert sentence(4, *both).endswith(
        "every 30 s, 4 times as near as the arms' own settings have it (time scale F = 4)."
    )
    apart = sentence(1, sums("on", 1.5), sums("off", 29.9))
    assert apart.startswith("A checkpoint began every 1.5 s in on and every 29.9 s in off, ")
    some = sentence(1, sums("on", None), sums("off", 29.9))
    assert some.startswith("A checkpoint began every 29.9 s in off, ")
    none = sentence(2.5, sums("on", None), sums("off", None))
    whole = sentence(1.4, *both, nearer={"on": 2.0, "off": 1.375})
    assert "2 times as near in on and 1.38 times as near in off as the arms' own" in whole
    assert none.startswith("No turn saw two checkpoints begin: they were 2.5 times as near")


def test_turns_too_near_their_checkpoints_say_why_no_distance_is_computed(
    weighed: tuple[Path, Verdict], counts: Counts, tmp_path: Path
) -> None:
    record = shutil.copytree(weighed[0], tmp_path / "near")
    verdict = json.loads((record / "verdict.json").read_text())
    (record / "verdict.json").write_text(json.dumps({**verdict, "by_distance": []}))
    shown = section(page_of(record, counts))
    assert "the arms were not both measured for long enough after a checkpoint began" in shown
    assert "as computed" not in shown


def test_before_there_is_a_verdict_turns_are_drawn_and_nothing_is_claimed(
    weighed: tuple[Path, Verdict], counts: Counts, tmp_path: Path
) -> None:
    record = shutil.copytree(weighed[0], tmp_path / "torn")
    (record / "verdict.json").unlink()
    page = write_report(record, count_latencies=counts).read_text(encoding="utf-8")
    assert "no verdict yet" in page
    shown = section(page)
    assert "Throughput by the second, epoch 8" in shown
    for claim in ("A checkpoint began", "Nothing stalled", "What each arm wrote", "as computed"):
        assert claim not in shown
