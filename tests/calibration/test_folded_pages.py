"""Long pages of results are folded: large tables become CSV, and nothing of them is lost."""

from __future__ import annotations

import csv
from pathlib import Path

from thinned import thinned
from validation import causes, distances, drilled, publish, scatter, sweeps, versions
from validation.pages import folded
from validation.pages.table import table

MOST_WORDS = 1_250
"""Of a page of one result: what is read at one sitting."""
RESULTS = Path(__file__).parents[2] / "docs" / "results"
ROWS = [[f"row {n}", f"{n}.5 [{n}, {n + 1}]", "**no**"] for n in range(40)]
LONG = table(["name", "value", "beyond"], ROWS)


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(text.splitlines()))


def test_a_large_table_becomes_a_file_and_its_intervals_columns(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    files = folded.files_of(page, f"# Page\n\n## Some figures\n\n{LONG}\n\nAfter.\n")
    assert files[page] == (
        "# Page\n\n## Some figures\n\n[40 rows](page/some-figures.csv): name, value, beyond\n\n"
        "After.\n"
    )
    head, *rows = rows_of(files[tmp_path / "page" / "some-figures.csv"])
    assert head == ["name", "value", "value, low", "value, high", "beyond"]
    assert rows[3] == ["row 3", "3.5", "3", "4", "no"]
    assert len(rows) == 40


def test_small_tables_and_those_that_are_marked_stay(tmp_path: Path) -> None:
    small = table(["a", "b"], [["1", "2"]])
    text = f"# Page\n\n{small}\n\n{folded.WHOLE}{LONG}\n"
    assert folded.files_of(tmp_path / "page.md", text) == {
        tmp_path / "page.md": f"# Page\n\n{small}\n\n{LONG}\n"
    }


def test_a_table_that_is_to_leave_becomes_a_file_however_small(tmp_path: Path) -> None:
    text = "# Page\n\n## One\n\n| doubt | seen |\n|---|---|\n| a | b |\n"
    page = tmp_path / "page.md"
    assert list(folded.files_of(page, text)) == [page]
    files = folded.files_of(page, text, folded.Form(leave=("doubt",)))
    assert set(files) == {page, tmp_path / "page" / "one.csv"}
    assert "(page/one.csv)" in files[page]


def test_tables_of_one_heading_line_are_one_file_that_names_their_sections(tmp_path: Path) -> None:
    text = f"# Page\n\n## A\n\n### Of it\n\n{LONG}\n\n## B\n\n{LONG}\n"
    [_, sheet] = folded.files_of(tmp_path / "page.md", text).values()
    head, *rows = rows_of(sheet)
    assert head[0] == "section"
    assert [row[0] for row in (rows[0], rows[-1])] == ["A: Of it", "B"]
    assert len(rows) == 80


def test_columns_are_named_where_a_file_is_first_linked(tmp_path: Path) -> None:
    one, two = (table(["doubt", "seen"], [["a", "b"]] * rows) for rows in (1, 2))
    form = folded.Form(leave=("doubt",))
    text, _ = folded.files_of(tmp_path / "page.md", f"# P\n\n{one}\n\n{two}\n", form).values()
    assert text == "# P\n\n[1 row](page/p.csv): doubt, seen\n\n[2 rows](page/p.csv)\n"


def test_tables_of_one_topic_share_their_columns(tmp_path: Path) -> None:
    one = table(["beside", "x", "y"], [["CPU", "1", "2"]] * 20)
    two = table(["beside", "x", "z"], [["CPU", "3", "4"]] * 20)
    form = folded.Form(by_topic=True)
    files = folded.files_of(tmp_path / "page.md", f"# P\n\n## A\n\n{one}\n\n## B\n\n{two}\n", form)
    head, *rows = rows_of(files[tmp_path / "page" / "beside.csv"])
    assert head == ["section", "beside", "x", "y", "z"]
    assert rows[0] == ["A", "CPU", "1", "2", ""]
    assert rows[-1] == ["B", "CPU", "3", "", "4"]


def test_sections_become_pages_whose_links_still_lead_there(tmp_path: Path) -> None:
    text = (
        "# Page\n\n## In short\n\nGood.\n\n## Much of it\n\n[why](../why.md), [here](#much).\n\n"
        f"### Part\n\n{LONG}\n\n## How to repeat this\n\nAgain.\n"
    )
    files = folded.files_of(tmp_path / "page.md", text, folded.Form(apart=True))
    assert "- [Much of it](page/much-of-it.md)" in files[tmp_path / "page.md"]
    assert "Good." in files[tmp_path / "page.md"]
    assert "Again." in files[tmp_path / "page.md"]
    own = files[tmp_path / "page" / "much-of-it.md"]
    assert own.startswith("# Much of it\n\n[why](../../why.md), [here](#much).\n\n## Part\n")
    assert tmp_path / "page" / "much-of-it" / "part.csv" in files


def test_what_columns_mean_is_said_once(tmp_path: Path) -> None:
    words = "What these columns mean is said here once and for all of them."
    text = f"# P\n\n## A\n\n{words}\n\n## B\n\n{words}\n\nShort.\n\nShort.\n"
    [short] = folded.files_of(tmp_path / "page.md", text).values()
    assert short.count(words) == 1
    assert short.count("Short.") == 2


def test_what_is_out_of_date_or_left_over_is_named_and_mended(tmp_path: Path) -> None:
    files = folded.files_of(tmp_path / "page.md", f"# P\n\n## A\n\n{LONG}\n")
    assert folded.outdated(files) == ["a.csv", "page.md"]
    folded.write(files)
    assert folded.outdated(files) == []
    (tmp_path / "page" / "older.csv").write_text("")
    assert folded.outdated(files) == ["older.csv"]
    folded.write(files)
    assert folded.outdated(files) == []


PAGES = {
    "causes": causes.files,
    "distances": distances.files,
    "drilled": drilled.files,
    "sweeps": sweeps.files,
    "validation": publish.files,
    "versions": lambda: versions.files(versions.comparisons()["18-against-16"]),
    "scatter": lambda: {scatter.PAGE: scatter.PAGE.read_text(encoding="utf-8")},
}


@thinned("name", PAGES, 1)
def test_a_page_of_results_is_read_at_one_sitting(name: str) -> None:
    long = {
        path.name: words
        for path, text in PAGES[name]().items()
        if path.suffix == ".md" and (words := len(text.split())) > MOST_WORDS
    }
    assert not long
