"""Writes brief.pdf: question, answer, figures, doubts and limits on at most two printed pages."""

from __future__ import annotations

from pathlib import Path

from steelyard.model.errors import RecordError
from steelyard.model.files.own_directory import OwnDirectory
from steelyard.report.brief.pdf import count_pages, print_pdf
from steelyard.report.page import Brevity, render_page
from steelyard.report.source import CountLatencies, core_counts, read_source

MOST_PAGES = 2
BREVITIES = (
    Brevity(contrasts=4, doubts=12, scripts=8, characters=600),
    Brevity(contrasts=3, doubts=6, scripts=4, characters=240),
    Brevity(contrasts=2, doubts=4, scripts=0, characters=120),
)
"""The first of these whose pages are few enough is taken."""


def write_brief(record: Path, *, count_latencies: CountLatencies = core_counts) -> Path:
    """Write brief.pdf into the record directory and return its path.

    RecordError: there is no readable record, or it does not fit; SteelyardError: no browser can
    print here; UntrustedPathError: others may write into the directory.
    """
    source = read_source(record, count_latencies)
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
