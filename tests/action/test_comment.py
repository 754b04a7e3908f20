"""The comment on a pull request: one that is kept up to date, no longer than GitHub takes.

GitHub is a double here.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from markdown_it import MarkdownIt


class GitHub(BaseHTTPRequestHandler):
    """Comments of a pull request, two pages of them; `status` refuses."""

    comments: list[dict[str, Any]]
    seen: list[tuple[str, str]]
    status = 200

    def do_GET(self) -> None:
        page = int(self.path.rpartition("page=")[2])
        self._answer(self.comments[(page - 1) * 100 : page * 100])

    def do_POST(self) -> None:
        own = {"id": len(self.comments) + 1, "user": {"login": "github-actions[bot]"}}
        self._write(lambda body: self.comments.append({**own, **body}))

    def do_PATCH(self) -> None:
        number = int(self.path.rpartition("/")[2])
        self._write(self.comments[number - 1].update)

    def _write(self, change: Callable[[dict[str, Any]], None]) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((self.command, self.headers["Authorization"]))
        if self.status == 200:
            change(body)
        self._answer({})

    def _answer(self, told: Any) -> None:
        self.send_response(self.status if self.command != "GET" else 200)
        self.end_headers()
        self.wfile.write(json.dumps(told).encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[GitHub]]:
    """GitHub's API on loopback, and a job of pull request 7."""
    double = type("Double", (GitHub,), {"comments": [], "seen": []})
    server = HTTPServer(("127.0.0.1", 0), double)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    monkeypatch.setenv("GITHUB_API_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("GITHUB_REPOSITORY", "them/theirs")
    monkeypatch.setenv("GITHUB_TOKEN", "a-token")
    yield double
    server.shutdown()
    server.server_close()


def test_one_comment_is_kept_up_to_date_however_many_others_there_are(
    gate: ModuleType, github: type[GitHub], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "event.json"))
    github.comments += [{"id": n + 1, "body": "words of others"} for n in range(150)]
    page = tmp_path / "page.md"
    for text in ("the first", "the second"):
        page.write_text(text)
        assert gate.main(["comment", str(page), "--name", "builds"]) == 0
    own = [one["body"] for one in github.comments if "words" not in one["body"]]
    assert own == ["<!-- steelyard: builds -->\nthe second"]
    assert gate.main(["comment", str(page), "--name", "another"]) == 0
    assert len(github.comments) == 152
    assert {token for _, token in github.seen} == {"Bearer a-token"}


def test_a_comment_of_somebody_else_that_begins_with_the_mark_is_left_alone(
    gate: ModuleType, github: type[GitHub], tmp_path: Path
) -> None:
    """Its author could change it after the verdict was written into it."""
    mark = "<!-- steelyard: builds -->"
    forged = [
        {"id": 1, "body": f"{mark}\n✓ builds: passed", "user": {"login": "mallory"}},
        {"id": 2, "body": f"{mark}\nof a deleted account", "user": None},
    ]
    github.comments += [dict(one) for one in forged]
    page = tmp_path / "page.md"
    for text in ("the first", "the second"):
        page.write_text(text)
        assert gate.main(["comment", str(page), "--name", "builds"]) == 0
    assert github.comments[:2] == forged
    assert [one["body"] for one in github.comments[2:]] == [f"{mark}\nthe second"]
    assert gate.main(["comment", str(page), "--name", "builds", "--author", "mallory"]) == 0
    assert github.comments[0]["body"] == f"{mark}\nthe second", "a token of theirs"


def test_a_token_that_may_not_write_fails_nothing_and_an_error_of_the_server_does(
    gate: ModuleType, github: type[GitHub], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "event.json"))
    page = tmp_path / "page.md"
    page.write_text("words")
    github.status = 403
    assert gate.main(["comment", str(page)]) == 0
    assert "may not write (403)" in capsys.readouterr().err
    github.status = 500
    assert gate.main(["comment", str(page)]) == 2


def test_outside_a_pull_request_nothing_is_said(
    gate: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.md").write_text("words")
    assert gate.main(["comment", str(tmp_path / "page.md")]) == 0
    assert "no pull request" in capsys.readouterr().out


@pytest.mark.parametrize("line", ["| a | row |", "words", "````\ncode ``` code\n````"])
@pytest.mark.parametrize("times", [10, 4_000, 9_000])
def test_a_page_that_is_too_long_for_a_comment_is_cut_and_says_so(
    gate: ModuleType, line: str, times: int
) -> None:
    text = f"<!-- steelyard: builds -->\n{f'{line}{chr(10)}' * times}"
    comment = gate.fitted(text)
    assert len(comment) <= 65_536
    assert (comment == text) is (len(text) <= 65_000)
    if comment != text:
        assert comment.startswith(text[:60_000])
        *_, note, end = MarkdownIt().parse(comment)
        assert (note.content[:8], end.type) == ("The rest", "paragraph_close")
