"""What apt is asked for, and what its answers are taken for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engines.mysql.fake_packages import FakeApt
from steelyard.engines.builds import apt
from steelyard.engines.builds.added import new_directory
from steelyard.engines.builds.apt import download, offered, unpack
from steelyard.model.errors import EngineError

FILE = "libaio1_0.3.113-4_amd64.deb"


def test_what_the_lists_offer_is_told_with_its_version(debian: FakeApt, tmp_path: Path) -> None:
    assert offered(["libaio1", "no-such", "mariadb-server-core"], tmp_path) == [
        ("libaio1", "0.3.113-4"),
        ("mariadb-server-core", "1:10.11.19-0+deb12u1"),
        ("mariadb-server-core", "1:10.11.18-0+deb12u1"),
    ]


def test_one_version_is_fetched_from_signed_indexes_only_and_written_down(
    debian: FakeApt, tmp_path: Path
) -> None:
    sums = debian.hand_out("libaio1", {"usr/lib/libaio.so.1": b"library"})
    file, brought = download("libaio1", "0.3.113-4", new_directory(tmp_path / "one"))
    assert (brought.file, brought.sha512, brought.pinned) == (FILE, sums, False)
    assert file == tmp_path / "one" / FILE
    (line,) = debian.asked
    assert line.endswith("APT::Get::AllowUnauthenticated=false libaio1=0.3.113-4")
    unpack(file, tmp_path / "tree")
    assert (tmp_path / "tree/usr/lib/libaio.so.1").read_bytes() == b"library"


def test_a_package_that_is_known_is_held_to_its_sum(
    debian: FakeApt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = debian.hand_out("libaio1", {"x": b"library"})
    monkeypatch.setattr(apt, "DEBIAN", {FILE: sums})
    assert download("libaio1", "0.3.113-4", new_directory(tmp_path / "one"))[1].pinned
    debian.hand_out("libaio1", {"x": b"another"})
    with pytest.raises(EngineError, match="damaged or is another one") as caught:
        download("libaio1", "0.3.113-4", new_directory(tmp_path / "two"))
    assert sums in (caught.value.detail or "")
    # Another distribution builds a package of the same name and version itself.
    monkeypatch.setattr(apt, "distribution", {"ID": "ubuntu"}.__getitem__)
    assert not download("libaio1", "0.3.113-4", new_directory(tmp_path / "three"))[1].pinned


def test_errors_are_quoted_without_addresses(debian: FakeApt, tmp_path: Path) -> None:
    failed = "E: Failed to fetch http://mirror.example/x  Could not connect\nW: x"
    debian.tell(errors={"apt-get": failed})
    with pytest.raises(EngineError, match=r"could not fetch .* by apt-get") as caught:
        download("libaio1", "0.3.113-4", tmp_path / "apt")
    assert caught.value.detail == "Failed to fetch (address)  Could not connect"
    assert "network" in (caught.value.hint or "")
    debian.tell(errors={"apt-get": "E: Unable to locate package libaio1"})
    with pytest.raises(EngineError) as caught:
        download("libaio1", "0.3.113-4", tmp_path / "apt")
    assert "apt-get update" in (caught.value.hint or "")


def test_a_damaged_package_is_refused(debian: FakeApt, tmp_path: Path) -> None:
    debian.tell(errors={"dpkg-deb": "not a Debian format archive"})
    with pytest.raises(EngineError, match="cannot unpack") as caught:
        unpack(tmp_path / "x.deb", tmp_path / "tree")
    assert caught.value.detail == "not a Debian format archive"


@pytest.mark.parametrize("missing", ["apt-cache", "apt-get", "dpkg-deb"])
def test_without_the_tools_the_advice_is_what_to_do_instead(
    debian: FakeApt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    calls: dict[str, Callable[[], object]] = {
        "apt-cache": lambda: offered(["libaio1"], tmp_path),
        "apt-get": lambda: download("libaio1", "1", tmp_path),
        "dpkg-deb": lambda: unpack(tmp_path / "x.deb", tmp_path),
    }
    with pytest.raises(EngineError, match=f"{missing} is not installed") as caught:
        calls[missing]()
    assert "steelyard engines add /usr/sbin" in (caught.value.hint or "")
