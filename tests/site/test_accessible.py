"""Every kind of page is accessible: axe finds nothing serious, in light and in dark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from axe import fetch_axe, grave_findings
from history.made import keep_record
from report.conftest import THREATS, fake_counts, make_record
from report.test_sweep_page import swept
from report.weighed import weigh_in_turns
from site_browser import Browser
from steelyard.history.index import read_history
from steelyard.history.reading import COLLECTED
from steelyard.report.brief import count_pages
from steelyard.report.page import write_report
from steelyard.report.sweep_page import write_sweep_page
from steelyard.site.pages import build_site
from thinned import thinned

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as made:
        yield made


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    return fetch_axe(tmp_path_factory.mktemp("axe"))


def made_site(folder: Path) -> Path:
    """Two questions, one answered by two hosts, one a sweep; a record without a verdict."""
    records = folder / "records"
    for day in (1, 2, 3):
        kept = keep_record(
            records / "checksums" / f"2026-03-0{day}T120000Z",
            seed=day,
            threats=THREATS if day == 2 else [],
            machine={"hostname": f"host-{day % 2}", "processor": "AMD EPYC", "processors": 2},
        )
        (kept / COLLECTED).write_text(json.dumps({"kind": "m7a.large", "files": {}}))
    sweep = records / "by-clients" / "2026-03-05T120000Z"
    for clients in (16, 32, 256):
        keep_record(sweep / "points" / str(clients), clients=clients, effect=-0.01, seed=clients)
    plan = {"key": "workload.clients", "values": ["16", "32", "256"], "order": [2, 0, 1]}
    (sweep / "sweep.json").write_text(json.dumps({**plan, "seed": 1, "study": "checksums"}))
    keep_record(records / "versions" / "2026-03-06T120000Z", study="versions", verdict=False)
    return build_site(read_history(records), folder / "site").folder


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The address of a page of every kind."""
    folder = tmp_path_factory.mktemp("pages")
    site = made_site(folder)
    a, b = "checksums/2026-03-01T120000Z", "checksums/2026-03-02T120000Z"
    whole = make_record(folder / "whole", arms=("on", "off", "half"), epochs=10)
    empty = make_record(folder / "empty", verdict=False, epochs=2)
    (folder / "turns").mkdir()
    turns, _ = weigh_in_turns(folder / "turns")
    return {
        "report": write_report(whole, count_latencies=fake_counts).as_uri(),
        "report without a verdict": write_report(empty, count_latencies=fake_counts).as_uri(),
        "report of turns": write_report(turns, count_latencies=fake_counts).as_uri(),
        "sweep": write_sweep_page(swept(), folder).as_uri(),
        "wall": (site / "index.html").as_uri(),
        "question": next(site.glob("q/checksums-*.html")).as_uri(),
        "compare": f"{(site / 'compare.html').as_uri()}#a={a}&b={b}",
        "fleet": (site / "fleet.html").as_uri(),
        "machines": (site / "machines.html").as_uri(),
    }


KINDS = (
    *("report", "report without a verdict", "report of turns", "sweep"),
    *("wall", "question", "compare", "fleet", "machines"),
)


@thinned("scheme", ["light", "dark"], 1)
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing_serious(
    browser: Browser, axe: str, pages: dict[str, str], kind: str, scheme: str
) -> None:
    browser.scheme(scheme)
    browser.open(pages[kind], 390 if scheme == "dark" else 1280)
    assert grave_findings(browser, axe) == []


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_cut_off_on_a_phone(browser: Browser, pages: dict[str, str], kind: str) -> None:
    browser.open(pages[kind], 390)
    browser.value("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert browser.value("document.documentElement.scrollWidth") <= 390
    cut = browser.value(
        """[...document.querySelectorAll("h1, h2, h3, p, td, th, li, dd, dt, summary, svg text")]
        .filter(one => !one.closest(".scroll, pre, .unseen") && !one.matches(".unseen"))
        .filter(one => getComputedStyle(one).visibility !== "hidden")
        .map(one => [one.getBoundingClientRect(), one.textContent.slice(0, 60)])
        .filter(([box]) => box.width && (box.right > 391 || box.left < -1))
        .map(([, words]) => words)"""
    )
    assert cut == []


def test_a_report_is_read_without_scripts_and_by_keyboard(
    tmp_path: Path, pages: dict[str, str]
) -> None:
    with Browser(tmp_path) as alone:
        alone.open(pages["report"], 1280)
        alone.press("Tab")
        focused = "document.activeElement.tagName"
        assert alone.value(focused) == "SUMMARY"
        assert alone.value("document.activeElement.parentElement.open") is False
        alone.press("Enter")
        assert alone.value("document.activeElement.parentElement.open") is True
        assert alone.value("document.scripts.length") == 0


def test_the_first_screen_holds_the_answer_and_the_rest_is_folded(
    browser: Browser, tmp_path: Path
) -> None:
    record = make_record(tmp_path / "record")
    browser.open(write_report(record, count_latencies=fake_counts).as_uri(), 1280)
    bottom = "document.querySelector('.first').getBoundingClientRect().bottom"
    assert browser.value(bottom) <= 900
    assert browser.value("document.querySelectorAll('main > details.part[open]').length") == 0
    assert browser.value("[...document.querySelector('main').children].length") > 8
    assert browser.value("document.querySelectorAll('main > :not(.first, details)').length") == 0


def test_the_first_printed_page_is_the_first_screen(browser: Browser, tmp_path: Path) -> None:
    record = make_record(tmp_path / "record", epochs=8)
    page = write_report(record, count_latencies=fake_counts)
    text = page.read_text("utf-8")
    alone = tmp_path / "alone.html"
    alone.write_text(text[: text.index('<details class="part"')] + "</main></body></html>")
    browser.open(alone.as_uri(), 1280)
    assert count_pages(browser.printed()) == 1
    browser.open(page.as_uri(), 1280)
    whole = count_pages(browser.printed())
    assert 3 <= whole <= 12, "what is folded is printed, the tables of numbers are not"
