"""A real browser lays the page out without cutting anything off (needs `chromium` on the path)."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from report.weighed import weigh_in_turns
from steelyard.report.page import write_report
from thinned import thinned

pytestmark = pytest.mark.browser

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=3000",
]
PROBE = """
<body><iframe id="page" style="border:0;width:{width}px;height:900px" srcdoc="{page}"></iframe>
<script>
page.onload = () => {{
  const inner = page.contentDocument;
  const seen = [...inner.querySelectorAll("svg[role=img] text")]
    .map(text => text.getBoundingClientRect()).filter(box => box.width > 0);
  document.body.textContent = "PROBE" + JSON.stringify({{
    scroll: inner.documentElement.scrollWidth,
    left: Math.min(...seen.map(box => box.left)),
    right: Math.max(...seen.map(box => box.right)),
    texts: seen.length,
    pictures: [...inner.querySelectorAll("svg[role=img]")].filter(s => s.clientWidth > 0).length,
  }}) + "EBORP";
}};
</script>
"""


def layout(page: str, width: int, directory: Path) -> dict[str, Any]:
    """What the browser says of the page, laid out `width` pixels wide, every table open."""
    if BROWSER is None:
        pytest.skip("no chromium on the path: apt-get install chromium")
    opened = page.replace("<details", "<details open")
    probe = directory / "probe.html"
    probe.write_text(PROBE.format(width=width, page=html.escape(opened)), encoding="utf-8")
    flags = [*FLAGS, f"--user-data-dir={directory / 'profile'}", "--dump-dom", probe.as_uri()]
    shown = subprocess.run(
        [BROWSER, *flags], capture_output=True, text=True, timeout=120, check=True
    )
    found = re.search(r"PROBE(\{.*?\})EBORP", html.unescape(shown.stdout))
    assert found is not None, shown.stderr
    facts: dict[str, Any] = json.loads(found[1])
    return facts


@thinned("width", [390, 719, 720, 1280], 1)
def test_nothing_is_cut_off_and_the_page_never_scrolls_sideways(
    record: Callable[..., Path],
    counts: Callable[[list[str], list[int]], list[int]],
    tmp_path: Path,
    width: int,
) -> None:
    report = write_report(record(), count_latencies=counts)
    facts = layout(report.read_text(encoding="utf-8"), width, tmp_path)
    assert facts["pictures"] == 7
    assert_fits(facts, width)


@thinned("width", [390, 1280], 1)
def test_a_page_of_turns_fits_its_width_too(
    counts: Callable[[list[str], list[int]], list[int]], tmp_path: Path, width: int
) -> None:
    directory, _ = weigh_in_turns(tmp_path)
    report = write_report(directory, count_latencies=counts)
    facts = layout(report.read_text(encoding="utf-8"), width, tmp_path)
    assert facts["pictures"] == 3 + 2 + 8 + 1, "of the verdict, turns, their seconds, the wall time"
    assert_fits(facts, width)


def assert_fits(facts: dict[str, Any], width: int) -> None:
    assert facts["scroll"] <= width
    assert facts["left"] >= 0
    assert facts["right"] <= width
    assert facts["texts"] > 60
