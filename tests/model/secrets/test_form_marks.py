"""A form of secrets is looked for only where its marks stand; looked for everywhere, it would be
found nowhere else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.secrets.test_apart import APART
from model.secrets.test_built_texts import FORMATTED, JOINED, VARIABLES
from model.secrets.test_forms import EVERY, HARMLESS
from model.secrets.test_server_quotes import QUOTES
from model.secrets.test_written_rows import COPIED, KNOWN, LISTED, POSITIONAL
from steelyard.model.secrets.forms import _FORMS, redact_forms
from steelyard.model.secrets.redaction import _folded

TEXTS = [
    *APART,
    *EVERY,
    *HARMLESS,
    *LISTED,
    *POSITIONAL,
    *KNOWN,
    *COPIED,
    *FORMATTED,
    *JOINED,
    *VARIABLES,
    *(text for text, _ in QUOTES),
]


def replacing(letter: str, other: str) -> Callable[[str], str]:
    """In place of a letter one that a pattern which ignores case takes for it."""
    return lambda text: text.replace(letter, other)


WRITTEN: list[Callable[[str], str]] = [
    *(str, str.upper, str.lower, str.title),
    *(replacing("s", "\u017f"), replacing("i", "\u0131"), replacing("I", "\u0130")),
    *(replacing("i", "\u0130"), replacing("k", "\u212a")),
]


@given(
    st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(WRITTEN)), min_size=1, max_size=3),
    st.sampled_from(["\n", " ", ""]),
)
def test_marks_change_nothing_but_the_time(
    drawn: list[tuple[str, Callable[[str], str]]], between: str
) -> None:
    text = between.join(written(text) for text, written in drawn)
    everywhere = text
    for _, without in _FORMS:
        everywhere = without(everywhere)
    assert redact_forms(text, _folded(text)) == everywhere


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("written", range(len(WRITTEN)))
def test_marks_change_nothing_in_any_sample(text: str, written: int) -> None:
    text = WRITTEN[written](text)
    everywhere = text
    for _, without in _FORMS:
        everywhere = without(everywhere)
    assert redact_forms(text, _folded(text)) == everywhere
