"""The documentation is a site that opens from disk, search included, and fetches nothing."""

from __future__ import annotations

import importlib.util
import runpy
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from site_browser import PROGRAM, Browser

ROOT = Path(__file__).parents[2]
NEEDED = ("sphinx", "furo", "myst_parser")
PATIENCE_SECONDS = 60
FEWEST_ANSWERS = 3
MOST_WORDS = 100_000
NOT_COUNTED = ("docs/decisions/", "docs/reference/commands.md", "docs/reference/record.md")
"""Dated notes, which are not changed any more, and what the program prints of itself."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    site = tmp_path_factory.mktemp("documentation") / "site"
    made = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "site.py"), str(site)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return site


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    if PROGRAM is None:
        pytest.skip("no chromium on the path: apt-get install chromium")
    with Browser(tmp_path) as opened:
        yield opened


@pytest.mark.long
@pytest.mark.browser
def test_the_site_opens_from_disk_and_its_search_answers(built: Path, browser: Browser) -> None:
    for page in ("index.html", "examples/wall/index.html", "examples/report/report.html"):
        browser.open((built / page).as_uri(), 1280)
        assert not [
            address for address in browser.asked if not address.startswith(("file:", "data:"))
        ]
    browser.open(f"{(built / 'search.html').as_uri()}?q=ledger", 390)
    end = time.monotonic() + PATIENCE_SECONDS
    answers = 0
    while answers < FEWEST_ANSWERS and time.monotonic() < end:  # they come one by one
        answers = browser.value("document.querySelectorAll('#search-results li').length")
    assert answers >= FEWEST_ANSWERS


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize("page", ["index", "METHODOLOGY", "docs/results/validation"])
def test_no_page_scrolls_sideways_on_a_phone(built: Path, browser: Browser, page: str) -> None:
    browser.open((built / f"{page}.html").as_uri(), 390)
    assert browser.value("document.documentElement.scrollWidth") <= 390


def test_a_link_that_leads_nowhere_and_what_is_fetched_are_named(tmp_path: Path) -> None:
    site: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "site.py"))
    (tmp_path / "there.html").write_text('<a href="gone.html">x</a><a href="there.html#x">y</a>')
    (tmp_path / "page.html").write_text('<script src="https://example.org/x.js"></script>')
    (tmp_path / "style.css").write_text("@font-face { src: url(https://example.org/f.woff) }")
    assert sorted(site["faults_of"](tmp_path)) == [
        "page.html: loads https://example.org/x.js",
        "style.css: fetches from elsewhere",
        "there.html: leads to gone.html, which is not there",
    ]


def test_sites_that_are_built_at_once_share_no_folder(tmp_path: Path) -> None:
    site: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "site.py"))
    parts: dict[str, Any] = site["build"].__globals__
    sources: list[Path] = []
    parts["lay_out"] = sources.append
    refusing = SimpleNamespace(run=lambda *_, **__: SimpleNamespace(returncode=1))
    parts["subprocess"] = refusing
    for name in ("first", "second"):
        assert site["build"](tmp_path / name) == ["Sphinx refused the pages, as it said above"]
    assert len({*sources}) == 2
    assert not any(source.is_relative_to(ROOT) or source.exists() for source in sources)


def test_the_documents_are_no_novel() -> None:
    words = sum(
        len(path.read_text(encoding="utf-8").split())
        for path in (ROOT / "docs").rglob("*.md")
        if not path.relative_to(ROOT).as_posix().startswith(NOT_COUNTED)
    )
    assert words <= MOST_WORDS
