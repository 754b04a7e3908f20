"""Figures of the method are as their script draws them, and legible in the dark and in light."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
FIGURES = sorted((ROOT / "docs" / "method" / "figures").glob("*.svg"))
LEAST_CONTRAST = 4.5
"""Of words on their ground: WCAG 2.1, level AA."""
SVG = "{http://www.w3.org/2000/svg}"


def test_every_figure_is_as_its_script_draws_it(tmp_path: Path) -> None:
    script = (
        "import runpy, sys; from pathlib import Path\n"
        "drawn = runpy.run_path('.ci/figures.py')['FIGURES']\n"
        "[(Path(sys.argv[1]) / f'{n}.svg').write_text(d()) for n, d in drawn.items()]"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, cwd=ROOT)
    drawn = {path.name: path.read_text() for path in tmp_path.glob("*.svg")}
    kept = {path.name: path.read_text() for path in FIGURES}
    assert kept == drawn, "run .venv/bin/python .ci/figures.py"


def test_every_figure_is_shown_with_what_it_says() -> None:
    pages = [ROOT / "METHODOLOGY.md", *(ROOT / "docs" / "method").glob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert len(FIGURES) >= 4
    for path in FIGURES:
        assert re.search(rf"!\[[^\]]{{20,}}\]\([^)]*{path.name}\)", text), path.name


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_words_of_a_figure_stand_out_in_both_schemes(path: Path) -> None:
    tree = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    assert tree.find(f"{SVG}title") is not None
    assert tree.find(f"{SVG}desc") is not None
    style = tree.findtext(f"{SVG}style") or ""
    light, dark = style.partition("@media (prefers-color-scheme: dark)")[::2]
    for scheme in (light, dark.partition(".paper")[0]):
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", scheme))
        for words in ("ink", "faint"):
            assert contrast(colours[words], colours["paper"]) >= LEAST_CONTRAST
        for area in ("control", "arm", "other"):
            assert contrast(colours[area], colours["paper"]) >= 3, area


def contrast(words: str, ground: str) -> float:
    """The ratio of two colours' luminances, the lighter first."""
    dark, light = sorted(map(_luminance, (words, ground)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_rule_sees_grey_on_grey() -> None:
    assert contrast("#777777", "#888888") < 3
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
