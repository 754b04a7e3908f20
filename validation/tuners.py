"""Compares what `tune` proposes with pgtune and timescaledb-tune, for nine servers.

    python -m validation.tuners [--pgtune CHECKOUT --timescaledb-tune PROGRAM]

With both options the other tools are run (pgtune's own JavaScript by node) and what they propose is
kept in results/tuners.jsonl; what Steelyard proposes is worked out anew each time, from what the
bundled server accepts. At the end the tables of docs/reference/tune.md are written.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.model.errors import UsageError
from steelyard.model.setting_value import Allowed, with_unit
from steelyard.tuning.profile.proposing import (
    Accepting,
    ProfileRequest,
    propose,
    read_allowed_settings,
)
from validation.pages.tuners import Proposals, by_size, page_with_tables
from validation.results import FOLDER, Results

RESULTS = Results(FOLDER / "tuners.jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "reference" / "tune.md"
EVERY_SERVER = PAGE.with_name("tune-by-size.csv")
VERSION = "18"
BUILD = f"bundle-{VERSION}"
"""Whose settings are proposed, whatever other builds of it were added."""
GB = 1 << 30


@dataclass(frozen=True)
class Server:
    """A server that settings are asked for: short transactions, SSD."""

    gigabytes: int
    processors: int
    clients: int

    @property
    def key(self) -> str:
        """`"8 GB, 4, 100"`."""
        return f"{self.gigabytes} GB, {self.processors}, {self.clients}"


SERVERS = (
    *(Server(1, 1, 25), Server(2, 2, 50), Server(4, 2, 100), Server(8, 4, 100)),
    *(Server(16, 4, 200), Server(32, 8, 200), Server(64, 16, 300), Server(128, 32, 400)),
    Server(512, 64, 500),
)
_STUB_TOOLKIT = """
export const createSlice = () => ({reducer: null, actions: {}})
export const createSelector = (from, of) => (state) => of(...from.map((one) => one(state)))
"""
_STUB_ACTIONS = "export const submitConfiguration = null\n"
_ASK_PGTUNE = """
import * as of from './slice.mjs'
const names = {
  shared_buffers: of.selectSharedBuffers, effective_cache_size: of.selectEffectiveCacheSize,
  maintenance_work_mem: of.selectMaintenanceWorkMem, work_mem: of.selectWorkMem,
  wal_buffers: of.selectWalBuffers, autovacuum_work_mem: of.selectAutovacuumWorkMem
}
const words = {
  max_connections: of.selectMaxConnections, huge_pages: of.selectHugePages,
  checkpoint_completion_target: of.selectCheckpointCompletionTarget,
  default_statistics_target: of.selectDefaultStatisticsTarget,
  random_page_cost: of.selectRandomPageCost,
  effective_io_concurrency: of.selectEffectiveIoConcurrency, jit: of.selectJit,
  wal_compression: of.selectWalCompression, io_method: of.selectIoMethod,
  io_workers: of.selectIoWorkers, autovacuum_max_workers: of.selectAutovacuumMaxWorkers
}
const lists = [of.selectCheckpointSegments, of.selectParallelSettings]
const answers = JSON.parse(process.argv[2]).map((asked) => {
  const state = {configuration: {
    dbVersion: 18, osType: 'linux', dbType: 'oltp', totalMemory: asked.gigabytes,
    totalMemoryUnit: 'GB', cpuNum: asked.processors, connectionNum: asked.clients,
    hdType: 'ssd', dbSize: 'mid_ram'}}
  const told = {}
  for (const [name, select] of Object.entries(names)) {
    const value = select(state)
    if (value !== null) told[name] = value + 'kB'
  }
  for (const [name, select] of Object.entries(words)) {
    const value = select(state)
    if (value !== null) told[name] = String(value)
  }
  for (const select of lists)
    for (const {key, value} of select(state))
      told[key] = key.endsWith('_size') ? value + 'kB' : String(value)
  return told
})
console.log(JSON.stringify(answers))
"""


def ours(accepting: Accepting) -> Iterator[dict[str, str]]:
    """What Steelyard proposes for each server: for no device that was probed, and no disk."""
    for server in SERVERS:
        wish = ProfileRequest(
            "ours",
            "oltp",
            clients=server.clients,
            cap_bytes=server.gigabytes * GB,
            processors=server.processors,
        )
        try:
            yield propose(wish, accepting, None, Path()).settings
        except UsageError as refused:
            match = re.search(r"-c (\d+)", refused.hint or "")
            yield {"": f"refused: {match[1] if match else 'no'} clients fit"}


def defaults(allowed: Mapping[str, Allowed]) -> dict[str, str]:
    """What the server assumes for every setting, as it would be written."""
    return {
        name: with_unit(setting.default or "", setting.unit) for name, setting in allowed.items()
    }


def ask_pgtune(checkout: Path) -> list[dict[str, str]]:
    """What pgtune's own formulas propose, run by node. CalledProcessError: they could not be."""
    source = checkout / "src" / "features" / "configuration"
    with tempfile.TemporaryDirectory() as directory:
        room = Path(directory)
        code = (source / "configurationSlice.js").read_text(encoding="utf-8")
        for module, file in (
            ("@reduxjs/toolkit", "toolkit"),
            ("@app/actions/configurator", "actions"),
            ("./constants", "constants"),
        ):
            code = code.replace(f"from '{module}'", f"from './{file}.mjs'")
        (room / "slice.mjs").write_text(code, encoding="utf-8")
        (room / "toolkit.mjs").write_text(_STUB_TOOLKIT, encoding="utf-8")
        (room / "actions.mjs").write_text(_STUB_ACTIONS, encoding="utf-8")
        shutil.copyfile(source / "constants.js", room / "constants.mjs")
        (room / "ask.mjs").write_text(_ASK_PGTUNE, encoding="utf-8")
        servers = json.dumps([vars(server) for server in SERVERS])
        output = _output("node", str(room / "ask.mjs"), servers)
    return [dict(proposal) for proposal in json.loads(output)]


def ask_timescaledb_tune(program: Path) -> list[dict[str, str]]:
    """What timescaledb-tune proposes of PostgreSQL's own settings, by itself."""
    proposals = []
    with tempfile.NamedTemporaryFile(suffix=".conf") as empty:
        for server in SERVERS:
            output = _output(
                *(str(program.resolve()), "--conf-path", empty.name, "--quiet", "--yes"),
                *("--dry-run", "--color=false", "--pg-version", VERSION),
                *("--memory", f"{server.gigabytes}GB", "--cpus", str(server.processors)),
                *("--max-conns", str(server.clients)),
            )
            pairs = re.findall(r"^([a-z_]+) = '?([^'\n]*)'?$", output, re.MULTILINE)
            proposals.append({name: value for name, value in pairs if "librar" not in name})
    return proposals


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _keep(tool: str, version: str, proposals: list[dict[str, str]]) -> None:
    facts = {"key": tool, "version": version, "taken": datetime.now(UTC).date().isoformat()}
    by_server = {server.key: proposal for server, proposal in zip(SERVERS, proposals, strict=True)}
    RESULTS.replace(tool, {**facts, "proposals": by_server})


def tables(page: str, accepting: Accepting) -> tuple[str, str]:
    """The page with its tables as they are now, for a few servers; and for all, as CSV."""
    assumed = defaults(accepting.allowed)
    proposals = [Proposals("ours", "", dict(zip(_keys(), ours(accepting), strict=True)))]
    proposals += [
        Proposals(result["key"], f"{result['version']}, {result['taken']}", result["proposals"])
        for result in RESULTS
    ]
    sheet = io.StringIO()
    csv.writer(sheet, lineterminator="\n").writerows(by_size(_keys(), proposals, assumed))
    on_page = _keys()[::4]
    return page_with_tables(page, _keys(), proposals, assumed, on_page), sheet.getvalue()


def _keys() -> list[str]:
    return [server.key for server in SERVERS]


def main() -> int:
    """Run the other tools where they are named, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pgtune", type=Path, help="a checkout of le0pard/pgtune")
    parser.add_argument("--timescaledb-tune", type=Path, help="the program")
    parser.add_argument("--revisions", nargs=2, metavar="COMMIT", help="of the two, in this order")
    chosen = parser.parse_args()
    if chosen.pgtune and chosen.timescaledb_tune and chosen.revisions:
        pgtune, timescale = chosen.revisions
        _keep("pgtune", pgtune, ask_pgtune(chosen.pgtune))
        version = _output(str(chosen.timescaledb_tune.resolve()), "--version").split()[1]
        answers = ask_timescaledb_tune(chosen.timescaledb_tune)
        _keep("timescaledb-tune", f"{version}, {timescale}", answers)
    account = "postgres" if os.geteuid() == 0 else None
    accepting = read_allowed_settings("postgres", BuildRequest(BUILD, None), account)
    page, sheet = tables(PAGE.read_text(encoding="utf-8"), accepting)
    PAGE.write_text(page, encoding="utf-8")
    EVERY_SERVER.write_text(sheet, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
