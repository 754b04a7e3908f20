"""Statements where none is looked for are refused with what takes all of them out."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.ledger import StatementOutcome
from workloads.capturing.logs.log_lines import (
    CAPTURED,
    csv,
    entries,
    jsonlog,
    message,
    outcomes,
    stamp,
    stderr,
    texts,
)


def cnpg(second: float, text: str) -> str:
    record = {
        "log_time": stamp(second), "session_id": "6563.64", "error_severity": "LOG",
        "message": message(text),
    }  # fmt: skip
    return json.dumps({"level": "info", "msg": "record", "record": record}) + "\n"


def rows(second: int) -> list[str]:
    return [stderr(second, "select 1").rstrip("\n"), stderr(second, "select 2").rstrip("\n")]


@pytest.mark.parametrize(
    ("envelope", "path", "selection"),
    [
        # Loki, Elasticsearch, Kubernetes on Google's cloud, CloudNativePG there, and Supabase.
        (lambda n: {"labels": {"app": "db"}, "line": stderr(n, f"select {n}")}, ".line", "-r"),
        (lambda n: {"_source": {"message": stderr(n, "select 1")}}, "._source.message", "-r"),
        (lambda n: {"jsonPayload": {"log.original": stderr(n, "select 1")}},
         '.jsonPayload["log.original"]', "-r"),
        (lambda n: {"jsonPayload": json.loads(cnpg(n, "select 1"))}, ".jsonPayload.record", "-c"),
        (lambda n: {"id": n, "event": [{"text": message("select 1")}]}, ".event[]?.text?", "-r"),
        # OpenTelemetry, Loki's answers, CloudWatch Insights, and Azure's Log Analytics.
        (lambda n: {"scopeLogs": [{"logRecords": [{"body": {"text": text}} for text in rows(n)]}]},
         ".scopeLogs[]?.logRecords?[]?.body?.text?", "-r"),
        (lambda n: {"values": [["17642", text] for text in rows(n)]}, ".values[]?[1]?", "-r"),
        (lambda n: {"results": [
            [{"field": "@timestamp", "value": "2"}, {"field": "@message", "value": text}]
            for text in rows(n)
        ]}, ".results[]?[1]?.value?", "-r"),
        (lambda n: {"rows": rows(n)}, ".rows[]?", "-r"),
        (lambda n: {"row": ["17642", stderr(n, "select 1")]}, ".row[1]", "-r"),
    ],
)  # fmt: skip
def test_objects_with_statements_elsewhere_are_refused_by_where_they_are(
    tmp_path: Path, envelope: Callable[[int], dict[str, object]], path: str, selection: str
) -> None:
    others = [json.dumps(envelope(n)) + "\n" for n in range(9)]
    for log in ("".join(others), f"[{','.join(others)}]", jsonlog(0, "select 1") + "".join(others)):
        with pytest.raises(UsageError, match="9 of its objects have a statement") as refused:
            entries(tmp_path, log)
        assert refused.value.detail == f"It is in {path}."
        assert f"jq {selection} '.. | objects | ({path})? // empty'" in str(refused.value.hint)
    own = "".join(jsonlog(n, f"select {n}") for n in range(60))
    counted = {CAPTURED: 60, StatementOutcome.OTHER_FORMAT: 2}
    assert outcomes(tmp_path, own + "".join(others[:2])) == counted
    # They are counted with lines of other formats, and compared with entries alone.
    strange = "".join(csv(n, "select 1") for n in range(3))
    counted[StatementOutcome.OTHER_FORMAT] = 3
    for few in (strange, "".join(others[:3])):
        assert outcomes(tmp_path, own + few) == counted
    for many in (strange + "".join(others[:3]), "".join(others[:4]) + '{"level": "info"}\n' * 99):
        with pytest.raises(UsageError, match=r"[46] (statements are|of its objects have)"):
            entries(tmp_path, own + many)


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
@pytest.mark.parametrize("first", [1, 9])
def test_what_is_to_be_typed_writes_every_statement(tmp_path: Path, first: int) -> None:
    """Of objects with lists of any length, among them elements of another kind."""
    counts = (first, 4, 1)
    log = "".join(
        json.dumps({"batch": ["x", *({"body": {"text": text}} for text in rows(n) * many)]}) + "\n"
        for n, many in enumerate(counts)
    )
    with pytest.raises(UsageError, match="3 of its objects have a statement") as refused:
        entries(tmp_path, log)
    command = str(refused.value.hint).partition(" LOG > NEW")[0]
    written = subprocess.run(
        shlex.split(command), input=log, capture_output=True, text=True, check=True
    )
    assert len(texts(entries(tmp_path, written.stdout))) == 2 * sum(counts)


@pytest.mark.parametrize("indent", [None, 4])
def test_a_log_that_is_one_object_is_refused_by_where_it_is(
    tmp_path: Path, indent: int | None
) -> None:
    """As the command of Amazon RDS writes it without --output text: few statements are too many
    where nothing else is."""
    lines = "".join(stderr(n, f"select {n}") for n in range(30))
    portion = {"LogFileData": lines, "Marker": "2:1", "AdditionalDataPending": False}
    with pytest.raises(UsageError, match="1 of its objects have a statement") as refused:
        entries(tmp_path, json.dumps(portion, indent=indent) + "\n")
    assert "jq -r '.. | objects | (.LogFileData)? // empty'" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("text", "is_bare"),
    [(message("select 1"), True), ("statement: select 1", True), (stderr(1, "select 1"), False)],
)
def test_messages_without_a_session_are_said_to_have_none(
    tmp_path: Path, text: str, is_bare: bool
) -> None:
    """As Supabase exports them: what jq writes of them would be refused."""
    log = "".join(json.dumps({"event_message": text, "id": n}) + "\n" for n in range(5))
    with pytest.raises(UsageError, match="5 of its objects have a statement") as refused:
        entries(tmp_path, log)
    assert ("names no session" in str(refused.value.hint)) == is_bare
