"""What holds an arm up is said with what shows it."""

from __future__ import annotations

import pytest

from steelyard.evaluation.transaction.bottleneck import BottleneckFacts, Ceiling
from steelyard.wording.bottleneck import bottleneck_line, evidence_text

DISK = Ceiling("sdb", 900.0, 1_000.0, 3.0, 300.0, by_processors=False)
BOUND = Ceiling("sdb", 900.0, 1_000.0, 3.0, 300.0, by_processors=True)


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (
            BottleneckFacts("off", "lock", "lock", 0.5, 1200.0),
            "50% of 1.2 ms a transaction: locks and other waits",
        ),
        (
            BottleneckFacts("off", "none", "client", 0.31, 90.0),
            "31% of 90 µs a transaction: the client and the network",
        ),
        (
            BottleneckFacts("off", "processor", "processor", 0.9, 100.0, 0.25),
            "90% of 100 µs a transaction: on a processor or waiting for one, 25% of it waiting for "
            "one",
        ),
        (
            BottleneckFacts(
                "off", "waiting for a processor", "processor", 1.0, 100.0, 0.8, withheld=0.15
            ),
            "100% of 100 µs a transaction: on a processor or waiting for one, 80% of it waiting "
            "for one; 15.0% of the processors' time was withheld",
        ),
        (
            BottleneckFacts("off", "device", "reading", 0.7, 100.0, device=DISK),
            "70% of 100 µs a transaction: reading blocks; sdb did 900 reads/s and 3 writes/s, 91 % "
            "of what the probe got from it",
        ),
        (
            BottleneckFacts("off", "WAL flush", "WAL flush", 0.7, 100.0, device=BOUND),
            "70% of 100 µs a transaction: writing and syncing the log; sdb did 900 reads/s and 3 "
            "writes/s, 91 % of what the probe got from it, whose limit were the processors: the "
            "device can do more",
        ),
    ],
)
def test_the_evidence_names_the_part_its_share_and_what_the_device_did(
    facts: BottleneckFacts, text: str
) -> None:
    assert evidence_text(facts) == text
    line = bottleneck_line(facts)
    assert (line.arm, line.kind, line.share) == (facts.arm, facts.kind, facts.share)
    assert line.evidence == text
