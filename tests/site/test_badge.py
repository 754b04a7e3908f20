"""A badge is a small picture that says the newest reading in words, a sign and a colour."""

from __future__ import annotations

import xml.etree.ElementTree as Xml

from steelyard.history.index import History
from steelyard.history.question import questions_of
from steelyard.site.feed import draw_badge

SVG = "{http://www.w3.org/2000/svg}"


def test_a_badge_is_well_formed_and_says_study_sign_and_interval(history: History) -> None:
    for question in questions_of(history.entries):
        root = Xml.fromstring(str(draw_badge(question)))
        name, said = (one.text or "" for one in root.iter(f"{SVG}text"))
        assert name == question.newest.entry.study
        assert said[0] in "▲▼=?✕"
        assert said.endswith("]")
        assert root.attrib["aria-label"].startswith(question.label)
        wide = [float(one.attrib["width"]) for one in root.iter(f"{SVG}rect")]
        assert sum(wide) == float(root.attrib["width"])
