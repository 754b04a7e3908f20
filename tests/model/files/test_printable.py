"""What reaches a page or a feed is XML, whatever a name holds."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from xml.sax.saxutils import escape

from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.files.printable import printable_line, printable_xml


@given(st.text(st.characters() | st.sampled_from("\x00\x1b\ufffe\uffff\u202e\ud800")))
def test_any_text_is_xml_and_its_plain_letters_stay(text: str) -> None:
    written = printable_xml(text)
    whole = ET.fromstring(f"<t>{escape(written)}</t>").text or ""
    assert whole == written.replace("\r\n", "\n").replace("\r", "\n")
    plain = "".join(letter for letter in text if letter.isalnum())
    assert [letter for letter in plain if letter not in written] == []


@given(st.text())
def test_a_line_is_one(text: str) -> None:
    assert len(printable_line(text).splitlines()) <= 1
