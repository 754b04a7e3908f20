"""The end of the log is the last page that continues it, and digests tell histories apart."""

from __future__ import annotations

from pathlib import Path

from steelyard.integrity.scrub.wal import log_end, named_end, record_digest

MB = 1 << 20
PAGE = 8192


def segment(directory: Path, timeline: int, number: int, pages: int, at: int | None = None) -> None:
    """A segment of which `pages` pages are written; `at`: what a recycled one was before."""
    content = bytearray(MB)
    for page in range(pages):
        address = (number if at is None else at) * MB + page * PAGE
        content[page * PAGE + 8 : page * PAGE + 16] = address.to_bytes(8, "little")
        content[page * PAGE + 16 : page * PAGE + 24] = bytes([page % 251, timeline]) * 4
    content[36:40] = PAGE.to_bytes(4, "little")
    (directory / "pg_wal" / f"{timeline:08X}{0:08X}{number:08X}").write_bytes(content)


def test_the_log_ends_at_the_last_page_that_leads_on(tmp_path: Path) -> None:
    (tmp_path / "pg_wal").mkdir()
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) is None
    segment(tmp_path, 2, 4, 128)
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) is None, "the segment it starts in is missing"
    segment(tmp_path, 2, 3, 128)
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) == 5 * MB
    segment(tmp_path, 2, 5, 7)
    segment(tmp_path, 2, 6, 128)  # no page leads there
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) == 5 * MB + 7 * PAGE
    segment(tmp_path, 2, 5, 128, at=1)
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) == 5 * MB, "recycled"
    segment(tmp_path, 1, 5, 128)
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) == 5 * MB, "another timeline"
    segment(tmp_path, 3, 5, 9)
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) == 5 * MB + 9 * PAGE, "one that followed"
    (tmp_path / "pg_wal" / f"{2:08X}{0:08X}{4:08X}").write_bytes(b"")
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) == 4 * MB


def test_the_log_of_an_archive_ends_where_its_names_end() -> None:
    names = [f"{1:08X}{0:08X}{number:08X}" for number in (3, 4, 6)]
    assert named_end(names, 3 * MB + 500, 1, MB) == 5 * MB
    assert named_end(names, 2 * MB, 1, MB) is None
    assert named_end(names, 3 * MB, 2, MB) is None


def test_a_digest_tells_two_histories_apart_while_the_log_is_there(tmp_path: Path) -> None:
    (tmp_path / "pg_wal").mkdir()
    at = 3 * MB + 2 * PAGE + 400
    assert record_digest(tmp_path, at, 2, MB) == 0
    segment(tmp_path, 2, 3, 128)
    file = tmp_path / "pg_wal" / f"{2:08X}{0:08X}{3:08X}"
    digests = []
    for last in (1, 2):
        content = bytearray(file.read_bytes())
        content[at % MB : at % MB + 114] = (
            (114).to_bytes(4, "little") + bytes([9]) * 109 + bytes([last])
        )
        file.write_bytes(content)
        digests.append(record_digest(tmp_path, at, 2, MB))
        assert digests[-1] == record_digest(tmp_path, at, 2, MB) != 0
    assert digests[0] != digests[1]
    segment(tmp_path, 2, 3, 128, at=1)
    assert record_digest(tmp_path, at, 2, MB) == 0
