"""A badge is a small picture that says the newest reading in words, a sign and a colour."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as Xml

from steelyard.history.index import History
from steelyard.history.question import Point, questions_of
from steelyard.site.pages import feed
from steelyard.site.pictures import draw_badge
from thinned import thinned

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


@thinned("name", ["a\x1b[31mb", "a\uffffb", "<b>&\"'", "基准", "\u202eab", "n" * 300], 1)
def test_badge_and_feeds_are_xml_whatever_a_study_is_called(history: History, name: str) -> None:
    [question, *_] = questions_of(history.entries)
    points = tuple(
        Point(point.entry.model_copy(update={"study": name}), point.reading)
        for point in question.points
    )
    renamed = dataclasses.replace(question, label=f"{name}: off against on", points=points)
    assert Xml.fromstring(str(draw_badge(renamed))).attrib["aria-label"]
    atom = feed(name, "x", points, "page.html", lambda point: "page.html#x")
    assert Xml.fromstring(atom).tag.endswith("feed")
