"""A backup_manifest gives the end of the log that its backup needs."""

from __future__ import annotations

from pathlib import Path

from steelyard.integrity.scrub.backup.archive_paths import manifest_end


def test_a_manifest_says_where_its_log_ends(tmp_path: Path) -> None:
    manifest = tmp_path / "backup_manifest"
    assert manifest_end(manifest) is None
    ranges = '{"Timeline": 1, "Start-LSN": "0/2000028", "End-LSN": "1/2000120"}'
    manifest.write_text('{"Files": [' + " " * 100_000 + f'],\n"WAL-Ranges": [\n{ranges}\n]}}')
    assert manifest_end(manifest) == (1 << 32) + 0x2000120
