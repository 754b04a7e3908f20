"""Locks hold every package that is asked for, each by the digests of its files, of no machine."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = ROOT / "packaging" / "locks"
NAMES = ("image", "development", "build", "tools")
_ENTRY = re.compile(
    r"^(?P<name>[\w.-]+)(?:\[[^\]]*\])?==(?P<version>[^\s;]+)(?: ; [^\\]*)? \\\n"
    r"(?P<digests>(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
    re.MULTILINE,
)


def locked(name: str) -> dict[str, list[str]]:
    """Package → its versions: one, or one a version of Python."""
    versions: dict[str, list[str]] = {}
    for entry in _ENTRY.finditer((LOCKS / f"{name}.txt").read_text(encoding="utf-8")):
        versions.setdefault(canonicalize_name(entry["name"]), []).append(entry["version"])
    return versions


def requirements_of(name: str) -> list[str]:
    """What the lock is made of."""
    if name in ("build", "tools"):
        lines = (LOCKS / f"{name}.in").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line and not line.startswith("#")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = {"image": "fleet", "development": "dev"}[name]
    return [*project["dependencies"], *project["optional-dependencies"][extra]]


@pytest.mark.parametrize("name", NAMES)
def test_every_package_that_is_asked_for_is_locked_at_a_version_that_fits(name: str) -> None:
    versions = locked(name)
    for requirement in map(Requirement, requirements_of(name)):
        found_versions = versions.get(canonicalize_name(requirement.name), [])
        assert found_versions, f"{requirement.name} is not locked; run .ci/lock"
        for version in found_versions:
            assert requirement.specifier.contains(version), f"{requirement}: run .ci/lock"


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_has_digests_alone_and_no_address(name: str) -> None:
    text = (LOCKS / f"{name}.txt").read_text(encoding="utf-8")
    assert _ENTRY.sub("", text).strip() == "", "every line is of an entry with its digests"
    assert "://" not in text
    assert not re.search(r"==\S*(\+|\.post\d)", text), "a build of one machine is not everywhere"


def test_the_tools_of_continuous_integration_are_named_by_their_versions() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    installed = re.findall(r"cargo install --locked (.*)", text)
    assert installed
    assert all(re.fullmatch(r"[\w-]+@\d+\.\d+\.\d+", tool) for tool in installed[0].split())
    assert all("==" in line for line in requirements_of("tools"))
    assert not re.search(r"pip install (?!.*--require-hashes)", text)
