"""Cells go to hosts of their kind, one at a time; lost hosts and altered files are handled."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet.matrix.hosts_in_memory import MODIFIED_NS, MemoryHost, MemoryHosts
from steelyard.fleet.matrix.matrix import ReadMatrix, read_matrix
from steelyard.fleet.matrix.run import MatrixRun, MatrixState, homes
from steelyard.model.errors import DriverError, RecordError
from steelyard.record.reader import VERDICT

TWO_BY_TWO = 'studies = ["aa", "checksums"]\nkinds = ["small", "large"]\n'


def _matrix(folder: Path, text: str) -> ReadMatrix:
    file = folder / "m.toml"
    file.write_text(text)
    return read_matrix(file)


def _run(folder: Path, text: str, *hosts: MemoryHost) -> tuple[MatrixState, list[str]]:
    said: list[str] = []
    run = MatrixRun(_matrix(folder, text), folder / "out", MemoryHosts([*hosts]), said.append)
    return run.run(pause=lambda seconds: None), said


def _how(state: MatrixState) -> dict[str, str]:
    return {name: cell.how for name, cell in state.cells.items()}


def test_every_cell_is_weighed_on_a_host_of_its_kind_and_its_record_brought_home(
    tmp_path: Path,
) -> None:
    small, large = MemoryHost("s", "small", busy=3), MemoryHost("l", "large")
    state, said = _run(tmp_path, TWO_BY_TWO, small, large)
    assert set(_how(state).values()) == {"done"}
    assert sorted(small.weighed) == ["aa-small-1", "checksums-small-1"]
    assert sorted(large.weighed) == ["aa-large-1", "checksums-large-1"]
    found = homes(state, _matrix(tmp_path, TWO_BY_TWO))
    assert sorted(found.values()) == ["large", "large", "small", "small"]
    home = tmp_path / "out" / "home" / "aa-small-1"
    assert found[home] == "small"
    assert (home / "verdict.json").stat().st_mtime_ns == MODIFIED_NS
    assert (home / "verdict.json").read_text() == "verdict of aa-small-1"
    assert (home / "deep" / "slices.jsonl").read_bytes() == b"x" * 100
    assert not [one for one in home.parent.iterdir() if one.name.startswith(".")]
    assert small.ended == large.ended == 2
    assert "begun  aa-small-1 on s" in said
    assert "done   aa-small-1 on s" in said


def test_records_of_something_else_are_not_replaced(tmp_path: Path) -> None:
    theirs = tmp_path / "out" / "home" / "aa-any-1" / "verdict.json"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("theirs")
    with pytest.raises(RecordError, match='holds "home" of something else'):
        _run(tmp_path, 'studies = ["aa"]', MemoryHost("a"))
    assert theirs.read_text() == "theirs"


def test_replicates_are_weighed_on_hosts_of_their_own(tmp_path: Path) -> None:
    hosts = [MemoryHost(name) for name in "abc"]
    state, _ = _run(tmp_path, 'studies = ["aa"]\nhosts = 3', *hosts)
    assert set(_how(state).values()) == {"done"}
    assert [len(host.weighed) for host in hosts] == [1, 1, 1]
    fewer, _ = _run(tmp_path / "out", 'studies = ["aa"]\nhosts = 3', MemoryHost("a"))
    assert sorted(_how(fewer).values()) == ["done", "waiting", "waiting"]


def test_a_machine_weighs_a_replicate_once_whatever_agent_or_cluster_it_has(
    tmp_path: Path,
) -> None:
    both = ("its boot", "box its installation")
    first = MemoryHost("box/aaaa", machine=both)
    again = MemoryHost("box/aaaa+1", machine=both)
    state, _ = _run(tmp_path, 'studies = ["aa"]\nhosts = 2', first, again)
    assert sorted(_how(state).values()) == ["done", "waiting"]
    restarted = MemoryHost("box/bbbb", machine=("another boot", "box its installation"))
    state, _ = _run(tmp_path, 'studies = ["aa"]\nhosts = 2', restarted)
    assert sorted(_how(state).values()) == ["done", "waiting"]
    assert restarted.weighed == again.weighed == []
    state, _ = _run(tmp_path, 'studies = ["aa"]\nhosts = 2', restarted, MemoryHost("other"))
    assert set(_how(state).values()) == {"done"}
    assert homes(state, _matrix(tmp_path, 'studies = ["aa"]\nhosts = 2')) == dict.fromkeys(
        [tmp_path / "out" / "home" / f"aa-any-{n}" for n in (1, 2)], ""
    )


def test_three_lost_hosts_end_a_weighing_and_no_interruption_counts_as_one(
    tmp_path: Path,
) -> None:
    matrix = _matrix(tmp_path, 'studies = ["aa"]')

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    for _ in range(4):
        with pytest.raises(KeyboardInterrupt):
            MatrixRun(matrix, tmp_path / "out", MemoryHosts([MemoryHost("a")]), print).run(
                pause=interrupt
            )
    dying = [
        MemoryHost(name, ends={"aa-any-1": DriverError("its Ray actor is gone")}) for name in "abcd"
    ]
    state, _ = _run(tmp_path, 'studies = ["aa"]', *dying)
    assert state.cells["aa-any-1"].losses == 3
    assert _how(state) == {"aa-any-1": "failed"}
    assert sum(len(host.weighed) for host in dying) == 3


def test_a_lost_host_costs_its_weighing_which_another_of_the_kind_does_anew(tmp_path: Path) -> None:
    dying = MemoryHost("a", ends={"aa-any-1": DriverError("its Ray actor is gone")})
    sound = MemoryHost("b", busy=5)
    state, said = _run(tmp_path, 'studies = ["aa"]', dying, sound)
    assert _how(state) == {"aa-any-1": "done"}
    cell = state.cells["aa-any-1"]
    assert (cell.host, cell.machine, cell.losses) == ("b", ["boot of b"], 1)
    assert 'lost   aa-any-1: host "a" was lost: its Ray actor is gone' in said
    assert dying.weighed == ["aa-any-1"]  # and nothing more


def test_a_record_that_did_not_arrive_as_it_was_is_none(tmp_path: Path) -> None:
    state, _ = _run(tmp_path, 'studies = ["aa"]', MemoryHost("a", altered=True))
    assert _how(state) == {"aa-any-1": "waiting"}
    assert "did not arrive as it was" in state.cells["aa-any-1"].why
    assert homes(state, _matrix(tmp_path, 'studies = ["aa"]')) == {}
    assert not (tmp_path / "out" / "home" / "aa-any-1").exists()


@pytest.mark.parametrize("files", [{}, {"plan.json": b"{}", "slices.jsonl": b"x"}])
def test_a_weighing_without_a_verdict_is_not_done_and_the_others_go_on(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    """It costs its host; another one of the kind weighs what is left."""
    empty, sound = MemoryHost("a", files_of=lambda cell: files), MemoryHost("b", busy=3)
    state, said = _run(tmp_path, 'studies = ["aa", "jit"]', empty, sound)
    assert _how(state) == {"aa-any-1": "done", "jit-any-1": "done"}
    assert (state.cells["aa-any-1"].host, state.cells["aa-any-1"].losses) == ("b", 1)
    assert 'lost   aa-any-1: host "a" was lost: its weighing left no verdict' in said
    assert empty.weighed == ["aa-any-1"]
    assert sorted(sound.weighed) == ["aa-any-1", "jit-any-1"]


def test_a_record_may_not_name_files_outside_itself(tmp_path: Path) -> None:
    wicked = MemoryHost("a", files_of=lambda cell: {"../../outside": b"x", VERDICT: b""})
    with pytest.raises(RecordError, match="outside its record"):
        _run(tmp_path, 'studies = ["aa"]', wicked)
    assert not (tmp_path / "out" / "outside").exists()
    assert wicked.running is None


@pytest.mark.parametrize("status", [1, 2])
def test_a_weighing_that_fails_says_its_last_words_and_is_not_tried_again(
    tmp_path: Path, status: int
) -> None:
    """1 is a crash: no cell has a condition to fail by."""
    host = MemoryHost("a", ends={"aa-any-1": status})
    state, _ = _run(tmp_path, 'studies = ["aa", "jit"]', host)
    assert _how(state) == {"aa-any-1": "failed", "jit-any-1": "done"}
    assert state.cells["aa-any-1"].why == "two\nerror: three\nDETAIL:  four"
    assert host.weighed == ["aa-any-1", "jit-any-1"]


def test_an_interrupted_matrix_goes_on_where_it_was(tmp_path: Path) -> None:
    matrix = _matrix(tmp_path, 'studies = ["aa", "jit"]')
    host = MemoryHost("a")
    looks = 0

    def interrupt(seconds: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        MatrixRun(matrix, tmp_path / "out", MemoryHosts([host]), print).run(pause=interrupt)
    assert host.running is None
    assert len(host.weighed) == 2
    state, _ = _run(tmp_path, 'studies = ["aa", "jit"]', host)
    assert set(_how(state).values()) == {"done"}
    assert host.weighed == ["aa-any-1", "jit-any-1", "jit-any-1"]
    with pytest.raises(RecordError, match="holds another matrix"):
        _run(tmp_path, 'studies = ["aa"]', host)


def test_cells_whose_kind_no_host_has_are_left_waiting(tmp_path: Path) -> None:
    state, _ = _run(tmp_path, TWO_BY_TWO, MemoryHost("s", "small"))
    assert sorted(_how(state).values()) == ["done", "done", "waiting", "waiting"]
