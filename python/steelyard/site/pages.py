"""Makes the site: a wall, a page a question, hosts, one that compares, Atom feeds, badges, reports.

Every page opens from disk, asks for nothing from outside, and carries its style and script within
itself; a policy in its head lets that one script run and nothing else. What is looked at stands in
the address. The reports of records are copied in, so that the folder can be moved or published.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from steelyard.fleet.hosts import across
from steelyard.fleet.machines import WhichMachine, which_machine
from steelyard.history.entry import Entry
from steelyard.history.export import iso
from steelyard.history.index import History
from steelyard.history.question import Point, QuestionHistory, questions_of
from steelyard.model.errors import RecordError, UsageError
from steelyard.model.files.bounded_json import open_regular
from steelyard.model.files.own_directory import OwnDirectory
from steelyard.model.files.printable import printable_xml
from steelyard.model.price import Price
from steelyard.report.page import style_sheet, templates
from steelyard.site import address
from steelyard.site.address import sentence
from steelyard.site.comparison_pages import compared_facts, show_machines
from steelyard.site.overview_pages import FleetShown, WallShown, show_fleet, show_wall
from steelyard.site.pictures import draw_badge
from steelyard.site.question_page import QuestionShown, show_question

_HERE = Path(__file__).parent
MARKER = ".steelyard-site"
"""In every folder that is a site: only such a folder, or an empty one, is written into."""
_OURS = ("q", "badge", "reports")
SCRIPTS = ("wall.js", "keys.js", "compare.js")
"""One a page."""
MOST_ENTRIES = 50
"""Of a feed: its newest answers."""
_FEED = Markup(
    '<?xml version="1.0" encoding="utf-8"?>\n'
    '<feed xmlns="http://www.w3.org/2005/Atom">\n<id>{id}</id>\n<title>{title}</title>\n'
    "<updated>{updated}</updated>\n<author><name>Steelyard</name></author>\n"
    '<link rel="alternate" href="{page}"/>\n{entries}</feed>\n'
)
_ENTRY = Markup(
    "<entry>\n<id>{id}</id>\n<title>{title}</title>\n<updated>{updated}</updated>\n"
    '<link rel="alternate" href="{page}"/>\n<content type="text">{words}</content>\n</entry>\n'
)


Rooms = dict[str, OwnDirectory]
"""The site's folder, under "", and those in it by their names."""


@dataclass(frozen=True)
class Built:
    """What was made."""

    folder: Path
    questions: int
    records: int
    reports: int
    """Copied in; records without a report.html have none."""


def build_site(history: History, folder: Path, prices: Mapping[str, Price] | None = None) -> Built:
    """Make the site of a history in `folder`, and remove what an earlier one left there. `prices`:
    host or kind of host → price, in place of those in the records.

    UsageError: the folder holds something else; RecordError: it cannot be written;
    UntrustedPathError: it, or a folder of the site in it, is a link or open to other accounts.
    """
    _require_ours(folder)
    questions = questions_of(history.entries)
    try:
        with ExitStack() as opened:
            rooms: Rooms = {}
            for name in ("", *_OURS):
                if not (folder / name).is_symlink():
                    OwnDirectory.make(folder / name)
                rooms[name] = opened.enter_context(OwnDirectory.open(folder / name))
            rooms[""].write(MARKER, "Made by steelyard site; made anew by it.\n")
            reports = {entry.path: _copied(history, entry, rooms) for entry in history.entries}
            texts = _pages(history, questions, reports)
            texts[address.MACHINES] = _machines(which_machine(history.entries, prices), reports)
            written = {*reports.values(), *_write_pages(texts, rooms)}
            _remove_others(rooms, written)
    except OSError as reason:
        words = reason.strerror or reason
        raise RecordError(f'could not write the site in "{folder}": {words}') from reason
    copied = sum(bool(report) for report in reports.values())
    return Built(folder, len(questions), len(history.entries), copied)


def _require_ours(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f'not a folder: "{folder}"')
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARKER).exists():
        raise UsageError(
            f'folder "{folder}" holds something else than a site',
            hint="Name a new or an empty one: steelyard site -o DIR.",
        )


def _copied(history: History, entry: Entry, rooms: Rooms) -> str:
    """The address of the copy of a record's report; empty where it has none. A link is none: it
    could lead to what is not to be published."""
    source = history.directory(entry) / "report.html"
    if source.is_symlink() or not source.is_file():
        return ""
    name = address.report_page(entry)
    copy = rooms[""].path / name
    previous = copy.lstat() if copy.is_file() else None
    now = source.stat()
    if previous is None or (previous.st_size, previous.st_mtime_ns) != (
        now.st_size,
        now.st_mtime_ns,
    ):
        room, file = _place(rooms, name)
        with open_regular(source) as page, room.draft(file) as stream:
            shutil.copyfileobj(page, stream)
            os.fchmod(stream.fileno(), 0o644)
            os.utime(stream.fileno(), ns=(now.st_atime_ns, now.st_mtime_ns))
    return name


def _place(rooms: Rooms, name: str) -> tuple[OwnDirectory, str]:
    room, _, file = name.rpartition("/")
    return rooms[room], file


def _write_pages(texts: Mapping[str, str], rooms: Rooms) -> set[str]:
    """The addresses of what was written."""
    for name, text in texts.items():
        room, file = _place(rooms, name)
        room.write(file, text)
    return {*texts}


def _pages(
    history: History, questions: Sequence[QuestionHistory], reports: dict[str, str]
) -> dict[str, str]:
    """Address → text."""
    points = [point for question in questions for point in question.points]
    texts = {
        address.WALL: _wall(show_wall(history, questions, reports)),
        address.COMPARE: _compare(compared_facts(history.entries, reports)),
        address.FLEET: _fleet(show_fleet(questions, across(questions), reports)),
        address.FEED: feed(
            "Steelyard: verdicts",
            "wall",
            points,
            address.WALL,
            lambda point: f"q/{_address_from_feed(point)}",
        ),
    }
    for question in questions:
        texts[address.question_page(question)] = _question(show_question(question, reports))
        texts[address.badge(question)] = draw_badge(question)
        texts[address.question_feed(question)] = feed(
            f"Steelyard: {question.label}",
            question.name,
            question.points,
            f"{address.question_file(question.name)}.html",
            _address_from_feed,
        )
    return texts


def feed(
    title: str, name: str, points: Sequence[Point], page: str, of: Callable[[Point], str]
) -> str:
    """The feed of these answers. `name`: what makes its identity, which never changes; `page`: what
    it is the feed of; `of`: the address of an answer. Addresses are relative to the feed."""
    newest = sorted(points, key=lambda point: (point.entry.at, point.entry.path), reverse=True)
    recent = newest[:MOST_ENTRIES]
    text = _FEED.format(
        id=_identity(name),
        title=title,
        updated=iso(recent[0].entry.at) if recent else "1970-01-01T00:00:00Z",
        page=quote(page),
        entries=Markup("").join(_entry(point, quote(of(point), safe="/#")) for point in recent),
    )
    return printable_xml(text)


def _entry(point: Point, page: str) -> Markup:
    entry, reading = point.entry, point.reading
    doubts = f" Doubts: {', '.join(reading.doubts)}." if reading.doubts else ""
    return _ENTRY.format(
        id=_identity(f"{entry.path} {reading.question}"),
        title=f"{entry.study}: {reading.verdict}, {reading.pair}",
        updated=iso(entry.at),
        page=page,
        words=escape(sentence(reading) + doubts),
    )


def _identity(name: str) -> str:
    """A URN that is the same whenever the feed is made."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    parts = (digest[:8], digest[8:12], f"8{digest[13:16]}", f"8{digest[17:20]}", digest[20:32])
    return f"urn:uuid:{'-'.join(parts)}"


def _address_from_feed(point: Point) -> str:
    """The address of an answer from the feed of its question."""
    page = address.question_file(point.reading.question)
    return f"{page}.html#{address.record_name(point.entry)}"


def _remove_others(rooms: Rooms, written: set[str]) -> None:
    """Pages of questions and records that are gone."""
    for name in _OURS:
        with os.scandir(rooms[name].descriptor) as files:
            others = [
                file.name
                for file in files
                if not file.is_dir(follow_symlinks=False) and f"{name}/{file.name}" not in written
            ]
        for other in others:
            os.unlink(other, dir_fd=rooms[name].descriptor)


def _wall(wall: WallShown) -> str:
    return _page("wall.html.j2", "wall.js", up="", shown=wall)


def _question(question: QuestionShown) -> str:
    return _page("question.html.j2", "keys.js", up="../", shown=question, sentence=sentence)


def _fleet(fleet: FleetShown) -> str:
    return _page("fleet.html.j2", "keys.js", up="", shown=fleet)


def _machines(ranking: WhichMachine, reports: Mapping[str, str]) -> str:
    machines = show_machines(ranking, reports)
    return _page("machines.html.j2", "keys.js", up="", shown=machines)


def _compare(facts: Mapping[str, Any]) -> str:
    # "<" would end the element that holds it.
    text = json.dumps(facts).replace("<", "\\u003c")
    counts = {"listed": len(facts["records"]), "left_out": facts["left_out"]}
    return _page("compare.html.j2", "compare.js", up="", facts=Markup(text), **counts)


def policy(*scripts: str) -> str:
    """What pages with these scripts may do: show themselves, and run nothing else."""
    run = " ".join(f"'sha256-{_digest(_code(script))}'" for script in scripts)
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {run}; base-uri 'none'; "
        "form-action 'none'"
    )


@cache
def _code(script: str) -> str:
    return (_HERE / script).read_text(encoding="utf-8").strip()


def _digest(code: str) -> str:
    return base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()


def _page(template: str, script: str, **context: object) -> str:
    return (
        templates(_HERE)
        .get_template(template)
        .render(
            style=Markup(style_sheet() + (_HERE / "site.css").read_text(encoding="utf-8")),
            script=Markup(_code(script)),
            policy=policy(script),
            **context,
        )
    )
