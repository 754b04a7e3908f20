"""`steelyard checksums`: estimates what enabling checksums on a cluster takes, and its cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from steelyard.integrity.checksum_cost import EnablingEstimate

Cluster = Annotated[Path, typer.Argument(metavar="PGDATA", help="A data directory.")]
Place = Annotated[
    Path | None,
    typer.Option(
        "--measure-in", metavar="DIR", help="Write 128 MB here for the rate; the cache without."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


FIRST_ANNOUNCED = 19
"""The version that was to switch checksums online, and does not."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("checksums")(checksums)


def checksums(pgdata: Cluster, measure_in: Place = None, as_json: AsJson = False) -> None:
    """Say how long `pg_checksums --enable` would take, how to avoid that, and what they cost.

    Nothing is changed: it prints. Exit status 3: files could not be read, and it takes longer.
    """
    from steelyard.integrity.checksum_cost import estimate_enabling

    estimate = estimate_enabling(pgdata, place=measure_in)
    typer.echo(json.dumps(estimate.to_json()) if as_json else render(estimate))
    if estimate.exit_status:
        raise SystemExit(estimate.exit_status)


def render(estimate: EnablingEstimate) -> str:
    """The complete text of an estimate."""
    from steelyard.cli.views.scrubbed import not_read
    from steelyard.cli.views.text_layout import escaped, hanging, sentence_width
    from steelyard.integrity.checksum_cost import cost_words
    from steelyard.integrity.scrub.cluster_state import RunState
    from steelyard.model.units import NS_PER_S, format_bytes, format_duration

    layout, run_state = estimate.state.layout, estimate.state.run_state
    least_of = "at least " if estimate.denied else ""
    lines = [
        f"{estimate.path}: PostgreSQL {layout.major}, {run_state.value}, "
        f"{least_of}{format_bytes(estimate.bytes)} of pages in {estimate.files} files"
    ]
    lines += not_read(estimate.denied)
    if estimate.denied:
        lines.append("  what follows leaves it out: run as the cluster's account, or as root")
    if layout.checksums:
        lines.append("checksums are on already; `steelyard scrub` verifies them")
    else:
        least, most = (format_duration(s * NS_PER_S) for s in estimate.seconds)
        lines += [
            f"pg_checksums --enable: about {least} to {most} of downtime, and the stop and start",
            f"  measured: one thread reads and sums {format_bytes(estimate.read_bytes_per_s)}/s, "
            f"the disk takes {format_bytes(estimate.write_bytes_per_s)}/s synced",
            "  no bounds: it reads 8 kB at a time, and what is cached now was measured cached",
        ]
        if not estimate.same_disk:
            lines.append("  writing was measured on another disk: --measure-in DIR names one on it")
        if run_state in (RunState.RUNNING, RunState.POSSIBLY, RunState.CRASHED):
            lines.append("  the server must be shut down cleanly first")
        lines += [
            "without that downtime, by a standby:",
            "  1. make a standby (pg_basebackup -R), let it catch up, and stop it",
            "  2. pg_checksums --enable -D STANDBY; keep the primary's log that long "
            "(a replication slot, or wal_keep_size)",
            "  3. start it, let it catch up, and switch over: seconds",
            "  4. make the old primary a standby anew from it, not by pg_rewind",
        ]
        if layout.major == FIRST_ANNOUNCED:
            lines += [
                "online: 19 cannot, whatever pages on the web say: pg_enable_data_checksums() was "
                "in betas 1 to 3,",
                "  and was taken back before beta 4",
            ]
    if estimate.hints_logged:
        lines.append("write-ahead log: no growth; wal_log_hints is on, so hint bits are logged now")
    else:
        lines += [
            "write-ahead log: a page whose hint bits are set first after a checkpoint is logged "
            "whole, once until the next;",
            f"  at most {format_bytes(estimate.bytes)} between two checkpoints, if every page was "
            "written and then first read;",
            "  wal_log_hints = on causes the same growth without checksums, to try it out",
        ]
    lines.append(f"afterwards: {cost_words(estimate.cost)}")
    width = sentence_width()
    return "\n".join(part for line in lines for part in hanging(escaped(line), width))
