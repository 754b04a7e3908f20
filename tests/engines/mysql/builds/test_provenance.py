"""Where builds come from, and how old they are."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

from engines.mysql.fake_packages import CHANGELOG
from steelyard.engines.mysql.builds.fetching import dated, provenance
from steelyard.model.identity import Identity

OLD = Identity("mysql", "5.7.29", 50729, "", "", "", "npm", "/x", False)


def test_a_build_whose_series_has_ended_is_for_weighing_only() -> None:
    known = provenance(OLD, "Oracle", "2020-01")
    assert known.words("2026-11-23") == (
        "built by Oracle, released 2020-01, GPLv2, end of life 2023-10-21: for weighing, not for "
        "keeping data in"
    )
    assert "keeping" not in known.words("2023-10-20")


def test_what_is_not_known_is_said_so() -> None:
    new = provenance(replace(OLD, version="26.10.0", version_number=261000))
    assert new.words("2026-11-23") == "its builder is not known, GPLv2"
    lasting = provenance(replace(OLD, kind="mariadb", version="10.11.19"), "Debian GNU/Linux")
    assert lasting.words("2026-11-23").endswith("GPLv2, end of life 2028-02-16")


def test_a_package_is_as_old_as_the_newest_entry_of_its_changelog(tmp_path: Path) -> None:
    file = tmp_path / "changelog.Debian.gz"
    assert dated(file) == ""
    file.write_bytes(gzip.compress(CHANGELOG))
    assert dated(file) == "2026-09-18"
    for broken in (
        b"no gzip",
        gzip.compress(b" -- x <y>  no day"),
        gzip.compress(CHANGELOG)[:40],
        gzip.compress(CHANGELOG)[:20] + b"\xff" * 60,
    ):
        file.write_bytes(broken)
        assert dated(file) == ""
