"""A real browser opens the site from disk, lays it out, filters, compares, and obeys keys."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from history.made import change
from report.conftest import THREATS
from site_browser import Browser
from steelyard.history.index import History, read_history
from steelyard.history.question import Point
from steelyard.history.ratio import RatioOfRatios, ratio_of_ratios
from steelyard.history.reading import COLLECTED
from steelyard.site.pages import build_site
from thinned import thinned

pytestmark = pytest.mark.browser
Keep = Callable[..., Path]
FIRST, SECOND = "checksums/2026-03-02T120000Z", "checksums/2026-03-14T120000Z"
FITS = """({
  scroll: document.documentElement.scrollWidth,
  left: Math.min(...[...document.querySelectorAll("svg text")]
    .map(one => one.getBoundingClientRect()).filter(box => box.width).map(box => box.left)),
  right: Math.max(...[...document.querySelectorAll("svg text")]
    .map(one => one.getBoundingClientRect()).filter(box => box.width).map(box => box.right)),
})"""
SHOWN = """[...document.querySelectorAll("article.row")].filter(row => !row.hidden)
  .map(row => row.querySelector("h2").innerText.split(":")[0])"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as made:
        yield made


@pytest.fixture
def site(history: History, tmp_path: Path) -> Path:
    return build_site(history, tmp_path / "site").folder


def question(site: Path) -> Path:
    [page] = site.glob("q/checksums-*.html")
    return page


@thinned("width", [390, 719, 720, 1280], 1)
def test_nothing_is_cut_off_and_no_page_scrolls_sideways(
    browser: Browser, site: Path, width: int
) -> None:
    compare = f"{(site / 'compare.html').as_uri()}#a={FIRST}&b={SECOND}"
    pages = [(site / "index.html").as_uri(), question(site).as_uri(), compare]
    pages.append((site / "fleet.html").as_uri())
    for page in pages:
        browser.open(page, width)
        found = browser.value(FITS)
        assert found["scroll"] <= width, page
        if "compare" not in page and "fleet" not in page:
            assert found["left"] >= 0, page
            assert found["right"] <= width, page
        assert browser.asked == [page.partition("#")[0]], "and nothing else is asked for"
    assert browser.errors == []


@pytest.fixture
def fleet(keep: Keep, records: Path, tmp_path: Path) -> Path:
    """A site with one question, answered by nine hosts of three kinds with long names."""
    for number in range(1, 10):
        host = f"ip-10-0-0-{number}.eu-central-1.compute.internal"
        machine = {"hostname": host, "processor": "AMD EPYC 9R14 96-Core Processor",
                   "processors": 96}  # fmt: skip
        place = keep(number, effect=0.01 * number - 0.04, machine=machine,
                     threats=THREATS if number == 4 else [])  # fmt: skip
        kind = ("m7a.24xlarge", "c7a.24xlarge", "r7a.24xlarge")[number % 3]
        (place / COLLECTED).write_text(json.dumps({"kind": kind, "files": {}}))
    return build_site(read_history(records), tmp_path / "fleet").folder / "fleet.html"


@thinned("width", [390, 719, 720, 939, 940, 1280], 2)
def test_the_page_of_hosts_fits_every_width(browser: Browser, fleet: Path, width: int) -> None:
    browser.open(fleet.as_uri(), width)
    found = browser.value(FITS)
    assert found["scroll"] <= width
    assert found["left"] >= 0
    assert found["right"] <= width
    assert browser.asked == [fleet.as_uri()]
    assert browser.errors == []
    assert browser.value("document.querySelectorAll('.sign').length") == 9
    striped = "getComputedStyle(document.querySelector('.sign.doubted')).backgroundImage"
    assert "gradient" in browser.value(striped)


def test_the_page_of_hosts_obeys_keys(browser: Browser, fleet: Path) -> None:
    browser.open(fleet.as_uri(), 1280)
    focused = "document.activeElement.innerText.split('.')[0]"
    browser.press("j")
    first = browser.value(focused)
    browser.press("j")
    assert browser.value(focused) != first
    browser.press("k")
    assert browser.value(focused) == first
    browser.press_and_go("Enter")
    assert "/q/checksums-" in browser.value("location.href")
    assert browser.value("document.querySelector('tr:target') !== null")


def test_the_wall_is_filtered_by_what_stands_in_the_address(browser: Browser, site: Path) -> None:
    wall = (site / "index.html").as_uri()
    browser.open(wall, 1280)
    assert browser.value(SHOWN) == ["builds", "versions", "checksums", "aa"]
    browser.open(f"{wall}#verdict=slower", 1280)
    assert browser.value(SHOWN) == ["builds", "versions"]
    assert browser.value("document.forms[0].verdict.value") == "slower"
    browser.open(f"{wall}#q=throttling", 1280)
    assert browser.value(SHOWN) == ["checksums"]
    browser.open(f"{wall}#q=nothing+of+that", 1280)
    assert browser.value(SHOWN) == []
    assert browser.value("document.getElementById('none').hidden") is False


def test_a_machine_is_chosen_whatever_blanks_its_processors_name_has(
    browser: Browser, keep: Keep, records: Path, tmp_path: Path
) -> None:
    """Older Xeons have runs of them, which a browser joins in the words of an option."""
    processor = "Intel(R) Xeon(R) CPU           E5620  @ 2.40GHz"
    keep(1, machine={"hostname": "old", "processor": processor, "processors": 2})
    keep(2, study="aa", machine={"hostname": "new", "processor": "P", "processors": 2})
    site = build_site(read_history(records), tmp_path / "site").folder
    browser.open((site / "index.html").as_uri(), 1280)
    browser.value(
        """(() => { const field = document.forms[0].elements.machine;
          field.selectedIndex = [...field.options].findIndex(one => one.text.startsWith("old"));
          field.dispatchEvent(new Event("input", {bubbles: true})); })()"""
    )
    assert browser.value(SHOWN) == ["checksums"]


def test_the_wall_obeys_keys(browser: Browser, site: Path) -> None:
    browser.open((site / "index.html").as_uri(), 1280)
    focused = "document.activeElement.innerText.split(':')[0]"
    browser.press("j")
    assert browser.value(focused) == "builds"
    browser.press("j")
    browser.press("j")
    browser.press("k")
    assert browser.value(focused) == "versions"
    browser.press("/")
    for letter in "aa:":
        browser.press(letter)
    assert browser.value(SHOWN) == ["aa"]
    assert browser.value("location.hash") == "#q=aa%3A"
    browser.press("Escape")
    assert len(browser.value(SHOWN)) == 4
    assert browser.value("document.forms[0].q.value") == ""
    browser.press("j")
    browser.press_and_go("Enter")
    assert "/q/builds-" in browser.value("location.href")


def test_a_dot_is_reached_by_tab_and_opens_its_report(browser: Browser, site: Path) -> None:
    browser.open(question(site).as_uri(), 1280)
    for _ in range(40):
        browser.press("Tab")
        if browser.value("document.activeElement.closest('svg') !== null"):
            break
    label = browser.value("document.activeElement.getAttribute('aria-label')")
    assert label.startswith("2026-03-02 12:00 UTC: faster, +")
    browser.press_and_go("Enter")
    assert "/reports/checksums-2026-03-02T120000Z-" in browser.value("location.href")


@thinned(("width", "dots"), [(390, 6), (1280, 8)], 1)
def test_dots_can_be_touched_with_a_finger(
    browser: Browser, site: Path, width: int, dots: int
) -> None:
    browser.open(question(site).as_uri(), width)
    found = browser.value(
        """[...document.querySelectorAll("svg a .touch")].map(one => one.getBoundingClientRect())
        .filter(box => box.width).map(box => [box.width, box.left + box.width / 2])"""
    )
    assert len(found) == dots
    assert min(size for size, _ in found) >= 23.9
    middles = sorted(middle for _, middle in found)
    assert min(b - a for a, b in pairwise(middles)) >= 24


def test_a_weighing_is_marked_by_the_address(browser: Browser, site: Path) -> None:
    page = question(site)
    [name] = re.findall(r'<tr id="(checksums-2026-03-05[^"]*)"', page.read_text())
    browser.open(f"{page.as_uri()}#{name}", 1280)
    assert browser.value("document.querySelector('tr:target').innerText").startswith("2026-03-05")
    browser.press("j")
    assert browser.value("document.activeElement.innerText") == "2026-03-16 12:00 UTC"


def test_two_records_are_compared_as_the_command_does(
    browser: Browser, site: Path, history: History
) -> None:
    browser.open(f"{(site / 'compare.html').as_uri()}#a={FIRST}&b={SECOND}", 1280)
    shown = browser.value("document.querySelector('.ratio').innerText")
    by_path = {one.path: one for one in history.entries}
    points = [Point(by_path[path], by_path[path].readings[0]) for path in (FIRST, SECOND)]
    expected = ratio_of_ratios(*points)
    assert isinstance(expected, RatioOfRatios)
    numbers = [float(one.replace("−", "-")) for one in re.findall(r"[+−]\d+\.\d\d", shown)]
    assert numbers == pytest.approx(
        [expected.estimate_percent, expected.low_percent, expected.high_percent], abs=0.0051
    )
    assert expected.sentence.partition(":")[0] in shown
    assert "build" in browser.value("document.getElementById('result').innerText")


SCRIPTS = {
    FIRST: [("orders", 20.0, -4.0, 2.0), ("<b>payments", 80.0, 1.0, 5.0)],
    SECOND: [("orders", 20.0, 6.0, 9.0), ("refunds", 80.0, None, None)],
}
"""Record → (script, share, low, high)."""


def with_scripts(records: Path) -> None:
    for path, rows in SCRIPTS.items():
        change(
            records / path / "verdict.json",
            lambda verdict, rows=rows: {
                **verdict,
                "scripts": [
                    {"arm": "off", "control": "on", "confidence": 0.95, "script": name,
                     "share_percent": share, "control_us": 100.0, "arm_us": 101.0,
                     "estimate_percent": low and (low + high) / 2, "low_percent": low,
                     "high_percent": high}
                    for name, share, low, high in rows
                ],
            },
        )  # fmt: skip


@thinned("width", [390, 1280], 1)
def test_a_comparison_has_both_intervals_in_a_picture_and_a_row_a_script(
    browser: Browser, rich: Path, tmp_path: Path, width: int
) -> None:
    with_scripts(rich)
    site = build_site(read_history(rich), tmp_path / "site").folder
    browser.open(f"{(site / 'compare.html').as_uri()}#a={FIRST}&b={SECOND}", width)
    label = browser.value("document.querySelector('figure svg').getAttribute('aria-label')")
    readings = re.findall(r"[+−]\d+\.\d+ % \[[^]]+\]", label)
    assert len(readings) == 2
    for number, reading in enumerate(readings):
        assert reading in browser.value("document.querySelector('figure').textContent")
        drawn = f"document.querySelectorAll('figure .interval.arm{number}').length"
        assert browser.value(drawn) == 1
    found = browser.value(FITS)
    assert found["scroll"] <= width
    assert found["left"] >= 0
    assert found["right"] <= width
    rows = browser.value(
        "[...document.querySelector('table.compared').tBodies[0].rows]"
        ".map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert [row[0] for row in rows] == ["refunds", "orders", "<b>payments"], "the worst first"
    assert rows[1][2] == "+7.50 % [+6.00, +9.00]"
    assert rows[2][2] == "–"
    assert rows[0][2] == "–"


@pytest.mark.long
def test_a_ratio_that_cannot_be_is_refused_with_the_reasons(browser: Browser, site: Path) -> None:
    other = "versions/2026-03-18T120000Z"
    browser.open(f"{(site / 'compare.html').as_uri()}#a={FIRST}&b={FIRST}", 1280)
    text = browser.value("document.getElementById('result').innerText")
    assert "both stand in one record, whose epochs they share." in text
    browser.open(f"{(site / 'compare.html').as_uri()}#a={FIRST}&b={other}", 1280)
    text = browser.value("document.getElementById('result').innerText")
    assert "One of them has no verdict" in text
    browser.open(f"{(site / 'compare.html').as_uri()}#a=gone&b={FIRST}", 1280)
    assert "No such record: gone" in browser.value("document.getElementById('result').innerText")


def test_the_scripts_quantiles_of_t_are_those_of_scipy_between_the_table_too(
    browser: Browser, site: Path
) -> None:
    from scipy.stats import t

    script = (site / "compare.html").read_text(encoding="utf-8")
    function = script[script.index("  function quantile") : script.index("  function percent")]
    browser.open((site / "compare.html").as_uri(), 1280)
    for freedom in (7, 7.5, 9.3, 18.01, 44.4, 399.5, 400, 900, 1e6):
        said = browser.value(
            "(() => { const facts = JSON.parse(document.getElementById('facts').textContent);"
            f"{function} return quantile({freedom}); }})()"
        )
        assert math.isclose(said, t.ppf(0.975, freedom), rel_tol=3e-4)


def test_choosing_records_puts_them_into_the_address(browser: Browser, site: Path) -> None:
    browser.open((site / "compare.html").as_uri(), 390)
    browser.value(
        f"""for (const [name, value] of [["a", "{FIRST}"], ["b", "{SECOND}"]]) {{
          document.forms[0].elements[name].value = value;
          document.forms[0].elements[name].dispatchEvent(new Event("change", {{bubbles: true}}));
        }}"""
    )
    assert browser.value("new URLSearchParams(location.hash.slice(1)).get('b')") == SECOND
    browser.value("document.getElementById('swap').click()")
    assert browser.value("new URLSearchParams(location.hash.slice(1)).get('a')") == SECOND
    assert browser.value("document.querySelectorAll('.ruling').length") == 2
