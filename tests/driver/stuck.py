"""A load that waits for the server, and is given up."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from driver.served import Server

_HEEDING = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from steelyard.cli.app import main; main()"
)
GIVES_UP_SOON = (
    "from steelyard.driver.plan import DrivePlan; whole = DrivePlan.to_json; "
    "DrivePlan.to_json = lambda plan: whole(plan) | {'drain_cap_ns': 300_000_000}; "
    "from steelyard.cli.app import main; main()"
)
"""The program, with 0.3 s in place of 5 for what has not ended with the load."""
_STUCK = (
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE state = 'active' AND query ~ 'AS stuck' AND pid <> pg_backend_pid()"
)


def interrupt_stuck_load(server: Server, conninfo: str, directory: Path) -> None:
    """Drive a statement of an hour by `conninfo`, press Ctrl-C, and see the server give it up."""
    script = directory / "stuck.sql"
    script.write_text("SELECT pg_sleep(3600) AS stuck;\n")
    command = [sys.executable, "-c", _HEEDING, "drive", conninfo, "-f", str(script), "-T", "60"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        while server.one(_STUCK) == 0:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    deadline = time.monotonic() + 30
    while server.one(_STUCK) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert server.one(_STUCK) == 0
