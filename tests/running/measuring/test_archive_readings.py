"""The archive's reading is the log's times what gzip leaves of it, or says why there is none."""

from __future__ import annotations

from typing import Any, cast

from steelyard.engines.engine import Instance
from steelyard.model.errors import EngineError
from steelyard.model.readings import ARCHIVE_BYTES, WAL_BYTES, Reading
from steelyard.running.measuring.arm_readings import ArchiveReadings

LOG = Reading(WAL_BYTES, "bytes", 4_000.0, per_transaction=True, measured=True)


class Server:
    """An instance whose log is at another segment at each look."""

    def __init__(self, share: float | None) -> None:
        self.share = share
        self.looks = 0
        self.asked: list[tuple[str, str]] = []

    def log_segment(self) -> str:
        self.looks += 1
        return f"{self.looks:024X}"

    def archive_share(self, first: str, last: str) -> float | None:
        self.asked.append((first, last))
        return self.share


def read(server: Any, *log: Reading) -> list[Reading]:
    archive = ArchiveReadings({"on": cast(Instance, server)})
    archive.border()
    archive.border()
    return archive.readings("on", log)


def test_it_is_the_log_of_the_arm_as_far_as_gzip_leaves_it() -> None:
    server = Server(0.25)
    [found] = read(server, LOG)
    assert found == Reading(ARCHIVE_BYTES, "bytes", 1_000.0, per_transaction=True, measured=True)
    assert server.asked == [(f"{2:024X}", f"{3:024X}")], "from the first border on"


def test_a_server_is_asked_before_the_load_already() -> None:
    server = Server(0.25)
    ArchiveReadings({"on": cast(Instance, server)})
    assert server.looks == 1


def test_where_no_segment_was_filled_it_is_missing_with_its_reason() -> None:
    [found] = read(Server(None), LOG)
    assert (found.value, found.missing) == (None, "no whole segment of log was written")
    [reset] = read(Server(0.5), Reading(WAL_BYTES, "bytes", None, "reset"))
    assert (reset.value, reset.missing) == (None, "reset")


def test_a_server_that_is_gone_by_then_leaves_no_figure_and_ends_nothing() -> None:
    server = Server(0.5)

    def gone(first: str, last: str) -> float:
        raise EngineError("could not read where the log stands")

    server.archive_share = gone  # type: ignore[method-assign]
    [found] = read(server, LOG)
    assert (found.value, found.missing) == (None, "could not read where the log stands")


def test_arms_that_do_not_tell_have_none() -> None:
    assert read(object(), LOG) == []
    assert read(Server(0.5)) == []
