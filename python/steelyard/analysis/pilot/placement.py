"""Chooses the placement of processes: symmetric, unless the work waits for the disk.

Standard deviation of a 6.5 s epoch of equal arms on a shared 2-core machine: read-only, 8 clients
.7 % symmetric, 4.4–7.4 % free; 64 clients .6 against 3.0 %; durable updates 2.7–4.1 % symmetric,
1.3–2.6 % free. Mechanism, not trial: two epochs of each pick the steadier one of two in only 70 %.
"""

from __future__ import annotations

WAL_FLUSH_LIMIT = 0.2
"""Share of backends' active samples that wait for the WAL flush from which placement is free. Work
in memory shows none and durable updates most; the exact place of the line is not measured."""


def choose_placement(wal_flush_share: float, parallel_plans: bool = False) -> tuple[str, str]:
    """What "auto" means, "symmetric" or "free", and why.

    `wal_flush_share`: share of the pilot's looks at active backends that waited for the WAL flush,
    0 … 1. `parallel_plans`: whether some plan uses parallel workers.
    """
    share = f"{100 * wal_flush_share:.0f} % of the pilot's samples waited for the WAL flush"
    if parallel_plans:
        return "free", "a plan uses parallel workers, which cannot be pinned alike"
    if wal_flush_share >= WAL_FLUSH_LIMIT:
        return "free", share
    return "symmetric", share
