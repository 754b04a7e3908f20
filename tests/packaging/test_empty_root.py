"""README's first line works on the wheel, in a root that has Python and nothing else, and in the
image that the Dockerfile's steps make of such a root."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "empty_root"
IMAGE = ROOT / ".ci" / "image"
SKIPPED = 77
PATIENCE_SECONDS = 1800


@pytest.mark.long
def test_the_first_line_of_the_readme_weighs_in_an_empty_root(tmp_path: Path) -> None:
    first = (ROOT / "README.md").read_text(encoding="utf-8").partition("```\n")[2].split("\n")[0]
    words = first.partition("#")[0].split()
    assert words[:2] == ["uvx", "steelyard"]
    built = subprocess.run(
        [Path(sys.executable).with_name("maturin"), "build", "--release", "--locked",
         "--out", str(tmp_path)],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    if built.returncode:
        pytest.skip(f"no wheel can be built here: {built.stderr.strip().splitlines()[-1]}")
    [wheel] = tmp_path.glob("*.whl")
    require_verdict([str(SCRIPT), str(wheel), *words[2:], "--budget", "20s"])


@pytest.mark.long
def test_the_steps_of_the_dockerfile_make_an_image_that_weighs() -> None:
    require_verdict([str(IMAGE)])


def require_verdict(command: list[str]) -> None:
    """Of a script that weighs somewhere; skips where it cannot."""
    weighed = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    if weighed.returncode == SKIPPED:
        pytest.skip(weighed.stdout.strip().splitlines()[-1])
    assert weighed.returncode == 0, weighed.stdout[-2000:] + weighed.stderr[-2000:]
    assert "report" in weighed.stdout
    assert "took" in weighed.stdout


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (SCRIPT, "the wheel is not tried in an empty root"),
        (IMAGE, "the image is not built"),
    ],
)
def test_where_it_cannot_be_had_the_script_says_what_is_missing(
    tmp_path: Path, script: Path, words: str
) -> None:
    wheel = tmp_path / "steelyard.whl"
    wheel.write_bytes(b"")
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "dirname", "realpath", "id"):
        (tools / name).symlink_to(
            next(p for d in ("/usr/bin", "/bin") if (p := Path(d) / name).exists())
        )
    refused = subprocess.run(
        ["bash", str(script), str(wheel)],
        env={**os.environ, "PATH": str(tools)}, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert refused.returncode == SKIPPED
    assert words in refused.stdout
