"""Prints a page as PDF by the headless browser that is on this machine, if there is one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from steelyard.model.errors import SteelyardError

BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("microsoft-edge", "brave-browser"),
)
"""Programs that print without a window by the same switches; Firefox has none for it."""
PATIENCE_SECONDS = 120
_FLAGS = (
    *("--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--no-pdf-header-footer", "--host-resolver-rules=MAP * ~NOTFOUND"),
)
_PAGES = re.compile(rb"/Type\s*/Pages\b[^>]*?/Count\s+(\d+)|/Count\s+(\d+)[^>]*?/Type\s*/Pages\b")


def print_pdf(page: str, folder: Path) -> bytes:
    """The page as PDF. It is laid down in `folder` for the moment: a browser in a container of its
    own (snap) does not see /tmp. SteelyardError: there is no browser, or it does not print."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise SteelyardError(
            "could not make a PDF: no Chromium, Chrome or Edge is on the path",
            hint="apt-get install chromium; or open report.html in any browser and print its "
            "first page.",
        )
    with tempfile.TemporaryDirectory(prefix="brief-", dir=folder) as directory:
        source, target = Path(directory, "brief.html"), Path(directory, "brief.pdf")
        source.write_text(page, encoding="utf-8")
        # A sandbox needs another account than root; the page runs no script and loads nothing.
        rooted = ["--no-sandbox"] if os.geteuid() == 0 else []
        flags = [
            *_FLAGS,
            *rooted,
            f"--user-data-dir={directory}/profile",
            f"--print-to-pdf={target}",
        ]
        try:
            ended = subprocess.run(
                [program, *flags, source.absolute().as_uri()],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PATIENCE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise _failure(program, f"it did not end within {PATIENCE_SECONDS} s") from late
        except OSError as reason:
            raise _failure(program, reason.strerror or str(reason)) from reason
        if not target.is_file():
            lines = ended.stderr.decode("utf-8", "replace").strip().splitlines()
            message = lines[-1] if lines else "it says nothing"
            raise _failure(program, f"exit status {ended.returncode}: {message}")
        return target.read_bytes()


def _failure(program: str, reason: str) -> SteelyardError:
    return SteelyardError(
        f'could not make a PDF: "{program}" does not print',
        detail=reason,
        hint="Open report.html in any browser and print its first page.",
    )


def count_pages(pdf: bytes) -> int:
    """Pages of a PDF whose page tree is not compressed, as Chromium writes it; 0: it is another."""
    counts = [int(first or second) for first, second in _PAGES.findall(pdf)]
    return max(counts, default=0)
