"""Lines fit a terminal of 80 columns, and stay whole where there is no terminal."""

from __future__ import annotations

import io
import sys

import pytest

from steelyard.cli.views.text_layout import WHOLE, hanging, sentence_width


def test_what_does_not_fit_follows_two_columns_deeper() -> None:
    words = "  2. keep the primary's log " + "that long " * 9
    lines = hanging(words, 40)
    assert all(len(line) <= 40 for line in lines)
    assert lines[0].startswith("  2. keep")
    assert {line[:4] for line in lines[1:]} == {"    "}
    assert " ".join(" ".join(lines).split()) == words.strip()
    assert hanging("", 40) == [""]


def test_a_word_that_is_to_be_copied_is_not_broken() -> None:
    path = "/a/very/long/path" * 6
    assert f"  {path}" in hanging(f"record {path}", 40)


def test_on_a_pipe_sentences_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert sentence_width() == WHOLE
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "80")
    assert sentence_width() == 80
