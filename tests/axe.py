"""Runs axe-core, the judge of accessible pages, in the browser of the tests; npm brings it."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from engines.real_npm import NOWHERE
from site_browser import Browser
from steelyard.engines.builds.npm import Npm
from steelyard.model.errors import EngineError

PACKAGE = "axe-core@4.14.1"
GRAVE = ("serious", "critical")
RUN = """axe.run(document, {resultTypes: ["violations"]}).then(found => JSON.stringify(
  found.violations.map(one => ({id: one.id, impact: one.impact,
    nodes: one.nodes.slice(0, 3).map(node => node.html.slice(0, 200) + " " +
      (node.any[0] ? node.any[0].message : ""))}))))"""


def fetch_axe(place: Path) -> str:
    """The source of axe-core, whose sum is compared with npm's; skips where npm brings none."""
    npm = Npm("axe-core", "It comes as an npm package.", "skip the tests of it.")
    try:
        tarball, sums = npm.pack(PACKAGE, place)
    except EngineError as error:
        if not any(words in error.primary for words in NOWHERE):
            raise
        pytest.skip(f"npm brings no axe-core: {error.primary}")
    assert sums.startswith("sha512-")
    with tarfile.open(tarball) as package:
        source = package.extractfile("package/axe.min.js")
        assert source is not None
        return source.read().decode("utf-8")


def grave_findings(browser: Browser, axe: str) -> list[dict[str, Any]]:
    """What is serious or critical on the page that is open, everything on it unfolded."""
    browser.value("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    browser.value(f"{axe}; 0")
    findings: list[dict[str, Any]] = json.loads(browser.awaited(RUN))
    return [one for one in findings if one["impact"] in GRAVE]
