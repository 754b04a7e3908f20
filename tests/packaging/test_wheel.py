"""The wheel holds what users need, and weighs in an empty environment without Rust."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.postgres, pytest.mark.long]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from this tree by the release's own command."""
    out = tmp_path_factory.mktemp("dist")
    maturin = Path(sys.executable).with_name("maturin")
    words = [maturin, "build", "--release", "--locked", "--out", out]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    [built] = out.glob("*.whl")
    return built


def test_it_is_one_for_all_pythons_with_its_manual_its_studies_and_a_bill_of_materials(
    wheel: Path,
) -> None:
    assert "-cp311-abi3-" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    for ending in (
        "data/share/man/man1/steelyard.1",
        "steelyard/studies/checksums.toml",
        "steelyard/report/template.html.j2",
        "steelyard/_core.abi3.so",
    ):
        assert any(name.endswith(ending) for name in names), ending
    assert any("/sboms/" in name for name in names)
    assert not any(name.startswith(("tests/", "validation/")) for name in names)


def test_it_weighs_in_an_empty_environment_without_rust(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    bin_ = tmp_path / "empty" / "bin"
    subprocess.run([bin_ / "pip", "install", "--quiet", wheel], check=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [
            bin_ / "steelyard", "weigh", "aa", "--set", "workload.scale=1", "--budget", "20s",
            "--record", "record",
        ],
        cwd=tmp_path,
        env={**kept, "PATH": f"{bin_}:/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "record" / "report.html").is_file()
    manual = tmp_path / "empty" / "share" / "man" / "man1" / "steelyard.1"
    assert manual.is_file()
