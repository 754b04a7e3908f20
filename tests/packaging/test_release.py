"""A release is built and published only where its tests pass and its tag is its version; the image
is one for hosts of a cluster too."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text)["jobs"])


@pytest.fixture(scope="module")
def version() -> ModuleType:
    spec = importlib.util.spec_from_file_location("version", ROOT / ".ci" / "version.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def before(jobs: dict[str, Any], name: str) -> set[str]:
    """The jobs that must have passed."""
    needs = jobs[name].get("needs", [])
    direct = {needs} if isinstance(needs, str) else {*needs}
    return direct.union(*(before(jobs, one) for one in direct))


def test_nothing_is_published_before_the_tests_have_passed_and_the_tag_is_the_version(
    jobs: dict[str, Any],
) -> None:
    assert before(jobs, "publish") == {"version", "test", "docs", "wheel", "sdist", "image"}
    assert "version" in before(jobs, "wheel")
    assert any(step.get("run") == "make test LOCKED=1" for step in jobs["test"]["steps"])
    [compared] = [one["run"] for one in jobs["version"]["steps"] if "run" in one]
    assert compared == 'python3 .ci/version.py "$GITHUB_REF_NAME"'


def test_a_tag_is_held_to_every_place_that_names_the_version(
    version: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [current] = set(version.versions(ROOT).values())
    assert version.main(f"v{current}") == 0
    for wrong in ("v99.0.0", current, "main"):
        assert version.main(wrong) == 1
    for name in version.versions(ROOT):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    crates = (tmp_path / "Cargo.toml").read_text().replace(f'"{current}"', '"9.9.9"', 1)
    (tmp_path / "Cargo.toml").write_text(crates)
    capsys.readouterr()
    assert version.main(f"v{current}", tmp_path) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert version.main("v9.9.9", tmp_path) == 1


def test_the_image_has_ray_and_is_built_by_a_compiler_that_is_named() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "--require-hashes -r /locks/image.txt" in text
    locked = (ROOT / "packaging" / "locks" / "image.txt").read_text(encoding="utf-8")
    assert re.search(r"^ray==", locked, re.MULTILINE)
    assert re.search(r"^ARG RUST=\d+\.\d+\.\d+$", text, re.MULTILINE)
    assert '--default-toolchain "$RUST"' in text
    documented = (ROOT / "docs" / "reference" / "load-machines.md").read_text(encoding="utf-8")
    assert "--entrypoint ray" in documented


def test_no_step_of_the_image_goes_on_where_a_download_failed() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert not re.search(r"\|\s*(ba)?sh\b", text), (
        "the shell's status is that of the last of a pipe"
    )
    for processor in ("x86_64", "aarch64"):
        assert re.search(rf"^ *{processor}\) digest=[0-9a-f]{{64}} ;;", text, re.MULTILINE)
    assert "sha256sum --check" in text


def test_the_image_is_built_from_its_base_by_digest_and_named_by_its_own(
    jobs: dict[str, Any],
) -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == ["${BASE}", "${BASE}"]
    [build] = [
        step["run"] for step in jobs["image"]["steps"] if "docker build" in step.get("run", "")
    ]
    assert "{{.Manifest.Digest}}" in build
    assert '--build-arg BASE="$base"' in build
    assert "RepoDigests" in build


def test_a_release_has_its_documentation_and_its_bills_of_materials(jobs: dict[str, Any]) -> None:
    kept = {
        step["with"]["name"]: step["with"]["path"]
        for job in jobs.values()
        for step in job["steps"]
        if "upload-artifact" in step.get("uses", "")
    }
    assert kept["docs-site"] == "target/site"
    assert kept["bills"] == "bills"
    published = str(jobs["publish"])
    assert "dist-*" in published
    assert "bills" not in published, "an index takes wheels and source archives alone"
