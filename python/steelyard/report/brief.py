"""Writes brief.pdf: question, answer, figures, doubts and limits on at most two pages, printed by
the headless browser that is on this machine, if there is one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from steelyard.model.errors import RecordError, SteelyardError
from steelyard.model.files.own_directory import OwnDirectory
from steelyard.record.reader import RecordLines
from steelyard.report.page import Brevity, render_page
from steelyard.report.source import CountLatencies, core_counts, read_source

MOST_PAGES = 2
BREVITIES = (
    Brevity(contrasts=4, doubts=12, scripts=8, characters=600),
    Brevity(contrasts=3, doubts=6, scripts=4, characters=240),
    Brevity(contrasts=2, doubts=4, scripts=0, characters=120),
)
"""The first of these whose pages are few enough is taken."""

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


def write_brief(
    record: Path,
    *,
    count_latencies: CountLatencies = core_counts,
    lines: RecordLines | None = None,
) -> Path:
    """Write brief.pdf into the record directory and return its path; `lines`: as for the page.

    RecordError: there is no readable record, or it does not fit; SteelyardError: no browser can
    print here; UntrustedPathError: others may write into the directory.
    """
    source = read_source(record, count_latencies, lines)
    try:
        with OwnDirectory.open(record) as directory:
            for brevity in BREVITIES:
                pdf = print_pdf(render_page(source, brevity), record)
                if 0 < count_pages(pdf) <= MOST_PAGES:
                    directory.write("brief.pdf", pdf)
                    return record / "brief.pdf"
    except OSError as reason:
        raise RecordError(f'could not write "{record / "brief.pdf"}": {reason}') from reason
    raise RecordError(
        f"could not make a PDF of {MOST_PAGES} pages: its names and figures need more",
        hint="Open report.html in a browser and print its first page.",
    )


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
