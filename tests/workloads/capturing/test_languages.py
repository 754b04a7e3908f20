"""Logs in other languages are read by PostgreSQL's own translations."""

from __future__ import annotations

from collections import defaultdict

import pytest

from steelyard.workloads.capturing.logs.entry import LogEntry
from steelyard.workloads.capturing.logs.languages import _tables, in_english, words

LANGUAGES = ["de", "es", "fr", "it", "ja", "ka", "ko", "ru", "sv", "uk", "zh_CN"]


def test_the_table_has_the_languages_that_the_page_names() -> None:
    assert list(_tables()) == LANGUAGES


def test_no_word_of_one_language_means_something_else_in_another() -> None:
    meanings = defaultdict[str, set[str]](set)
    for table in _tables().values():
        for english, translations in table.items():
            for translated in translations if english.isupper() else ():
                meanings[translated].add(english)
    # Georgian has one word for two; the graver one counts.
    double = {word: english for word, english in meanings.items() if len(english) > 1}
    assert list(double.values()) == [{"NOTICE", "WARNING"}]
    assert {words()[word] for word in double} == {"WARNING"}
    assert not {"LOG", "ERROR", "FATAL", "PANIC", "STATEMENT"} & set(words())


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_comes_back_in_english(language: str) -> None:
    """Whatever language the table's others are in, and whatever a statement says."""
    table = _tables()[language]
    for english, translations in table.items():
        if english.isupper():
            continue
        values = ["0.123", "S_1/C_1", "select 'Dauer: 1.0 ms' where a = $1\n-- x: y"]
        count = english.count("%s")
        filled = values[:1] if english == "duration: %s ms" else values[3 - count :]
        if english.startswith("duration:"):
            filled = [values[0], *values[3 - count + 1 :]] if count > 1 else values[:1]
        for translated in translations:
            if english.startswith("Parameters"):
                continue
            text, expected = translated, english
            for value in filled:
                text, expected = text.replace("%s", value, 1), expected.replace("%s", value, 1)
            [entry] = in_english([LogEntry("1", 0.0, table.get("LOG", ["LOG"])[0], text, "")])
            assert entry.severity == "LOG"
            assert entry.message == expected, (language, translated)


@pytest.mark.parametrize("language", LANGUAGES)
def test_parameters_keep_their_values(language: str) -> None:
    table = _tables()[language]
    [statement] = table.get("duration: %s ms  statement: %s", ["duration: %s ms  statement: %s"])
    text = statement.replace("%s", "1.5", 1).replace("%s", "select $1")
    values = "$1 = 'Dauer: 1.0 ms', $2 = NULL"
    for translated in table["Parameters: %s"]:
        for label in (translated, translated[0].upper() + translated[1:]):  # since 16
            detail = label.replace("%s", values)
            [entry] = in_english([LogEntry("1", 0.0, "LOG", text, detail)])
            assert entry.message == "duration: 1.5 ms  statement: select $1"
            assert entry.detail == f"Parameters: {values}"


def test_english_and_unknown_messages_stay_as_they_are() -> None:
    entries = [
        LogEntry("1", 0.0, "LOG", "statement: select 'Dauer: 0.1 ms  Anweisung: x'", ""),
        LogEntry("1", 0.0, "LOG", "süre: 0,1 ms  deyim: select 1", ""),
        LogEntry("1", 0.0, "ERROR", "Dauer: 0.1 ms", ""),
    ]  # fmt: skip
    assert list(in_english(entries)) == entries
