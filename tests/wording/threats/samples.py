"""One of everything that can be seen, with figures as they come."""

from __future__ import annotations

import math

from steelyard.analysis.checks.slots import PlaceCheck
from steelyard.analysis.turns.debt import DebtGrowth
from steelyard.analysis.two_samples.centres import Centred
from steelyard.analysis.two_samples.trend import Trend
from steelyard.evaluation import rates
from steelyard.evaluation.threats import (
    checkpoint_distance,
    cycles,
    epochs,
    inspection,
    machine,
    memory,
    numbers,
    pool_warmth,
    run,
    together,
    turn_facts,
    work,
)
from steelyard.model.estimate import Interval
from steelyard.model.latency_goal import LatencyGoal
from steelyard.model.threat import Quoted, ThreatKind
from steelyard.record.epoch import OtherLoadLine
from steelyard.record.machine import TOO_HOT, ArmPlace, FilesPlace

_CHECK = PlaceCheck(0.0231, 0.002, Interval(0.008, 0.0378))
_COUNTS = ("off", "on", (7, 1), (12_000, 11_900))
_GOAL = LatencyGoal(0.99, 20_000_000)
_NEAR = checkpoint_distance.Distance(0.25, 1e7)
_FAR = checkpoint_distance.Distance(300.0, 5.65e8)
_IMAGES = (
    checkpoint_distance.Images("off", 3.14, 0.614),
    checkpoint_distance.Images("on", 0.0, 0.0),
)
_FELL = pool_warmth.ReadsFell("off", 0.8, 0.38, 0.32)


def _step(first: int, last: int, percent: float) -> numbers.Step:
    return numbers.Step(first, last, 1, 12, percent, percent - 18, percent + 21)


SAMPLES = (
    Quoted(ThreatKind.PLACEMENT_FREE, "72 % of the pilot's samples waited for the WAL flush"),
    epochs.SlotsDiffer(_CHECK),
    epochs.SlotsDiffer(PlaceCheck(0.0231, 0.002)),
    epochs.StartOrderMatters(_CHECK),
    epochs.CarriedOver("off", "on", _CHECK),
    epochs.UnequalDrops(*_COUNTS),
    epochs.UnequalDrops("off", "on", (1, 7), (12_000, 11_900)),
    epochs.UnequalFailures(*_COUNTS),
    epochs.UnequalClientsGivenUp(*_COUNTS),
    epochs.ClientsGivenUp(*_COUNTS),
    epochs.ArmDidNotComplete("off", ((3, "crashed"), (7, "hung")), 12),
    epochs.EpochsWithoutReading(((3, "failed: driver was lost"),), 12),
    epochs.LatenciesFill("off", 0.613),
    epochs.StallsAtBorder("off", 0.031),
    epochs.EpochsSkewed("off", "on", -1),
    epochs.EpochsSkewed("off", "on", 1),
    epochs.TooFewEpochs(6, 8),
    epochs.WeighedBefore(2),
    epochs.JudgedBefore(1),
    epochs.JudgedBefore(3),
    inspection.MachineChanged(("kernel: 6.8 and 6.12", "memory: 16 GB and 32 GB")),
    inspection.DebugBuild(),
    inspection.LedgerOffBalance(1, 104.2),
    inspection.LedgerOffBalance(31, 1234.5),
    inspection.BuildsDiffer(
        "on",
        "off",
        (
            ("builder", "gcc 14.2.1", "gcc 7.5"),
            ("configure", "nothing more", "'--with-openssl'"),
            ("cflags", "-O2", "-Os"),
            ("assertions", "False", "True"),
        ),
    ),
    inspection.PlansDiffer("on", "off", (("q: SELECT 1;", ()), ("q: SELECT 2;", ()))),
    inspection.PlansDiffer(
        "on", "off", tuple((f"delivery: SELECT {n} " + "x " * 400, ()) for n in range(10))
    ),
    inspection.PlansDiffer(
        "on",
        "off",
        (
            ("q: SELECT 1;", ()),
            ("q: SELECT 2;", ("Index Scan on t by t_pkey → Seq Scan on t", "a → b", "c → d")),
            ("q: SELECT 3;", ("Index Scan on t by t_pkey → Seq Scan on t", "a → b")),
            ("q: SELECT 4;", ()),
        ),
    ),
    inspection.SettingsMissing("the server's settings could not be read"),
    inspection.SettingReplaced("shared_buffers", "8GB", "2GB", "two servers share the memory"),
    numbers.ConditionsDiffer(
        "on",
        "off",
        (
            numbers.DifferingCondition("bs", ("4k",), ("8k", ""), explains=True),
            numbers.DifferingCondition("fio version", ("3.33",), tuple("12345"), False),
        ),
    ),
    numbers.WrongRowsReturned("off", 3, 900),
    numbers.UnequalOutcomes("on", "off", (0, 4200), (10_000, 14_000)),
    numbers.UnequalFailureCounts("pg17", "pg16", (216_000, 24), (12, 12)),
    numbers.UnequalFailureCounts("pg17", "pg16", (1, 240), (1, 1)),
    numbers.UnequalFailureShares("on", "off", '"error_rate"', (0.31, 0.001)),
    numbers.QuotedOfRuns(ThreatKind.STEAL, "5.0% of processor time was stolen", 1),
    numbers.QuotedOfRuns(ThreatKind.STEAL, "5.0% of processor time was stolen", 20),
    numbers.ClosedLoopBroken("off", 256, 879.99, 267.49, 235.39, 290.91),
    numbers.ClosedLoopBroken("on", 8, 1000, 10, 10, 8),
    numbers.ClosedLoopBroken("on", 16, 1_234_567.8, 10_000, 12_345_678, 0.01296),
    numbers.OrderNotDrawn(alternating=False),
    numbers.OrderNotDrawn(alternating=True),
    numbers.ArmsMovedMeanwhile((("off", 0.151), ("on", 0.1482))),
    numbers.OneArmAfterOther("on", "off"),
    numbers.SingleValues(("off", "on")),
    numbers.PartsOfOneRun(("off", "on")),
    numbers.TooFewRows(7, 8),
    numbers.RowsDepend("on", False, 40, 0.6, 0.931, 0.99, enough=False),
    numbers.RowsDepend("on", True, 30, 6.4, -0.132, 0.61, enough=True),
    numbers.RowsDepend(None, False, 8, 4.3, math.nan, math.nan, enough=True),
    numbers.OrderNotStated("nothing says in which order the files of an arm were measured"),
    numbers.RowsOfDifferentThings(),
    numbers.RowsSorted(),
    numbers.AllArmsMoved(
        numbers.Movement((_step(17, 23, 20.1), _step(13, 13, -56.2), *[_step(1, 2, 5)] * 3))
    ),
    numbers.ArmMoved("on", numbers.Movement((), Trend(0.113, 0.039, 0.191))),
    numbers.DifferenceMoved("on", numbers.Movement((_step(13, 16, 56.2),))),
    numbers.FewRowsDecide("on", (("", (3, 9)),), 0.151, 0.0023),
    numbers.FewRowsDecide("on", (("off", (3,)), ("on", tuple(range(9)))), 0.151, -0.0023),
    numbers.CentresDisagree(
        "on", Centred("mean", 0.21, -0.03, 0.48), Centred("median", 0.0021, -0.012, 0.0113)
    ),
    inspection.DirectoriesTied({"off": ArmPlace(data=FilesPlace(type="ext4", source="/dev/sdb"))}),
    inspection.DirectoriesTied(
        {
            "on": ArmPlace(data=FilesPlace(type="ext4", source="/dev/x", mount="/a")),
            "off": ArmPlace(data=FilesPlace(type="xfs", source="/dev/x", mount="/b")),
        }
    ),
    inspection.PagesMayTear("off", "full_page_writes", FilesPlace(type="ext4", source="/dev/sdb")),
    inspection.PagesMayTear("off", "innodb_doublewrite", FilesPlace()),
    together.MachinesApart("off", 20, 200, 4_100_000),
    together.MachinesFartherApart("on", "off", 0.0103),
    together.DriverUsesProcessors("b", 0.875),
    together.MachineLate("b", 1.0),
    together.ClientsSlow("b", 0.375),
    together.FewerEndedThanCounted(320_000.0, 317_000.0),
    rates.RateIsBound("off", _GOAL, "slowest", 2, 12),
    rates.RateIsBound("off", _GOAL, "fastest", 12, 12),
    rates.LimitNeverCrossed("off", 24, 1, 12),
    rates.DriverLate("off", 3_000_000.0, 10, 250),
    rates.ClientsTooFew("off", 16, 0.75, 0.5),
    rates.ClientsTooFew("off", 1, 0.75, 0.5),
    checkpoint_distance.CheckpointsNearer("on", _NEAR, _FAR, _IMAGES, ("wal_compression",)),
    checkpoint_distance.CheckpointsNearer("on", _NEAR, _FAR, _IMAGES, ("fsync", "wal_level")),
    checkpoint_distance.CheckpointsNearer("on", _NEAR, _FAR, _IMAGES, ()),
    cycles.ProcessesMoved("off", 40_000, 1, 10),
    cycles.WindowsCut("off", 3, 10, 4e9),
    cycles.WindowsCut("off", 5, 10, math.inf),
    cycles.TimerUnscaled("off", 7.5, 15.0, alone=True),
    cycles.TimerUnscaled("off", 7.5, 15.0, alone=False),
    cycles.WriteBackShared(("off", "pglz"), (8e6, 4e6), (6e6, 6e6), 3.04, 0.5),
    cycles.LogSpacesCheckpoints("off", "on", 4.04, 15.96, 5, 6),
    pool_warmth.PoolNotWarm((pool_warmth.ReadsFell("off", 0.91, 0.59, None),), None),
    pool_warmth.PoolNotWarm((pool_warmth.ReadsFell("on", 12_345.6, 11_870.2, 11_020.0),), None),
    pool_warmth.PoolNotWarm(
        (pool_warmth.ReadsFell("on", 1.412, 1.404, 1.3961), _FELL),
        pool_warmth.ContrastMoved(None),
    ),
    pool_warmth.PoolNotWarm((_FELL,), pool_warmth.ContrastMoved(0.0213)),
    pool_warmth.PoolNotWarm((_FELL,), pool_warmth.ContrastMoved(0.213, True)),
    turn_facts.DirectoryNotDrawn("off", "on", 10),
    turn_facts.ResidencyUnknown(),
    turn_facts.FilesStayedResident("on", "off", (0, 1), 10, share=0.3, arms_differ=False),
    turn_facts.FilesStayedResident("on", "off", (0, 10), 10, share=0.484, arms_differ=True),
    turn_facts.DeviceWasBusy("on", "off", (2, 0), 10, waiting_bytes=2e8, arms_differ=False),
    turn_facts.DeviceWasBusy("on", "off", (10, 0), 10, waiting_bytes=2e8, arms_differ=True),
    turn_facts.TurnsNotLevel("off", 6, 10),
    turn_facts.TurnsCutOff("off", 10, 10, 6e10, (0, 0), 0, arms_differ=False),
    turn_facts.TurnsCutOff("off", 10, 10, None, (0, 0), 0, arms_differ=False),
    turn_facts.TurnsCutOff("off", 7, 10, 6e10, (1, 1), 7, arms_differ=True),
    turn_facts.TurnsCutOff("off", 7, 10, 6e10, (2, 2), 3, arms_differ=False),
    turn_facts.TurnsCutOff("off", 7, 10, 6e10, (0, 2), 0, arms_differ=True),
    turn_facts.TurnsUnequal(
        turn_facts.MeasuredTime("on", 6e10, 9e10), turn_facts.MeasuredTime("off", 3e10, 2.2e10)
    ),
    turn_facts.TurnsUnequal(
        turn_facts.MeasuredTime("on", 6e10, None), turn_facts.MeasuredTime("off", 3e10, None)
    ),
    turn_facts.NoPauseBetweenCheckpoints("off", 4e9, 2e8, 30),
    turn_facts.NoPauseBetweenCheckpoints("off", 4e9, -1e8, 30),
    turn_facts.LogGrew("on", "off", DebtGrowth(0.0, 0.061, True)),
    turn_facts.WaitingBytesGrew("on", "off", DebtGrowth(-0.004, 0.061, True)),
    turn_facts.ReadingAged(0.27, 10),
    machine.ProcessorTimeStolen(0.05),
    machine.GroupThrottled(2e9, 100e9),
    machine.LittleMemoryLeft(float(1 << 29)),
    machine.SwappedOut(float(1 << 28)),
    machine.StoodStillForMemory(3e9),
    machine.LittleDiskLeft(float(1 << 30)),
    machine.StartedAnew(),
    machine.Suspended(30e9),
    machine.ProcessorsChanged(2, 1),
    machine.MemoryChanged(float(16 << 30), float(8 << 30)),
    machine.ProcessorShared(3),
    machine.OtherLoads((OtherLoadLine(pid=712, command="weigh checksums"),)),
    machine.OtherLoads(
        (OtherLoadLine(pid=712, command="weigh a"), OtherLoadLine(pid=9, command="drive"))
    ),
    machine.InEpochs(machine.ProcessorTimeStolen(0.05), 0, 12, 12),
    machine.InEpochs(Quoted(ThreatKind.STEAL, "9 % was stolen"), 0, 2, 3),
    machine.DrivesHot(
        (
            machine.SlowedDown("nvme0n1", "light", 3, 12),
            machine.SlowedDown("nvme0n1", "heavy", 1, 2),
            machine.AboveTemperature("nvme0n1", "warning", 1),
            machine.DriveWarning("nvme1n1", TOO_HOT, new=True),
        )
    ),
    machine.DrivesFailing((machine.MediaErrors("nvme0n1", 1),)),
    machine.DrivesFailing(
        (
            machine.MediaErrors("nvme0n1", 2),
            machine.DriveWarning("nvme0n1", "its media are read-only", new=False),
        )
    ),
    memory.HardlyRead((memory.ReadsOfArm("on", 0.0, float(90 << 20)),), 400 << 20),
    memory.HardlyRead(
        (memory.ReadsOfArm("on", 312.25, None), memory.ReadsOfArm("off", 800.0, 9e7)), None
    ),
    memory.TimeOnProcessors(
        (memory.TimesOfArm("on", 20_000.0, 7_500.0), memory.TimesOfArm("off", 21_000.0, 7_000.0))
    ),
    memory.WritesUnderV1(400 << 20),
    memory.PageCacheBypassed("debug_io_direct", (("off", "data"),)),
    memory.PageCacheBypassed("debug_io_direct", (("on", "data, wal"), ("off", "data"))),
    memory.FilesStayedCached(0.0107, 1, 2),
    run.WrongRows("off", 3),
    run.WrongRows("off", 1),
    run.ChecksViolated("on", 1, "sum(abalance) is 1 but 0", 1),
    run.ChecksViolated("on", 1, "sum(abalance) is 1 but 0", 4),
    run.BackgroundInOneArm("checkpoints", (("on", 0.0), ("off", 4.0))),
    run.WorkingSetUnlike("exceeds", (("on", 0.0),)),
    run.WorkingSetUnlike("fits", (("on", 4.02), ("off", 3.987))),
    run.DriverMostOfWork(0.615),
    run.ThroughputMovedToo("off", 0.1),
    run.ThroughputHardlyMoved("off", -0.033),
    run.PilotUnsettled(),
    run.StillDrifting("on", 6, 8),
    run.FewLoads(1),
    run.FewLoads(2),
    run.ConnectionsDrawn(),
    run.DatabasesOfOneServer(),
    run.ServersOfTheirOwn(),
    work.StandbyBehind("off", float(17 << 20), 1500.0),
    work.ArrivalsNotBegun("off", 6, 303),
    work.NoRowAtAll("off", "on", 4000),
    work.NoRowOfArm("off", 1.0),
    work.RowsUnlike("off", "on", -0.0202),
)
