"""`steelyard drive` on Microsoft's own double of SQL Server, where its program is at hand.

MSSQL_MOCK_TDS names it: `cargo install mssql-mock-tds` (MIT) makes it.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from driver.secured import authority
from driver.sqlserver.test_sqlserver import called

PROGRAM = os.environ.get("MSSQL_MOCK_TDS", "")
READY_S = 10
pytestmark = pytest.mark.skipif(not PROGRAM, reason="MSSQL_MOCK_TDS names no program")


@contextmanager
def running(*words: str) -> Iterator[int]:
    """The double on a port of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [PROGRAM, "--host", "127.0.0.1", "--port", str(port), *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as server:
        try:
            end = time.monotonic() + READY_S
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    assert time.monotonic() < end, "the double is not ready"
                    time.sleep(0.05)
            yield port
        finally:
            server.terminate()


@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
@pytest.mark.parametrize("encryption", ["disable", "mandatory", "strict"])
def test_rows_come_in_every_mode_and_however_they_are_encrypted(
    encryption: str, mode: str, tmp_path: Path
) -> None:
    signer = authority("steelyard's test authority")
    certificate, key = signer.sign("double", "127.0.0.1").save(tmp_path, "server")
    roots = tmp_path / "roots.pem"
    roots.write_bytes(signer.pem)
    modes = {"disable": "none", "mandatory": "optional", "strict": "strict"}
    words = ["--tls-mode", modes[encryption]]
    asked = f"encrypt={encryption}"
    if encryption != "disable":
        words += ["--cert", str(certificate), "--key", str(key)]
        asked += f"&certificate={roots}"
    with running(*words) as port:
        target = f"sqlserver://sa:anything@127.0.0.1:{port}/d?{asked}"
        done = called(target, "SELECT 1 \\gset got_\n", "-t", "20", "-c", "2", "-M", mode)
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)
        assert (summary["transactions"], summary["errors"]) == (40, {})
