"""The report holds everything a reader needs, in order, in one file, whatever the record holds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from steelyard.model.errors import RecordError
from steelyard.report.page import write_report

MakeRecord = Callable[..., Path]
Counts = Callable[[list[str], list[int]], list[int]]
VOID = {"meta", "br", "img", "link", "hr", "input"}


def page_of(record: Path, counts: Counts) -> str:
    return write_report(record, count_latencies=counts).read_text(encoding="utf-8")


def headings(page: str) -> list[str]:
    return [re.sub("<[^>]+>", "", h) for h in re.findall(r"<h2[^>]*>(.*?)</h2>", page)]


def change(record: Path, name: str, edit: Callable[[dict[str, Any]], None]) -> None:
    value = json.loads((record / name).read_text())
    edit(value)
    (record / name).write_text(json.dumps(value))


class Balanced(HTMLParser):
    """Notices tags that are closed in another order than they were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def test_a_page_says_the_verdict_first_and_then_everything_in_order(
    record: MakeRecord, counts: Counts
) -> None:
    page = page_of(record(), counts)
    assert headings(page) == [
        "Verdict",
        "What it does not say",
        "What was weighed",
        "Doubts",
        "Cause",
        "Epoch by epoch",
        "Throughput of every slice",
        "Latency",
        "What was compared",
        "The plan",
        "Machine",
        "Method",
        "Repeat it",
    ]
    assert page.index("With checksums off, reads are faster") < page.index("<svg")


def test_a_page_tells_the_health_of_drives_before_and_after(
    record: MakeRecord, counts: Counts
) -> None:
    made = record()
    drive = {"device": "sda", "source": "smartctl 7.3", "model": "<Maker>", "media_errors": 1}
    change(made, "environment.json", lambda facts: facts.update(drives=[drive]))
    end = {"type": "end", "epoch": 12, "began": 0, "seconds": 1.0, "whole_seconds": 2.0}
    with (made / "telemetry.jsonl").open("a") as stream:
        stream.write(json.dumps({**end, "drives": [{**drive, "media_errors": 4}]}) + "\n")
    page = page_of(made, counts)
    assert "&lt;Maker&gt;" in page
    assert "3 new media errors" in page
    assert "not computed: it does not say how much of it is used" in page


def test_a_page_tells_what_the_devices_did_or_why_it_is_not_available(
    record: MakeRecord, counts: Counts
) -> None:
    made = record()
    figure = {
        "arm": "off", "control": "on", "control_value": 29793.0, "arm_value": 47301.0, "unit": "",
        "estimate_percent": 58.8, "low_percent": 40.1, "high_percent": 79.9, "confidence": 0.95,
    }  # fmt: skip
    figures = [{**figure, "metric": name} for name in ("read_iops", "read_latency_ms")]
    told = {"names": ["nvme0n1"], "figures": figures, "shared_with_record": True}
    before = page_of(made, counts)
    change(made, "verdict.json", lambda verdict: verdict.update(devices=told))
    page = page_of(made, counts)
    assert "What device nvme0n1 did while each arm was driven, off against on" in page
    assert "after its own is not among them. The record is written there too." in page
    row = page.partition("reads (r/s)")[2].partition("</tr>")[0]
    assert "29 793" in row
    assert "+58.8 % [+40.1, +79.9]" in row
    change(made, "verdict.json", lambda verdict: verdict.update(devices={"missing": "<none>"}))
    assert "What the devices did is not available: &lt;none&gt;." in page_of(made, counts)
    change(made, "verdict.json", lambda verdict: verdict.pop("devices"))
    assert page_of(made, counts) == before, "an older record has the page that it had"


def test_what_has_to_be_said_stands_before_any_figure_once(
    record: MakeRecord, counts: Counts
) -> None:
    made = record()

    def noticed(facts: dict[str, Any]) -> None:
        for arm in facts["arms"].values():
            arm["notices"] = ['a <licence>: "say so."', "only ever tried on a double"]

    assert 'class="notice"' not in page_of(made, counts)
    change(made, "environment.json", noticed)
    page = page_of(made, counts)
    head = page.partition("<main>")[0]
    assert head.count("a &lt;licence&gt;: &#34;say so.&#34;</p>") == 1
    assert head.count("only ever tried on a double.</p>") == 1
    assert page.count('class="notice"') == 2


def test_a_page_is_well_formed(record: MakeRecord, counts: Counts) -> None:
    page = page_of(record(arms=("on", "off", "half")), counts)
    parser = Balanced()
    parser.feed(page)
    assert parser.wrong == []
    assert parser.open == []
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)


def test_a_page_needs_nothing_from_outside_and_no_script(
    record: MakeRecord, counts: Counts
) -> None:
    page = page_of(record(), counts)
    assert "<script" not in page
    assert re.search(r"https?:|\bsrc=|<link|url\(|@import", page) is None
    assert "default-src 'none'" in page


def test_every_picture_has_a_title_and_words_for_those_who_do_not_see_it(
    record: MakeRecord, counts: Counts
) -> None:
    page = page_of(record(), counts)
    pictures = re.findall(r'<svg[^>]*role="img".*?</svg>', page, re.DOTALL)
    assert len(pictures) == 14  # seven pictures, for desktop and for phone
    for picture in pictures:
        assert re.search(r"<title>.+</title><desc>.+</desc>", picture)


def test_the_estimate_is_always_shown_with_its_interval(record: MakeRecord, counts: Counts) -> None:
    directory = record()
    contrast = json.loads((directory / "verdict.json").read_text())["contrasts"][0]
    page = page_of(directory, counts)
    shown = [f"{contrast[key]:+.2f}" for key in ("estimate_percent", "low_percent", "high_percent")]
    assert f"{shown[0]} % [{shown[1]}, {shown[2]}]" in page
    assert "no interval" in page  # the cause that has none says so


def test_the_estimand_the_command_and_the_seed_are_printed(
    record: MakeRecord, counts: Counts
) -> None:
    page = page_of(record(), counts)
    assert "the mean over the restarts of this weighing, on this machine, slots at random" in page
    assert "Nothing is claimed about other hours or machines" in page
    assert "steelyard weigh checksums --budget 2m --seed 7" in page
    assert "all 388 settings were compared" in page
    assert "gcc 14.2.1" in page


def test_threats_are_told_with_what_was_seen_cause_and_advice_the_fatal_ones_first(
    record: MakeRecord, counts: Counts
) -> None:
    mild = {"name": "steal", "seen": "s1", "cause": "c1", "advice": "a1", "invalidates": False}
    fatal = {"name": "wrong", "seen": "s2", "cause": "c2", "advice": "a2", "invalidates": True}
    page = page_of(record(threats=[mild, fatal]), counts)
    assert page.index("c2") < page.index("c1")
    assert "makes the verdict invalid" in page


def test_no_threats_is_said_and_is_not_called_proof(record: MakeRecord, counts: Counts) -> None:
    page = page_of(record(threats=[]), counts)
    assert "None of the known threats was seen" in page


def test_a_record_without_a_verdict_claims_no_result(record: MakeRecord, counts: Counts) -> None:
    page = page_of(record(verdict=False, epochs=3), counts)
    assert "no verdict yet" in page
    assert "Epoch by epoch" not in headings(page)
    assert "Throughput of every slice" in headings(page)


def test_a_record_with_only_a_plan_gets_a_page(record: MakeRecord, counts: Counts) -> None:
    directory = record(verdict=False, epochs=1)
    for name in ("slices.jsonl", "telemetry.jsonl", "environment.json", "study.toml"):
        (directory / name).unlink()
    page = page_of(directory, counts)
    assert "no verdict yet" in page
    assert "Throughput of every slice" not in headings(page)


def test_one_epoch_is_shown_without_an_interval(record: MakeRecord, counts: Counts) -> None:
    page = page_of(record(epochs=1), counts)
    assert "no interval" in page
    assert "1 epoch," in page


def test_missing_causes_are_said_to_be_missing(record: MakeRecord, counts: Counts) -> None:
    assert "No causes were measured" in page_of(record(causes=False), counts)


def test_three_arms_keep_their_colours_and_every_contrast_is_shown(
    record: MakeRecord, counts: Counts
) -> None:
    page = page_of(record(arms=("on", "off", "half")), counts)
    assert page.count('class="ruling') == 2
    assert "half against on" in page
    for number, arm in enumerate(("on", "off", "half")):
        assert re.search(rf'<span class="arm{number}">(?:<i></i>|<svg.*?</svg>){arm}', page)


def test_an_invalid_and_unbounded_verdict_is_drawn(record: MakeRecord, counts: Counts) -> None:
    directory = record()

    def unbound(verdict: dict[str, Any]) -> None:
        contrast = verdict["contrasts"][0]
        contrast.update(verdict="invalid", high_percent=None)
        contrast["details"]["epochs"][3].update(d=None, throughput={"on": None, "off": None})

    change(directory, "verdict.json", unbound)
    page = page_of(directory, counts)
    assert "+∞" in page
    assert "lost" in page
    assert "✕" in page


def test_undeclared_differences_are_listed(record: MakeRecord, counts: Counts) -> None:
    directory = record()
    change(
        directory,
        "verdict.json",
        lambda v: v["differences"].update(undeclared=[["work_mem", "4MB", "8MB"]]),
    )
    page = page_of(directory, counts)
    assert "also differ where nothing was declared" in page
    assert "8MB" in page


def test_a_resumed_and_an_interrupted_weighing_say_so(record: MakeRecord, counts: Counts) -> None:
    directory = record()
    change(directory, "verdict.json", lambda v: v.update(resumed=True, interrupted=True))
    change(directory, "plan.json", lambda p: p.update(epochs=18))
    page = page_of(directory, counts)
    assert "interrupted and resumed" in page
    assert "judged on 12 of 18 epochs" in page


def edit_line(file: Path, number: int, **facts: Any) -> None:
    """Change facts of one line of a record's file."""
    lines = file.read_text().splitlines()
    lines[number] = json.dumps({**json.loads(lines[number]), **facts})
    file.write_text("\n".join(lines) + "\n")


def happenings(page: str) -> list[tuple[str, str]]:
    """Epoch and what happened, as the table on the page has it."""
    table = page.partition('<table class="happenings">')[2].partition("</table>")[0]
    return re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', table)


def test_what_happened_in_the_course_is_told_epoch_by_epoch(
    record: MakeRecord, counts: Counts
) -> None:
    directory = record(epochs=4, slices_per_epoch=10)
    telemetry, slices = directory / "telemetry.jsonl", directory / "slices.jsonl"
    crash = {"outcome": "crashed: off", "error": ["arm off died", "SQLSTATE 57P01 (8)."]}
    edit_line(telemetry, 0, **crash)
    edit_line(telemetry, 1, host=[["steal or throttling", "9 % was stolen"]])
    edit_line(telemetry, 3, attempt=2)
    edit_line(slices, 45, dropped="machine suspended", arm="on")
    edit_line(slices, 46, capped=2, arm="off")
    edit_line(slices, 47, capped=1, arm="off")
    with telemetry.open("a") as stream:
        stream.write(json.dumps({"type": "event", "epoch": 3, "event": "resumed"}) + "\n")
    page = page_of(directory, counts)
    assert happenings(page) == [
        ("1", "crashed: off: arm off died SQLSTATE 57P01 (8)."),
        ("2", "steal or throttling: 9 % was stolen"),
        ("3", "1 slice of on was dropped: machine suspended"),
        ("3", "3 clients of off did not finish in time and were cancelled"),
        ("4", "resumed"),
        ("4", "begun 2 times; only the last attempt counts"),
    ]
    assert "something happened in this epoch" in page
    assert page.count('class="dot happened solid"') == 3 * 2, "desk and phone; 4 has no slice"


def test_a_weighing_in_which_nothing_happened_has_no_table_of_it(
    record: MakeRecord, counts: Counts
) -> None:
    page = page_of(record(), counts)
    assert "What was out of the ordinary" not in page
    assert "something happened in this epoch" not in page


def test_clients_that_were_given_up_are_counted_beside_the_interval(
    record: MakeRecord, counts: Counts
) -> None:
    directory = record()
    assert "clients given up" not in page_of(directory, counts)
    given_up = {"on": 0, "off": 3}
    change(
        directory,
        "verdict.json",
        lambda v: v["contrasts"][0]["details"].update(capped=given_up),
    )
    page = page_of(directory, counts)
    assert "clients cancelled, since they did not finish in time after a slice" in page
    assert "on 0, off 3" in page


def test_slices_of_a_torn_attempt_are_not_drawn(record: MakeRecord, counts: Counts) -> None:
    directory = record(epochs=2, slices_per_epoch=10)
    torn = json.loads((directory / "slices.jsonl").read_text().splitlines()[0])
    with (directory / "slices.jsonl").open("a") as stream:
        stream.write(json.dumps({**torn, "attempt": 2}) + "\n")
        stream.write(json.dumps({**torn, "epoch": 2}) + "\n")
        stream.write(json.dumps({**torn, "kind": "warmup"}) + "\n")
    assert "40 slices in 2 epochs" in page_of(directory, counts)


def test_hostile_names_are_shown_and_never_run(record: MakeRecord, counts: Counts) -> None:
    evil = "<script>alert(1)</script>\"'&"
    directory = record(arms=(evil, "</svg><b>off"))
    change(directory, "plan.json", lambda p: p.update(command=evil, placement_why=evil))
    change(directory, "verdict.json", lambda v: v.update(sentence=evil, record=evil))
    change(directory, "verdict.json", lambda v: v["contrasts"][0].update(sentence=evil))
    change(directory, "environment.json", lambda e: e["machine"].update(hostname=evil))
    page = page_of(directory, counts)
    assert "<script" not in page
    assert "</svg><b>" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.long
def test_a_hundred_thousand_slices_fit_in_two_megabytes(record: MakeRecord) -> None:
    directory = record(epochs=40, slices_per_epoch=1250)

    def quick(latencies: list[str], edges_ns: list[int]) -> list[int]:
        return [len(latencies)] * (len(edges_ns) - 1)

    report = write_report(directory, count_latencies=quick)
    page = report.read_text(encoding="utf-8")
    assert report.stat().st_size <= 2_000_000
    assert "5 000 of 100 000 slices drawn" in page
    assert page.count("h0") <= 2 * 5_000 + 100


def test_what_is_no_record_is_refused(tmp_path: Path, counts: Counts) -> None:
    with pytest.raises(RecordError, match="not a record"):
        write_report(tmp_path, count_latencies=counts)
