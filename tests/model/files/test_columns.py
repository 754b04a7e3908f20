"""Text is measured as a terminal draws it: letters of two columns, and letters of none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from steelyard.model.files.columns import columns_of, padded

LETTERS = st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0x24FF, categories=("L", "N", "P", "Zs"))
    | st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)
    | st.sampled_from("🐘Ａｱ가\u0301\u200d"),
    max_size=30,
)


@pytest.mark.parametrize(
    ("text", "columns"),
    [("", 0), ("abc", 3), ("−4 % →", 6), ("基准", 4), ("🐘 18", 5), ("e\u0301t", 2), ("ｱ", 1)],
)
def test_letters_take_their_columns(text: str, columns: int) -> None:
    assert columns_of(text) == columns
    if "\u0301" not in text:
        assert cell_len(text) == columns


@given(LETTERS, st.integers(0, 40))
def test_padded_text_fills_its_columns(text: str, width: int) -> None:
    for side in ("left", "right"):
        whole = padded(text, width, side)
        assert columns_of(whole) == max(width, columns_of(text))
        assert whole.strip(" ") == text.strip(" ")
