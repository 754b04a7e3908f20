"""Every record and question has one place in the site, in letters that need no quoting."""

from __future__ import annotations

import re
from pathlib import Path

from history.made import keep_record
from steelyard.history.index import History, read_history
from steelyard.history.question import questions_of
from steelyard.site.address import (
    badge,
    question_feed,
    question_file,
    question_page,
    record_name,
    report_page,
)
from steelyard.site.pages import build_site
from thinned import thinned


def test_names_are_fit_for_addresses_and_differ(history: History) -> None:
    names = [record_name(one) for one in history.entries]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9.-]+", one) for one in names)
    like = [history.entries[0].model_copy(update={"path": path}) for path in ("a/b", "a-b")]
    assert record_name(like[0]) != record_name(like[1])
    assert report_page(like[0]) == f"reports/{record_name(like[0])}.html"


def test_what_belongs_to_a_question_is_called_by_it(history: History) -> None:
    question = questions_of(history.entries)[0]
    for name in (question_page(question), question_feed(question), badge(question)):
        assert question.name in name


@thinned("letters", [150, 160, 161, 300, 5000], 1)
def test_files_have_names_that_a_file_system_takes(history: History, letters: int) -> None:
    long = f"{'n' * letters}-off-against-on"
    files = {question_file(f"{long}-{digest}") for digest in ("1a2b3c4d", "5e6f7a8b")}
    assert len(files) == 2
    assert all(len(file) <= 160 for file in files)
    entry = history.entries[0].model_copy(update={"path": f"{'folder/' * letters}record"})
    other = entry.model_copy(update={"path": f"{'folder/' * letters}records"})
    assert len(record_name(entry)) <= 170
    assert record_name(entry) != record_name(other)


def test_names_that_are_short_enough_stay(history: History) -> None:
    for question in questions_of(history.entries):
        assert question_file(question.name) == question.name


def test_a_site_is_made_of_names_that_no_file_could_have(records: Path, tmp_path: Path) -> None:
    for day in (1, 2):
        keep_record(records / f"{'deep/' * 60}{day}", seed=day, study="n" * 300)
        (records / f"{'deep/' * 60}{day}" / "report.html").write_text("<!doctype html>")
    site = build_site(read_history(records), tmp_path / "site").folder
    [page] = site.glob("q/*.html")
    links = re.findall(r'href="(?!#)([^"#]+)', page.read_text())
    assert len([link for link in links if "/reports/" in link]) >= 2
    assert all((page.parent / link).is_file() for link in links)
    [feed] = site.glob("q/*.atom")
    assert feed.stem == page.stem
