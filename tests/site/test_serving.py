"""The site is served to this machine alone, kept up to date, and nothing else of the disk is."""

from __future__ import annotations

import http.client
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from history.made import DAY, keep_record
from steelyard.history.export import export
from steelyard.history.index import read_history
from steelyard.model.errors import UsageError
from steelyard.site import serving
from steelyard.site.serving import LOOPBACK, SiteServer
from thinned import thinned

Keep = Callable[..., Path]


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def server(
    rich: Path, tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[SiteServer]:
    monkeypatch.setattr(serving, "_LOOK_SECONDS", 0.0)
    with running(rich, tmp_path / "site", told.append) as server:
        yield server


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SiteServer]:
    """A server for all requests that neither records nor pages matter to."""
    home = tmp_path_factory.mktemp("served")
    keep_record(home / "records" / "checksums" / DAY.format(day=1))
    with running(home / "records", home / "site", lambda words: None) as server:
        yield server


@contextmanager
def running(records: Path, folder: Path, announce: serving.Announce) -> Iterator[SiteServer]:
    with SiteServer(records, folder, 0, announce) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server: SiteServer, path: str, host: str | None = None, method: str = "GET") -> int | str:
    """The status of what failed, else the text."""
    port = server.server_address[1]
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=30)
    try:
        connection.request(method, path, headers={"Host": host or f"{LOOPBACK}:{port}"})
        answer = connection.getresponse()
        text = answer.read().decode()
        return text if answer.status == 200 else answer.status
    finally:
        connection.close()


def test_pages_reports_feeds_and_badges_are_served(server: SiteServer, tmp_path: Path) -> None:
    assert "What was weighed" in str(ask(server, "/"))
    assert "Compare two records" in str(ask(server, "/compare.html"))
    for folder in ("q", "reports", "badge"):
        name = next((tmp_path / "site" / folder).iterdir()).name
        assert "<" in str(ask(server, f"/{folder}/{name}"))


def test_metrics_are_the_export_of_the_newest(
    server: SiteServer, rich: Path, tmp_path: Path
) -> None:
    text = str(ask(server, serving.METRICS))
    export(read_history(rich).entries, tmp_path / "new.prom", "openmetrics", latest=True)
    assert text == (tmp_path / "new.prom").read_text(encoding="utf-8")
    families = {family.name for family in text_string_to_metric_families(text)}
    assert {"steelyard_ratio", "steelyard_throughput_per_second"} <= families
    port = server.server_address[1]
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=30)
    connection.request("HEAD", serving.METRICS, headers={"Host": f"{LOOPBACK}:{port}"})
    answer = connection.getresponse()
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert int(answer.headers["Content-Length"]) == len(text.encode())
    connection.close()
    assert ask(server, serving.METRICS, host="example.org") == 421


def test_metrics_of_records_that_are_gone_are_an_error_and_no_old_figures(
    server: SiteServer, rich: Path
) -> None:
    assert "steelyard_ratio{" in str(ask(server, serving.METRICS))
    rich.rename(rich.with_name("elsewhere"))
    assert ask(server, serving.METRICS) == 503
    rich.with_name("elsewhere").rename(rich)
    assert "steelyard_ratio{" in str(ask(server, serving.METRICS))


def test_every_answer_lets_no_script_run_but_the_sites_own(
    server: SiteServer, tmp_path: Path
) -> None:
    """Whatever stands in a report that was put into the folder of records."""
    report = next((tmp_path / "site" / "reports").iterdir()).name
    port = server.server_address[1]
    for path in ("/", "/compare.html", "/fleet.html", f"/reports/{report}", "/gone.html"):
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=30)
        connection.request("GET", path, headers={"Host": f"{LOOPBACK}:{port}"})
        answer = connection.getresponse()
        policy = answer.headers["Content-Security-Policy"]
        text = answer.read().decode()
        connection.close()
        told = dict(part.strip().split(" ", 1) for part in policy.split(";"))
        assert told["default-src"] == "'none'"
        assert told["frame-ancestors"] == "'none'"
        allowed = told["script-src"].split()
        assert len(allowed) == 3
        assert all(one.startswith("'sha256-") for one in allowed)
        for own in re.findall(r"sha256-[^& ;']+", text):
            assert f"'{own}'" in allowed


def test_it_listens_on_loopback_only(unchanged: SiteServer) -> None:
    assert unchanged.server_address[0] == LOOPBACK
    assert unchanged.socket.getsockname()[0] == LOOPBACK
    own = socket.gethostbyname_ex(socket.gethostname())[2]
    for address in {*own} - {LOOPBACK, "127.0.1.1"}:
        with pytest.raises(OSError):  # noqa: PT011  refused, or no way there
            socket.create_connection((address, unchanged.server_address[1]), timeout=2)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "127.0.0.1"])
def test_a_request_that_names_another_host_is_refused(unchanged: SiteServer, host: str) -> None:
    assert ask(unchanged, "/", host or " ") == 421


def test_a_tunnel_of_another_port_is_refused_with_what_to_type(unchanged: SiteServer) -> None:
    port = unchanged.server_address[1]
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=30)
    connection.request("GET", "/", headers={"Host": f"localhost:{port + 1}"})
    answer = connection.getresponse()
    assert answer.status == 421
    assert f"ssh -L {port}:127.0.0.1:{port} HOST" in answer.read().decode()
    connection.close()


def test_localhost_is_this_machine_too(unchanged: SiteServer) -> None:
    assert "What was weighed" in str(
        ask(unchanged, "/", f"localhost:{unchanged.server_address[1]}")
    )


@pytest.mark.parametrize(
    "path",
    ["/q/", "/../records/checksums", "/%2e%2e/%2e%2e/etc/passwd", "/.steelyard-site", "/gone.html"],
)
def test_nothing_but_pages_is_served(unchanged: SiteServer, path: str) -> None:
    assert ask(unchanged, path) == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_it_only_reads(unchanged: SiteServer, method: str) -> None:
    assert ask(unchanged, "/", method=method) == 501


@pytest.mark.long
def test_a_record_that_comes_is_on_the_next_page(
    server: SiteServer, keep: Keep, told: list[str]
) -> None:
    assert "new-study" not in str(ask(server, "/"))
    keep(25, study="new-study")
    assert "new-study: off against on" in str(ask(server, "/"))
    assert told == []


def test_what_goes_wrong_is_told_and_the_pages_stay(
    server: SiteServer, rich: Path, told: list[str]
) -> None:
    rich.rename(rich.parent / "moved")
    assert "What was weighed" in str(ask(server, "/"))
    assert "no folder of records" in told[0]


def test_a_port_that_is_taken_is_refused_with_advice(
    server: SiteServer, rich: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="could not serve on port") as refused:
        SiteServer(rich, tmp_path / "other", server.server_address[1], lambda words: None)
    assert "--port 0" in str(refused.value.hint)


@thinned(
    "path", ["/%00", "/q/%00.html", "/index%00.html", "/%2e%00", "/" + "a" * 5_000, "/q/../%00"], 2
)
def test_a_name_that_no_file_has_is_not_found_and_no_error(
    server: SiteServer, told: list[str], path: str
) -> None:
    assert ask(server, path) == 404
    assert told == []


def test_clients_that_leave_early_are_no_error(
    server: SiteServer, told: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    reset = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends a reset
    for sent in (b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") * 20:
        client = socket.create_connection(server.server_address[:2])
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        client.sendall(sent)
        client.close()
    assert "What was weighed" in str(ask(server, "/"))
    assert told == []
    assert capfd.readouterr().err == ""


def test_clients_that_say_nothing_keep_no_other_from_being_served(
    server: SiteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MOST_CLIENTS", 8)
    before = threading.active_count()
    silent = [socket.create_connection(server.server_address[:2]) for _ in range(40)]
    try:
        assert "What was weighed" in str(ask(server, "/"))
        assert threading.active_count() - before <= serving.MOST_CLIENTS + 1
    finally:
        for client in silent:
            client.close()


def test_a_client_that_says_nothing_is_left_after_a_while(
    server: SiteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving._Pages, "timeout", 0.1)
    with socket.create_connection(server.server_address[:2], timeout=30) as client:
        client.sendall(b"GET / HT")
        assert client.recv(100) == b""
