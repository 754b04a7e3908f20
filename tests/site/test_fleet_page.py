"""The page of hosts has every question that several machines answered, kind by kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from history.made import change_contrast
from report.conftest import THREATS
from steelyard.fleet.hosts import across
from steelyard.history.index import read_history
from steelyard.history.question import questions_of
from steelyard.history.reading import COLLECTED
from steelyard.site.address import report_page
from steelyard.site.overview_pages import UNKNOWN_KIND, FleetShown, show_fleet
from steelyard.site.pages import build_site

Keep = Callable[..., Path]


def host(number: int) -> dict[str, Any]:
    return {"hostname": f"host-{number}", "processor": "P", "processors": 2}


@pytest.fixture
def fleet(keep: Keep, records: Path) -> Path:
    """Three hosts of two kinds and one whose kind is not known answered one question; the last host
    invalidly; one machine alone answered another one, twice."""
    for number, kind in enumerate(["small", "large", "small", "", "small"], 1):
        place = keep(number, effect=0.01 * number, machine=host(number),
                     threats=THREATS if number == 2 else [])  # fmt: skip
        if kind:
            (place / COLLECTED).write_text(json.dumps({"kind": kind, "files": {}}))
    change_contrast(records / "checksums" / "2026-03-05T120000Z", verdict="invalid")
    for day in (6, 7):
        keep(day, study="alone", machine=host(1))
    return records


def shown_of(records: Path) -> FleetShown:
    history = read_history(records)
    questions = questions_of(history.entries)
    return show_fleet(
        questions, across(questions), {one.path: report_page(one) for one in history.entries}
    )


def test_questions_of_several_machines_are_shown_kind_by_kind_with_every_verdict(
    fleet: Path,
) -> None:
    shown = shown_of(fleet)
    [question] = shown.questions
    assert question.label == "checksums: off against on"
    assert shown.kinds == ("large", "small", UNKNOWN_KIND)
    assert shown.hosts == 5
    by_kind = {one.kind: one for one in question.groups}
    assert [one.machine.partition(",")[0] for one in by_kind["small"].hosts] == [
        "host-1", "host-3", "host-5",
    ]  # fmt: skip
    assert by_kind["small"].sentence.startswith("faster on 2 of 2 hosts")
    invalid = by_kind["small"].hosts[-1]
    assert (invalid.mark, invalid.verdict) == ("✕", "invalid")
    assert invalid.left_out == "its verdict is invalid"
    [doubted] = by_kind["large"].hosts
    assert doubted.doubted
    assert doubted.words.startswith("host-2, P, 2 processors: faster, +2.0")
    assert "steal or throttling" in doubted.words
    assert doubted.page.startswith(f"q/{question.name}.html#checksums-2026-03-02T120000Z-")
    assert question.of("nowhere") == ()


def test_a_newer_weighing_that_does_not_count_is_said_beside_the_one_that_does(
    keep: Keep, records: Path, tmp_path: Path
) -> None:
    """Else a verdict that stands passes for the newest."""
    for day, number in ((1, 1), (2, 2), (3, 1), (4, 2), (5, 2)):
        keep(day, machine=host(number), threats=[])
    for day in (3, 4):  # the second host has a newer one that stands
        change_contrast(records / "checksums" / f"2026-03-0{day}T120000Z", verdict="invalid")
    [question] = shown_of(records).questions
    first, second = question.groups[0].hosts
    why = "its verdict is invalid"
    assert (first.at, first.left_out, first.newer_left_out) == ("2026-03-01 12:00 UTC", "", why)
    assert first.words.endswith(f"; a newer weighing does not count: {why}")
    assert (second.at, second.left_out, second.newer_left_out) == ("2026-03-05 12:00 UTC", "", "")
    site = build_site(read_history(records), tmp_path / "site").folder
    text = (site / "fleet.html").read_text(encoding="utf-8")
    assert text.partition("</table>")[2].count(f"a newer weighing does not count: {why}") == 1


def test_intervals_of_all_hosts_are_drawn_on_one_scale(fleet: Path) -> None:
    [question] = shown_of(fleet).questions
    pictures = [str(one.beam) for group in question.groups for one in group.hosts]
    ends = {picture.rpartition("</text>")[0].rpartition(">")[2] for picture in pictures}
    assert len(pictures) == 5
    assert len(ends) == 1


def test_the_page_has_the_matrix_and_links_that_lead_somewhere(fleet: Path, tmp_path: Path) -> None:
    site = build_site(read_history(fleet), tmp_path / "site").folder
    text = (site / "fleet.html").read_text(encoding="utf-8")
    assert "1 question that several machines answered, 5 hosts" in text
    assert text.count('class="sign ') == 5
    assert text.count('class="sign faster doubted"') == 1
    assert text.count('class="first"') == 5
    assert "does not count: its verdict is invalid" in text
    assert "alone" not in text.partition("<main>")[2]
    assert 'href="fleet.html"' in (site / "index.html").read_text(encoding="utf-8")


def test_where_one_machine_answered_all_it_is_said_what_brings_more(
    keep: Keep, records: Path, tmp_path: Path
) -> None:
    keep(1)
    site = build_site(read_history(records), tmp_path / "site").folder
    text = (site / "fleet.html").read_text(encoding="utf-8")
    assert "No question was answered by more than one machine" in text
    assert "<table" not in text


def test_containers_of_one_machine_are_one_host_here_too(keep: Keep, records: Path) -> None:
    for day, boot in ((1, "a"), (2, "a"), (3, "a")):
        place = keep(day, machine={**host(day), "boot_id": boot})
    change_contrast(place, verdict="invalid")
    assert shown_of(records).questions == ()
    keep(4, machine={**host(4), "boot_id": "b"})
    shown = shown_of(records)
    [question] = shown.questions
    [group] = question.groups
    assert [one.machine.partition(",")[0] for one in group.hosts] == ["host-1", "host-4"]
    assert group.hosts[0].page.partition("#")[2].startswith("checksums-2026-03-02T120000Z-")
    assert shown.hosts == 2
