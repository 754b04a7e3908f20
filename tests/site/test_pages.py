"""The site is a folder of pages that hold together, ask for nothing, and are made anew."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from steelyard.history.index import History, read_history
from steelyard.model.errors import RecordError, UsageError
from steelyard.site.pages import MARKER, build_site

Keep = Callable[..., Path]


class Page(HTMLParser):
    """Links, names of places, and whatever would be fetched."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: list[str] = []
        self.fetched: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if "id" in told:
            self.places.append(told["id"])
        if "href" in told:
            self.links.append(told["href"])
        if "src" in told:
            self.fetched.append(told["src"])
        if tag == "link" and told.get("rel") == "stylesheet":
            self.fetched.append(told["href"])


@pytest.fixture
def site(history: History, tmp_path: Path) -> Path:
    return build_site(history, tmp_path / "site").folder


def test_there_is_a_page_a_feed_and_a_badge_for_every_question(
    history: History, tmp_path: Path
) -> None:
    built = build_site(history, tmp_path / "site")
    assert (built.questions, built.records, built.reports) == (4, 20, 8)
    for folder, ending in (("q", ".html"), ("q", ".atom"), ("badge", ".svg")):
        assert len(list((built.folder / folder).glob(f"*{ending}"))) == 4
    assert len(list((built.folder / "reports").iterdir())) == 8


def test_every_link_leads_to_a_file_and_a_place_of_the_site(site: Path) -> None:
    pages = {file: Page(file) for file in [*site.glob("*.html"), *site.glob("q/*.html")]}
    assert len(pages) == 8
    for file, page in pages.items():
        assert len(set(page.places)) == len(page.places), file
        for link in page.links:
            parts = urlsplit(link)
            assert not parts.scheme, link
            assert not parts.netloc, link
            end = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            assert end.is_file(), f"{file}: {link}"
            if parts.fragment and end in pages and "=" not in parts.fragment:
                assert parts.fragment in pages[end].places, f"{file}: {link}"


def test_pages_fetch_nothing_and_let_only_their_own_script_run(site: Path) -> None:
    for file in [*site.glob("*.html"), *site.glob("q/*.html")]:
        text = file.read_text(encoding="utf-8")
        assert Page(file).fetched == []
        assert not re.search(r"url\(|@import|https?:(?!//www\.w3\.org/2000/svg)", text), file
        [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
        assert policy.startswith("default-src &#39;none&#39;;")
        assert policy.count("sha256-") == 1
        assert "unsafe-eval" not in policy


def test_the_wall_names_every_question_and_what_has_no_verdict_or_was_not_read(
    site: Path,
) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    for words in ("checksums: off against on", "aa: b against a", "versions: off against on"):
        assert words in text
    assert "4 questions, 20 records" in text
    assert "versions/2026-03-18T120000Z" in text.partition("Without a verdict")[2]
    assert "torn/2026-03-20T120000Z" in text.partition("Not read")[2]
    assert text.index("builds: off against on") < text.index("aa: b against a")


def test_the_page_of_a_question_has_its_step_its_table_and_its_links(site: Path) -> None:
    [file] = site.glob("q/checksums-*.html")
    text = file.read_text(encoding="utf-8")
    assert "a step at 2026-03-10 12:00" in text
    assert "steelyard weigh builds --control /builds/old/bin --arm /builds/new/bin" in text
    assert len(re.findall(r'<tr id="', text)) == 16
    links = Page(file).links
    dots = [link for link in links if link.startswith("../reports/")]
    assert len(dots) == 8 + 6 + 8 + 1, "the charts, the table, the newest verdict"
    assert sum("../compare.html#a=" in link for link in links) == 15


def test_a_site_without_records_says_what_makes_one(records: Path, tmp_path: Path) -> None:
    built = build_site(read_history(records), tmp_path / "site")
    assert "No record has a verdict yet" in (built.folder / "index.html").read_text()
    assert (built.folder / "feed.atom").is_file()


def test_a_report_that_is_a_link_is_not_published(
    keep: Keep, records: Path, tmp_path: Path
) -> None:
    (tmp_path / "private").write_text("private")
    (keep(1) / "report.html").symlink_to(tmp_path / "private")
    built = build_site(read_history(records), tmp_path / "site")
    assert built.reports == 0
    assert not any("private" in page.read_text() for page in built.folder.rglob("*.html"))


def test_words_of_records_are_no_markup(keep: Keep, records: Path, tmp_path: Path) -> None:
    directory = keep(1, machine={"hostname": "<script>alert(1)</script>", "processors": 2})
    text = (directory / "study.toml").read_text()
    (directory / "study.toml").write_text(
        text.replace("May I leave data checksums on?", "</script><img src=x onerror=alert(1)>")
    )
    site = build_site(read_history(records), tmp_path / "site").folder
    for file in site.rglob("*.html"):
        shown = file.read_text(encoding="utf-8")
        assert "<script>alert" not in shown
        assert "<img" not in shown
        assert shown.count("</script>") == shown.count("<script")


def test_what_is_gone_is_removed_when_the_site_is_made_anew(
    keep: Keep, records: Path, tmp_path: Path
) -> None:
    first, second = keep(1), keep(2, study="aa")
    for directory in (first, second):
        (directory / "report.html").write_text("a page")
    site = build_site(read_history(records), tmp_path / "site").folder
    for file in second.iterdir():
        file.unlink()
    (site / "kept.txt").write_text("of somebody")
    build_site(read_history(records), site)
    assert [file.name.split("-")[0] for file in (site / "q").glob("*.html")] == ["checksums"]
    assert len(list((site / "reports").iterdir())) == 1
    assert (site / "kept.txt").exists()


def test_a_report_that_was_made_again_is_copied_again(
    keep: Keep, records: Path, tmp_path: Path
) -> None:
    report = keep(1) / "report.html"
    report.write_text("one")
    site = build_site(read_history(records), tmp_path / "site").folder
    report.write_text("another")
    build_site(read_history(records), site)
    [copy] = (site / "reports").iterdir()
    assert copy.read_text() == "another"


def test_only_an_empty_folder_or_a_site_is_written_into(history: History, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match="holds something else than a site"):
        build_site(history, taken)
    assert [file.name for file in taken.iterdir()] == ["thesis.tex"]
    with pytest.raises(UsageError, match="not a folder"):
        build_site(history, taken / "thesis.tex")
    (tmp_path / "empty").mkdir()
    assert (build_site(history, tmp_path / "empty").folder / MARKER).is_file()


def test_a_folder_that_cannot_be_written_is_an_error(history: History, tmp_path: Path) -> None:
    site = build_site(history, tmp_path / "site").folder
    (site / "index.html").unlink()
    (site / "index.html").mkdir()
    with pytest.raises(RecordError, match="could not write the site"):
        build_site(history, site)
