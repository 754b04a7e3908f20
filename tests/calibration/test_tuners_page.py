"""docs/reference/tune.md compares what is proposed today with what other tools proposed."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.model.identity import Identity
from steelyard.tuning.profile.proposing import Accepting, read_allowed_settings
from tuning.profile.accepting import ALLOWED
from validation import tuners
from validation.pages.tuners import ALIKE, BY_SIZE, Proposals, by_size, page_with_tables
from validation.tuners import BUILD, EVERY_SERVER, PAGE, RESULTS, SERVERS, tables

IDENTITY = Identity("postgres", "18.4", 180004, "gcc", "", "", "bundle", "/bin", False)
MARKS = f"{BY_SIZE}old\n<!-- end of figures -->\n{ALIKE}old\n<!-- end of figures -->\n"


@pytest.mark.postgres
def test_our_columns_are_what_the_program_proposes_today() -> None:
    kept = PAGE.read_text(encoding="utf-8"), EVERY_SERVER.read_text(encoding="utf-8")
    accepting = read_allowed_settings("postgres", BuildRequest(BUILD, None), None)
    assert kept == tables(kept[0], accepting), "use .venv/bin/python -m validation.tuners"


def test_every_tool_answered_for_every_server() -> None:
    kept = list(RESULTS)
    assert [one["key"] for one in kept] == ["pgtune", "timescaledb-tune"]
    for one in kept:
        assert list(one["proposals"]) == [server.key for server in SERVERS]
        assert one["version"]
        assert one["taken"]
        assert all("shared_buffers" in told for told in one["proposals"].values())


def test_of_the_nine_servers_each_gets_a_profile_or_how_many_clients_fit() -> None:
    proposals = list(tuners.ours(Accepting(IDENTITY, ALLOWED)))
    assert proposals[0] == {"": "refused: 23 clients fit"}
    assert all(one["shared_buffers"] for one in proposals[1:])


def test_a_setting_has_a_line_a_tool_where_it_varies_and_else_a_column_a_tool() -> None:
    first = Proposals("ours", "", {"a": {"work_mem": "8192kB"}, "b": {"work_mem": "16MB"}, "c": {}})
    second = Proposals(
        "other", "1.0", {"a": {"": "refused"}, "b": {"jit": "off"}, "c": {"jit": "off"}}
    )
    defaults = {"work_mem": "4MB", "jit": "on"}
    names, both = ["a", "b", "c"], [first, second]
    page = page_with_tables(MARKS, names, both, defaults, names)
    assert "| `work_mem` | ours | 8MB | 16MB | (4MB) |" in page
    assert "|  | other | refused | (4MB) | (4MB) |" in page
    fewer = page_with_tables(MARKS, names, both, defaults, ["a", "c"])
    assert "| setting | tool | a | c |" in fewer
    assert "| `work_mem` | ours | 8MB | (4MB) |" in fewer
    assert by_size(names, both, defaults)[1:] == [
        ["work_mem", "ours", "8MB", "16MB", "(4MB)"],
        ["work_mem", "other", "refused", "(4MB)", "(4MB)"],
    ]
    assert "| setting | ours | other (1.0) |" in page
    assert "| `jit` | (on) | off |" in page
    assert "old" not in page


def test_a_tool_that_is_not_named_is_not_run_and_its_answers_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "tune.md"
    page.write_text(MARKS, encoding="utf-8")
    monkeypatch.setattr(tuners, "PAGE", page)
    monkeypatch.setattr(tuners, "EVERY_SERVER", tmp_path / "tune.csv")
    monkeypatch.setattr(tuners, "read_allowed_settings", lambda *_: Accepting(IDENTITY, ALLOWED))
    monkeypatch.setattr("sys.argv", ["tuners"])
    before = RESULTS.path.read_bytes()
    assert tuners.main() == 0
    assert RESULTS.path.read_bytes() == before
    assert "| `work_mem` | ours | refused | (4MB) |" in page.read_text(encoding="utf-8")
