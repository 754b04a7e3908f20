"""Every record and question has one place in the site, in letters that need no quoting."""

from __future__ import annotations

import re

from steelyard.history.index import History
from steelyard.history.question import questions_of
from steelyard.site.address import badge, question_feed, question_page, record_name, report_page


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
