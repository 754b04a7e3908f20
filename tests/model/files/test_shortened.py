"""Shortened names are short, and those that differ still do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.files.printable import LEAST_ROOM, apart

WORDS = st.text(alphabet="ab0/=_.", max_size=40)


@given(st.lists(WORDS, min_size=1, max_size=4), st.integers(LEAST_ROOM, 30))
def test_none_is_longer_than_its_room_and_all_that_fit_are_whole(
    names: list[str], room: int
) -> None:
    short = apart(names, room)
    assert all(len(text) <= room for text in short)
    assert all(text == name for name, text in zip(names, short, strict=True) if len(name) <= room)


@given(WORDS, WORDS, WORDS, st.integers(7, 30))
def test_two_names_that_differ_differ_shortened(
    common: str, first: str, second: str, room: int
) -> None:
    names = [common + first, common + second]
    assert len({*apart(names, room)}) == len({*names})


@pytest.mark.parametrize(
    ("names", "room", "shortened"),
    [
        (("default", "enable_indexscan=off"), 16, ["default", "enable_indexsca…"]),
        (
            ("shared_buffers=128MB", "shared_buffers=16GB"),
            16,
            ["…d_buffers=128MB", "…ed_buffers=16GB"],
        ),
        (("shared_buffers=1", "shared_buffers=12"), 16, ["shared_buffers=1", "…ared_buffers=12"]),
        (
            ("on db17: old one, by night", "on db17: new one, by night"),
            10,
            ["…7: old o…", "…7: new o…"],
        ),
        (("a" * 30, "a" * 31), 8, ["…aaaaa…1", "…aaaaa…2"]),
    ],
)
def test_what_differs_is_what_is_shown(
    names: tuple[str, ...], room: int, shortened: list[str]
) -> None:
    assert apart(names, room) == shortened
