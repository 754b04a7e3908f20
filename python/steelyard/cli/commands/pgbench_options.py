"""What stands in the place of pgbench's options that `steelyard drive` does not have."""

from __future__ import annotations

ELSEWHERE = {
    "-i, --initialize": "`pgbench -i` fills the tables; `steelyard weigh` fills its own.",
    "-I, --init-steps": "As -i.",
    "-F, --fillfactor": "As -i.",
    "-q, --quiet": "As -i.",
    "--foreign-keys": "As -i.",
    "--index-tablespace": "As -i.",
    "--partition-method": "As -i.",
    "--partitions": "As -i.",
    "--tablespace": "As -i.",
    "--unlogged-tables": "As -i.",
    "-v, --vacuum-all": "Say VACUUM yourself before; `drive` executes scripts and nothing else.",
    "--exit-on-abort": "Always so for a script that cannot go on; lost connections are counted.",
    "--verbose-errors": "Always so: the first message of each SQLSTATE stands with the results.",
    "--debug": "debug() in a script prints; --json has every count.",
    "-V, --version": "`steelyard --version`.",
}
"""Every option of pgbench 18 that is not one of ours by the same name, and what to use instead."""


def epilog() -> str:
    """The table, as the help shows it."""
    width = max(map(len, ELSEWHERE))
    lines = [f"  {name:<{width}}  {instead}" for name, instead in ELSEWHERE.items()]
    words = (
        "Options of pgbench that are not here, and what to use instead; all others are the same:"
    )
    return "\n".join(["\b", words, *lines])
