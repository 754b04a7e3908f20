"""A scan with very many wrong blocks rereads all of them and keeps the earlier catalogue."""

from __future__ import annotations

from pathlib import Path

from steelyard._core import Segment, page_checksum, scan_segments

PAGE = 1024
BLOCKS = 12_000
ORIGIN = (7_000, 1, PAGE, 131072, 0x1000, 1_790_000_000, 0)


def query(catalogue: Path | None = None, compare: bool = False) -> dict[str, object]:
    return {
        "page_bytes": PAGE,
        "segment_blocks": 131072,
        "checksums": True,
        "threads": 1,
        "max_rate": None,
        "drop_behind": False,
        "idle": False,
        "kernel": None,
        "gaps_s": [0.05, 0.05],
        "catalogue": str(catalogue) if catalogue else None,
        "origin": ORIGIN if catalogue else None,
        "most_lsn": 1 << 40,
        "compare": compare,
        "replayed_from": None,
    }


def segment_of(path: Path) -> Segment:
    return Segment(path, "base/5/16384", 0, path.stat().st_size, 1663, 5)


def test_more_blocks_than_are_listed_are_all_looked_at_again(tmp_path: Path) -> None:
    path = tmp_path / "16384"
    path.write_bytes(b"\1" * PAGE * BLOCKS)
    stays = scan_segments([segment_of(path)], query(), lambda *_: None)  # type: ignore[arg-type]
    assert (len(stays["wrong"]), stays["uncounted"]) == (10_000, BLOCKS - 10_000)
    assert stays["unchecked"] == 0

    def written_meanwhile(read: int, blocks: int, files: int, wrong: int, again: int, _: object):
        if again:
            path.write_bytes(bytes(PAGE * BLOCKS))

    healed = scan_segments([segment_of(path)], query(), written_meanwhile)  # type: ignore[arg-type]
    assert (healed["wrong"], healed["uncounted"], healed["unchecked"]) == ([], 0, 0)


def page(lsn: int) -> bytes:
    made = bytearray(lsn.to_bytes(8, "little")[4:] + lsn.to_bytes(8, "little")[:4])
    for value in (0, 0, 100, 500, PAGE, PAGE + 4):
        made += value.to_bytes(2, "little")
    made += bytes(range(256)) * 4
    del made[PAGE:]
    made[8:10] = page_checksum(bytes(made), 0).to_bytes(2, "little")
    return bytes(made)


def test_a_file_that_could_not_be_opened_once_keeps_its_history(tmp_path: Path) -> None:
    path, catalogue = tmp_path / "16384", tmp_path / "catalogue"

    def scanned() -> tuple[list[str], list[str]]:
        told = query(catalogue, compare=catalogue.exists())
        found = scan_segments([segment], told, lambda *_: None)  # type: ignore[arg-type]
        return [each[2][0] for each in found["wrong"]], [label for label, _ in found["denied"]]

    path.write_bytes(page(500))
    segment = segment_of(path)
    assert scanned() == ([], [])
    path.unlink()
    path.symlink_to(path)  # it cannot be opened, even by root
    assert scanned() == ([], ["base/5/16384"])
    path.unlink()
    path.write_bytes(page(400))
    assert scanned() == (["backwards"], [])
