"""A stacked bar draws its parts side by side, says what fits, and its key breaks into lines."""

from __future__ import annotations

from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.scale import Linear
from steelyard.report.charts.stacked_bar import BarPart, draw_bar, draw_key, key_rows


def test_parts_stand_side_by_side_and_nothing_is_drawn_of_none() -> None:
    drawing = Drawing(200, 60, "bar", "words")
    parts = [
        BarPart("a", "one", 3.0, "3 s"),
        BarPart("b", "two", 0.0, "0 s"),
        BarPart("c", "six", 1.0, "1"),
    ]
    draw_bar(drawing, "the whole", parts, Linear(0.0, 4.0, 0, 200))
    svg = str(drawing.svg())
    assert '<rect x="0" y="19" width="149" height="26" class="one"/>' in svg
    assert '<rect x="150" y="19" width="49" height="26" class="six"/>' in svg
    assert 'class="two"' not in svg
    assert ">3 s</text>" in svg


def test_a_part_too_narrow_for_its_words_has_none() -> None:
    drawing = Drawing(200, 60, "bar", "words")
    draw_bar(drawing, "", [BarPart("a", "one", 1.0, "1 min 20 s")], Linear(0.0, 4.0, 0, 200))
    assert "1 min 20 s" not in str(drawing.svg())


def test_the_key_breaks_where_the_next_name_would_not_fit() -> None:
    parts = [BarPart(f"part number {n}", f"p{n}", 1.0, "") for n in range(5)]
    rows = key_rows(parts, 300)
    assert [[part.name for _, part in row] for row in rows] == [
        ["part number 0", "part number 1"],
        ["part number 2", "part number 3"],
        ["part number 4"],
    ]
    drawing = Drawing(300, 80, "key", "words")
    draw_key(drawing, rows, 14)
    svg = str(drawing.svg())
    assert all(part.name in svg for part in parts)
