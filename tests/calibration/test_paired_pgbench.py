"""Alternating pgbench runs on two real servers, one with checksums and one without."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from steelyard.engines.postgres.selection import find_postgres
from validation import paired_pgbench
from validation.paired_pgbench import server, throughput, throughput_of
from validation.results import Results


def test_the_throughput_is_the_one_that_pgbench_prints() -> None:
    text = "number of clients: 8\nlatency average = 0.5 ms\ntps = 16175.77 (without initial …)\n"
    assert throughput_of(text) == 16175.77
    with pytest.raises(ValueError, match="no throughput"):
        throughput_of("pgbench: error: connection failed")


@pytest.mark.long
@pytest.mark.postgres
def test_two_servers_differ_in_checksums_and_answer_pgbench(tmp_path_factory: object) -> None:
    import tempfile

    import psycopg

    bindir = Path(find_postgres("18").identity.bindir)
    shown = []
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sypaired")))
        home.chmod(0o711)
        for slot, arm in enumerate(paired_pgbench.ARMS):
            place = home / arm
            place.mkdir(mode=0o711)
            address = stack.enter_context(server(place, bindir, slot, scale=1))
            where = f"host={address.host} port={address.port} user={address.user} dbname=postgres"
            with psycopg.connect(where) as connection:
                shown.append(
                    [
                        connection.execute(f"SHOW {name}").fetchone()[0]  # type: ignore[index]
                        for name in ("data_checksums", "shared_buffers")
                    ]
                )
            assert throughput(bindir, address, seconds=1) > 100
    assert shown == [["on", "128MB"], ["off", "128MB"]]


def test_a_session_keeps_its_weighing_and_every_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import contextlib

    results = Results(tmp_path / "paired.jsonl")
    speeds = iter([1.0, 1.0, 1000.0, 1010.0, 990.0, 1001.0])
    monkeypatch.setattr(paired_pgbench, "RESULTS", results)
    found = {"low_percent": -1.0, "high_percent": 2.0, "measured_seconds": 20.0}
    monkeypatch.setattr(paired_pgbench, "weighing", lambda words: found)
    monkeypatch.setattr(paired_pgbench, "server", lambda *place: contextlib.nullcontext())
    monkeypatch.setattr(paired_pgbench, "throughput", lambda *asked: next(speeds))
    paired_pgbench.measure(pairs=2, seconds=10, scale=50, budget="20s", seed=1)
    weighing, *pairs = list(results)
    assert (weighing["kind"], weighing["high_percent"], weighing["pair_seconds"]) == (
        "weighing",
        2.0,
        20,
    )
    assert [(one["on"], one["off"]) for one in pairs] == [(1000.0, 1010.0), (990.0, 1001.0)]
    assert len({one["session"] for one in results}) == 1
