"""Feeds are Atom: well formed, with identities that stay, times, and links that lead somewhere."""

from __future__ import annotations

import xml.etree.ElementTree as Xml
from collections.abc import Callable
from pathlib import Path

from steelyard.history.index import History, read_history
from steelyard.history.question import questions_of
from steelyard.site.pages import MOST_ENTRIES, build_site, feed

Keep = Callable[..., Path]
ATOM = "{http://www.w3.org/2005/Atom}"


def test_a_feed_has_what_rfc_4287_demands(history: History, tmp_path: Path) -> None:
    site = build_site(history, tmp_path / "site").folder
    for file in [site / "feed.atom", *site.glob("q/*.atom")]:
        root = Xml.parse(file).getroot()
        assert root.tag == f"{ATOM}feed"
        for part in (root, *root.findall(f"{ATOM}entry")):
            for name in ("id", "title", "updated"):
                [found] = part.findall(f"{ATOM}{name}")
                assert found.text
            assert part.findtext(f"{ATOM}id", "").startswith("urn:uuid:")
        assert root.find(f"{ATOM}author/{ATOM}name") is not None
        names = [one.text for one in root.iter(f"{ATOM}id")]
        assert len(set(names)) == len(names)
        for link in root.iter(f"{ATOM}link"):
            assert (file.parent / link.attrib["href"].partition("#")[0]).is_file()


def test_the_newest_come_first_with_their_sentence_and_doubts(
    history: History, tmp_path: Path
) -> None:
    site = build_site(history, tmp_path / "site").folder
    [file] = site.glob("q/checksums-*.atom")
    root = Xml.parse(file).getroot()
    times = [one.findtext(f"{ATOM}updated") for one in root.findall(f"{ATOM}entry")]
    assert times == sorted(times, reverse=True)
    assert root.findtext(f"{ATOM}updated") == times[0] == "2026-03-16T12:00:00Z"
    first = root.findtext(f"{ATOM}entry/{ATOM}content", "")
    assert first.startswith("off is faster")
    assert first.endswith("Doubts: steal or throttling, memory or disk nearly full.")


def test_identities_are_the_same_tomorrow_and_feeds_stay_short(keep: Keep, records: Path) -> None:
    keep(1)
    [question] = questions_of(read_history(records).entries)
    made = [
        feed("a & b", "x", question.points * 60, "a b.html", lambda one: "p.html#r")
        for _ in range(2)
    ]
    assert made[0] == made[1]
    assert made[0].count("<entry>") == MOST_ENTRIES
    assert "<title>a &amp; b</title>" in made[0]
    assert 'href="a%20b.html"' in made[0]
