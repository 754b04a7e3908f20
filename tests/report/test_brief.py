"""brief.pdf has at most two pages whatever the record holds, and is refused in words."""

from __future__ import annotations

import json
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from site_browser import PROGRAM
from steelyard.cli.commands.records import report
from steelyard.model.errors import RecordError, SteelyardError, UsageError
from steelyard.report import brief
from steelyard.report.brief import BREVITIES, write_brief
from steelyard.report.page import render_page
from steelyard.report.source import read_source
from thinned import thinned

Counts = Callable[[list[str], list[int]], list[int]]
MakeRecord = Callable[..., Path]
needs_browser = pytest.mark.skipif(PROGRAM is None, reason="no chromium on the path")


def pages_of(file: bytes) -> int:
    """Page objects of a PDF, those in compressed streams too."""
    streams = [part.partition(b"endstream")[0] for part in file.split(b"stream\r\n")[1:]]
    streams += [part.partition(b"endstream")[0] for part in file.split(b"stream\n")[1:]]
    texts = [file, *inflated(streams)]
    return sum(text.count(b"/Type /Page\n") + text.count(b"/Type /Page ") for text in texts)


def inflated(streams: list[bytes]) -> Iterator[bytes]:
    for stream in streams:
        try:
            yield zlib.decompress(stream)
        except zlib.error:
            continue


def crowded(directory: Path) -> None:
    """As many arms, doubts and long words as a record may hold."""
    verdict: dict[str, Any] = json.loads((directory / "verdict.json").read_text())
    words = "what was seen goes on and on " * 40
    for contrast in verdict["contrasts"]:
        contrast["sentence"] = words
        contrast["threats"] = [
            {"name": f"doubt {n} {contrast['arm']}", "seen": words, "cause": words,
             "advice": words, "invalidates": n == 0}
            for n in range(30)
        ]  # fmt: skip
    verdict["differences"]["declared"] = [[f"setting_{n}" * 5, words, words] for n in range(9)]
    (directory / "verdict.json").write_text(json.dumps(verdict))


@needs_browser
@pytest.mark.browser
@thinned("kind", ["plain", "crowded", "without a verdict"], 1)
def test_a_brief_has_at_most_two_pages(record: MakeRecord, counts: Counts, kind: str) -> None:
    arms = ("on", "off", "a" * 200, "d", "e", "f", "g") if kind == "crowded" else ("on", "off")
    effects = (0.024, 0.006, 0.01, -0.02, 0.0, 0.03)
    directory = record(arms=arms, effects=effects, epochs=8, verdict=kind != "without a verdict")
    if kind == "crowded":
        crowded(directory)
    before = sorted(directory.iterdir())
    made = write_brief(directory, count_latencies=counts)
    assert made == directory / "brief.pdf"
    assert made.read_bytes().startswith(b"%PDF-")
    assert 1 <= pages_of(made.read_bytes()) <= 2
    assert pages_of(made.read_bytes()) == brief.count_pages(made.read_bytes())
    assert sorted(directory.iterdir()) == sorted([*before, made]), "nothing is left beside it"


@needs_browser
@pytest.mark.browser
def test_pages_are_counted_as_they_are(tmp_path: Path) -> None:
    page = "<p style='break-after: page'>a</p>" * 4 + "<p>b</p>"
    printed = brief.print_pdf(page, tmp_path)
    assert brief.count_pages(printed) == pages_of(printed) == 5
    assert brief.count_pages(b"no pdf") == 0
    assert list(tmp_path.iterdir()) == []


def test_a_brief_holds_answer_figures_doubts_limits_and_place(
    record: MakeRecord, counts: Counts
) -> None:
    page = render_page(read_source(record(), counts), BREVITIES[0])
    for words in (
        "What do data checksums cost?", "With checksums off, reads are faster", "+2.65 % [",
        "205 → 200 µs", "steal or throttling", "nothing is claimed about others",
        "data_checksums: on → off", "8 clients, reads only", "AMD EPYC 7B13", "12 epochs",
        "steelyard weigh checksums --budget 2m --seed 7",
    ):  # fmt: skip
        assert words in page
    assert "<details" not in page
    assert "<script" not in page


def test_what_a_brief_leaves_out_is_counted(record: MakeRecord, counts: Counts) -> None:
    directory = record()
    crowded(directory)
    page = render_page(read_source(directory, counts), BREVITIES[2])
    assert "26 more doubts are in report.html" in page
    assert "goes on and on " * 10 not in page


def test_without_a_browser_a_brief_is_refused_with_what_to_type(
    record: MakeRecord, counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SteelyardError, match="could not make a PDF: no Chromium") as refused:
        write_brief(record(), count_latencies=counts)
    assert "apt-get install chromium" in str(refused.value)


@pytest.mark.parametrize(
    ("script", "reason"),
    [("exit 0", "it says nothing"), ("echo broken >&2; exit 3", "exit status 3: broken")],
)
def test_a_browser_that_does_not_print_is_named_with_its_words(
    record: MakeRecord,
    counts: Counts,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    script: str,
    reason: str,
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "chromium").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "chromium").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    directory = record()
    with pytest.raises(SteelyardError, match="does not print") as refused:
        write_brief(directory, count_latencies=counts)
    assert reason in str(refused.value)
    assert not (directory / "brief.pdf").exists()


def test_what_needs_more_pages_is_refused(
    record: MakeRecord, counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brief, "print_pdf", lambda *_: b"<< /Type /Pages /Count 3 >>")
    with pytest.raises(RecordError, match="could not make a PDF of 2 pages"):
        write_brief(record(), count_latencies=counts)


@needs_browser
@pytest.mark.browser
def test_the_command_prints_the_path_of_the_pdf(record: MakeRecord) -> None:
    app = typer.Typer()
    report.register(app)
    directory = record(verdict=False, epochs=1)
    (directory / "slices.jsonl").unlink()
    result = CliRunner().invoke(app, [str(directory), "--brief"])
    assert result.stdout.strip() == str(directory / "brief.pdf")
    both = CliRunner().invoke(app, [str(directory), "--brief", "--rejudge"])
    assert isinstance(both.exception, UsageError)


@needs_browser
@pytest.mark.browser
@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext on the path")
def test_a_printed_brief_can_be_read(record: MakeRecord, counts: Counts) -> None:
    made = write_brief(record(), count_latencies=counts)
    text = subprocess.run(["pdftotext", made, "-"], capture_output=True, text=True, check=True)
    assert "What it does not say" in text.stdout
