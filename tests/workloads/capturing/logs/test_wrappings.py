"""What shows of containers put before lines is taken away again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.model.errors import UsageError
from workloads.capturing.logs.log_lines import csv, entries, jsonlog, stderr, texts

STAMP = "2026-11-28T03:00:00.123456789Z"
WRAPPERS = {
    "compose": "db-1  | ", "compose, long": "my_project.db-12 | ", "docker -t": f"{STAMP} ",
    "CRI": f"{STAMP} stderr F ", "CRI, offset": "2026-11-28T03:00:00.1+05:30 stdout F ",
    "compose -t": f"db-1  | {STAMP} ", "service": "shop_db.1.k2x9l0@node-1    | ",
    "kubectl --prefix": "[pod/pg-0/postgres] ", "kubectl, both": f"[pod/pg-0/postgres] {STAMP} ",
}  # fmt: skip
BODIES = [f"select a\n\n\tfrom t\nwhere b = ' | {n}  '" for n in range(4)]


def wrapped(text: str, wrapper: str) -> str:
    return "".join(wrapper + line for line in text.splitlines(keepends=True))


@pytest.mark.parametrize("wrapper", list(WRAPPERS))
@pytest.mark.parametrize("kind", ["stderr", "csv", "json"])
def test_wrapped_lines_are_read_as_they_were(tmp_path: Path, wrapper: str, kind: str) -> None:
    write = {"stderr": stderr, "csv": csv, "json": jsonlog}[kind]
    text = "".join(write(n, body) for n, body in enumerate(BODIES))
    assert texts(entries(tmp_path, wrapped(text, WRAPPERS[wrapper]))) == BODIES


@pytest.mark.parametrize(
    "wrapper", ["compose", "compose, long", "compose -t", "kubectl --prefix", "kubectl, both"]
)
def test_a_prefix_may_be_named_with_the_wrapping_or_without(tmp_path: Path, wrapper: str) -> None:
    text = "".join(stderr(n, body) for n, body in enumerate(BODIES))
    name = WRAPPERS[wrapper].partition(STAMP)[0]
    for prefix in ("%m [%p] ", f"{name}%m [%p] "):
        read = entries(tmp_path, wrapped(text, WRAPPERS[wrapper]), prefix=prefix)
        assert texts(read) == BODIES


def in_parts(text: str, size: int) -> Iterator[str]:
    """As containerd writes lines that are long."""
    for line in text.splitlines():
        parts = [line[at : at + size] for at in range(0, len(line), size)] or [""]
        yield from (f"{STAMP} stderr P {part}\n" for part in parts[:-1])
        if "LOG:  " in line:
            yield f"{STAMP} stdout P of another\n{STAMP} stdout F stream\n"
        yield f"{STAMP} stderr F {parts[-1]}\n"


@pytest.mark.parametrize("size", [1, 7, 16_384])
def test_parts_of_long_lines_are_put_together(tmp_path: Path, size: int) -> None:
    body = "select\n'" + "x" * (40_000 if size > 7 else 40) + "  '"
    text = stderr(1, "select\n1") + stderr(2, body) + stderr(3, "select 3")
    assert texts(entries(tmp_path, "".join(in_parts(text, size)))) == [
        "select\n1", body, "select 3"
    ]  # fmt: skip


def test_lines_of_other_containers_are_none_and_those_of_another_server_refused(
    tmp_path: Path,
) -> None:
    own = wrapped("".join(stderr(n, body) for n, body in enumerate(BODIES)), "db-1   | ")
    web = 'web-1  | GET /?a="b" 200\n'
    mixed = "Attaching to db-1, web-1\n" + web.join(own.splitlines(keepends=True))
    assert texts(entries(tmp_path, mixed)) == BODIES
    other = wrapped(stderr(1, "select 1"), "db-2  | ")
    for text in (own + other, own * 100 + other):
        with pytest.raises(UsageError, match="several servers: db-1, db-2"):
            entries(tmp_path, text)


@pytest.mark.parametrize(
    ("wrapper", "command"),
    [
        ("db-{n}  | ", "docker compose logs --no-log-prefix NAME"),
        ("db.{n}.k2x9@node  | ", "docker service logs --raw TASK"),
        ("[pod/pg-{n}/postgres] ", "kubectl logs POD -c CONTAINER"),
    ],
)
def test_lines_of_two_servers_are_refused_with_what_writes_those_of_one(
    tmp_path: Path, wrapper: str, command: str
) -> None:
    text = "".join(wrapped(stderr(n, "select 1"), wrapper.format(n=n)) for n in (1, 2))
    with pytest.raises(UsageError, match="several servers: ") as refused:
        entries(tmp_path, text)
    assert refused.value.hint == f"{command} writes those of one."


def test_prefixes_that_look_so_are_prefixes(tmp_path: Path) -> None:
    text = "".join(
        stderr(n, body, "joe | {process} | {stamp} ") for n, body in enumerate(["select 1"] * 3)
    )
    [entry, *_] = entries(tmp_path, text, prefix="%u | %p | %m ")
    assert (entry.user, entry.session) == ("joe", "100")
    text = "".join(stderr(n, body, "{stamp}|joe|shop|6.64|") for n, body in enumerate(BODIES))
    assert texts(entries(tmp_path, text)) == BODIES


@pytest.mark.parametrize("lines", [1, 3, 40])
def test_events_of_several_lines_have_one_stamp(tmp_path: Path, lines: int) -> None:
    """CloudWatch's, as its console and its command line write them."""
    bodies = ["\n".join([f"select {n}", *["from t"] * (lines - 1)]) for n in range(30)]
    head = "{stamp}:10.0.0.1(5000):joe@shop:[{process}]:"
    text = "".join(f"{STAMP} {stderr(n, body, head)}" for n, body in enumerate(bodies))
    assert texts(entries(tmp_path, text)) == bodies
