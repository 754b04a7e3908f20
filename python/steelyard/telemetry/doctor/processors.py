"""Checks of the processors: their speed, what else runs on them, and the clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.engines.memory.control_groups import entries_of
from steelyard.telemetry.capacity import hidden_limits, processor_quota
from steelyard.telemetry.doctor.finding import Check, HostFacts, HostFinding, Level
from steelyard.telemetry.host import hidden_processes

CPU = "sys/devices/system/cpu"
THROTTLE_COUNTS = f"{CPU}/cpu[0-9]*/thermal_throttle/core_throttle_count"
_CLOCKS = "sys/devices/system/clocksource/clocksource0"
CLOCK_SOURCE = f"{_CLOCKS}/current_clocksource"
CLOCK_SOURCES = f"{_CLOCKS}/available_clocksource"
GOVERNORS = f"{CPU}/cpu[0-9]*/cpufreq/scaling_available_governors"
STEAL_SHARE = 0.02
THROTTLED_SHARE = 0.005
"""As the threats of a weighing have them: evaluation/threats/machine.py."""
BUSY_PROCESSORS = 0.05
SLOW_CLOCK_NS = 100.0
_LONE_CLOCKS = frozenset({"arch_sys_counter", "timebase", "tod", "riscv_clocksource"})
"""Of processors that have no tsc: Arm, POWER, s390, RISC-V."""
FASTEST_SAMPLING = 100_000
_EVERY_TIME = "every figure in time"


def governor(host: HostFacts) -> HostFinding:
    """Every processor's frequency governor."""
    governors = set(host.every(f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor").values())
    offered = set(" ".join(host.every(GOVERNORS).values()).split())
    advice = "cpupower frequency-set -g performance"
    if offered and "performance" not in offered:
        advice = f"none: this driver offers {', '.join(sorted(offered))} only"
    level: Level = "good" if governors == {"performance"} else "warning"
    state = ", ".join(sorted(governors))
    if not governors:
        level, state = "unseen", "no cpufreq: a hypervisor or the firmware decides"
    return HostFinding(
        "governor",
        level,
        state,
        f"{_EVERY_TIME}: a governor that follows the load runs the first milliseconds of every "
        "slice slower; 10 % and more between light and full load",
        advice,
        "pyperf system tune, krun, ReBench",
    )


def turbo(host: HostFacts) -> HostFinding:
    """Whether the processor may exceed its nominal frequency while it is cool."""
    off, boost = host.number(f"{CPU}/intel_pstate/no_turbo"), host.number(f"{CPU}/cpufreq/boost")
    level: Level = "unseen"
    state = "neither intel_pstate/no_turbo nor cpufreq/boost is there"
    switch = f"echo 0 > /{CPU}/cpufreq/boost"
    if off is not None:
        switch = f"echo 1 > /{CPU}/intel_pstate/no_turbo"
    if off is not None or boost is not None:
        on = off == 0 if off is not None else boost == 1
        level, state = ("note", "on") if on else ("good", "off")
    return HostFinding(
        "turbo",
        level,
        state,
        "figures compared over minutes: the frequency falls as the package warms up. Arms that "
        "are interleaved meet it alike",
        f"leave it for what users have; {switch} for the steadiest figures",
        "pyperf system tune, ReBench",
    )


def frequency_range(host: HostFacts) -> HostFinding:
    """Whether frequencies are held at one value."""
    low = _readable(host.numbers(f"{CPU}/cpu[0-9]*/cpufreq/scaling_min_freq"))
    high = _readable(host.numbers(f"{CPU}/cpu[0-9]*/cpufreq/scaling_max_freq"))
    level: Level = "unseen"
    state = "no cpufreq"
    advice = "cpupower frequency-set -d MAX"
    if low and high:
        least, most = min(low), max(high)
        advice = f"cpupower frequency-set -d {most // 1000}MHz"
        level, state = ("note" if least < most else "good"), f"{least // 1000}–{most // 1000} MHz"
    return HostFinding(
        "frequency range",
        level,
        state,
        f"{_EVERY_TIME}, where the governor is not performance",
        advice,
        "pyperf system tune",
    )


def smt(host: HostFacts) -> HostFinding:
    """Whether two hardware threads share a core."""
    active = host.number(f"{CPU}/smt/active")
    level: Level = "unseen"
    state = "smt/active is not there"
    if active is not None:
        level, state = ("note", "on") if active else ("good", "off")
    return HostFinding(
        "hardware threads (SMT)",
        level,
        state,
        "processor-bound work: a thread whose sibling is busy has about half of a core. Placement "
        "puts siblings last, so it begins to matter when all cores are in use",
        "compare throughput only at the same number of processors; "
        f"echo off > /{CPU}/smt/control to be rid of it",
        "pyperf system tune; pinning order: telemetry/capacity.py",
    )


def heat(host: HostFacts) -> HostFinding:
    """Whether cores were slowed down by their heat while nothing was done."""
    counts = host.numbers(THROTTLE_COUNTS)
    numbers = _readable(counts)
    level: Level = "unseen"
    state = "this processor does not tell" if not counts else "no counter could be read"
    if numbers:
        ever, now = sum(numbers), host.lately.heat_events
        level = "warning" if now else "note" if ever else "good"
        state = f"{ever} times since the start" + (f", {now} just now" if now else "")
        unread = [name.split("/")[-3] for name, count in counts.items() if count is None]
        state += f"; could not be read of {', '.join(unread)}" if unread else ""
    return HostFinding(
        "heat",
        level,
        state,
        f"{_EVERY_TIME}: a core that is too hot runs at a fraction of its frequency",
        "cooling; let the machine come to rest before a long weighing",
        "krun: waits until it is within 3 °C of where it began",
    )


def _readable(numbers: Mapping[str, int | None]) -> list[int]:
    return [number for number in numbers.values() if number is not None]


def steal(host: HostFacts) -> HostFinding:
    """Time that other guests had the processors of this one."""
    share = host.lately.steal_share
    level: Level = "unseen"
    state = host.lately.why_not
    if share is not None:
        level = "warning" if share > STEAL_SHARE else "good"
        state = f"{share:.1%} of the time of all processors that may be used"
    return HostFinding(
        "stolen time",
        level,
        state,
        f"{_EVERY_TIME}: it comes and goes with what others do",
        "another machine, another hour, or dedicated processors",
        "threat of a weighing, 2 %: evaluation/threats/machine.py",
    )


def quota(host: HostFacts) -> HostFinding:
    """A quota on processor time, and whether it stopped this group."""
    allowed, share = processor_quota(host.root), host.lately.throttled_share
    level: Level = "good"
    state = "none"
    if hidden_limits("cpu", host.root):
        level, state = "unseen", "control groups are not to be seen: one may have a quota"
    if allowed is not None:
        level = "warning" if share and share > THROTTLED_SHARE else "note"
        state = f"{allowed:g} processors" + (f"; stopped for {share:.1%}" if share else "")
    return HostFinding(
        "processor quota",
        level,
        state,
        "work that uses more than the quota: it stands still for the rest of every 100 ms, which "
        "shows in the tail of the latencies first",
        "give the container whole processors (cpuset) in place of a quota (cpu.max)",
        "threat of a weighing, 0.5 %: evaluation/threats/machine.py",
    )


def neighbours(host: HostFacts) -> HostFinding:
    """What else runs on the processors now."""
    busy = host.lately.busy_processors
    level: Level = "unseen"
    state = host.lately.why_not
    if busy is not None:
        level = "warning" if busy > BUSY_PROCESSORS else "good"
        state = f"{busy:.2f} processors in use by others"
    return HostFinding(
        "neighbours",
        level,
        state,
        f"{_EVERY_TIME}; drift that comes from them widens every interval",
        "stop what can be stopped: top shows it",
        "pyperf system show; 5 % of one processor",
    )


def numa(host: HostFacts) -> HostFinding:
    """Memory nodes, and what moves pages between them."""
    nodes = len(host.every("sys/devices/system/node/node[0-9]*/cpulist")) or 1
    # A mask since Linux 5.18: 2 moves pages between tiers of memory (sysctl/kernel.rst).
    moves = (host.number("proc/sys/kernel/numa_balancing") or 0) != 0
    reclaims = (host.number("proc/sys/vm/zone_reclaim_mode") or 0) != 0
    level: Level = "good"
    if nodes > 1:
        level = "warning" if moves or reclaims else "note"
    state = f"{nodes} node{'s' if nodes > 1 else ''}"
    state += ", numa_balancing on" if nodes > 1 and moves else ""
    state += ", zone_reclaim_mode on" if nodes > 1 and reclaims else ""
    wrong = [("kernel.numa_balancing", moves), ("vm.zone_reclaim_mode", reclaims)]
    settings = ", ".join(f"{name} = 0" for name, on in wrong if on)
    return HostFinding(
        "memory nodes (NUMA)",
        level,
        state,
        "work in memory on several nodes: a page on another node takes up to twice as long, and "
        "where it lies is decided at every restart",
        "numactl --interleave=all for the servers" + (f"; {settings}" if settings else ""),
        "PostgreSQL wiki, tuned postgresql profile",
    )


def clock(host: HostFacts) -> HostFinding:
    """The clock source, and what a reading costs."""
    others = (host.text(CLOCK_SOURCES) or "").split()
    name = host.text(CLOCK_SOURCE)
    cost = host.lately.clock_ns
    level: Level = "unseen"
    state = name or "unknown"
    if name is not None:
        slow = cost is not None and cost > SLOW_CLOCK_NS
        level = "warning" if slow or name in ("hpet", "acpi_pm", "jiffies") else "good"
        state += "" if cost is None else f", {cost:.0f} ns a reading"
    return HostFinding(
        "clock",
        level,
        state,
        "track_io_timing, EXPLAIN ANALYZE, and any driver that times every transaction: two "
        "readings each. With hpet that is about a microsecond",
        _clock_advice(name or "", others),
        "pg_test_timing: more than 90 % below 1 µs; docs: less than 100 ns a loop",
    )


def _clock_advice(name: str, others: Sequence[str]) -> str:
    """What can be done about a slow clock: a faster source that is there, or what makes it slow."""
    if name != "tsc" and "tsc" in others:
        return f"echo tsc > /{CLOCK_SOURCE}"
    if name == "tsc" or name in _LONE_CLOCKS:
        return (
            f"{name} is the fastest source there is: look again while nothing else runs; if it "
            "stays slow, the hypervisor answers in its place, or the kernel's vDSO is off (vdso=0)"
        )
    offered = f"only {', '.join(others)} are offered" if others else "no other is offered"
    return f"{offered}: boot with tsc=reliable, or ask whoever runs the hypervisor for tsc"


def autogroup(host: HostFacts) -> HostFinding:
    """Whether the scheduler shares processors between terminals first."""
    on = host.number("proc/sys/kernel/sched_autogroup_enabled")
    level: Level = "unseen" if on is None else "note" if on else "good"
    state = "this kernel has none" if on is None else "on" if on else "off"
    return HostFinding(
        "autogroup",
        level,
        state,
        "work in other terminals, and loads that are started from another one than their server: "
        "processors are shared between terminals first, so that nice 19 elsewhere still takes its "
        "share. A weighing starts both",
        "kernel.sched_autogroup_enabled = 0, or echo 19 > /proc/self/autogroup in the others",
        "sched(7); pgsql-performance, January 2013 (two kernel tweaks)",
    )


def isolation(host: HostFacts) -> HostFinding:
    """Processors that the scheduler leaves alone."""
    command = (host.text("proc/cmdline") or "").split()
    options = [
        word for word in command if word.startswith(("isolcpus=", "nohz_full=", "rcu_nocbs="))
    ]
    return HostFinding(
        "isolated processors",
        "note" if options else "good",
        ", ".join(options) or "none",
        "placement: processes on isolated processors are not balanced between them",
        "pin servers to them by taskset, or boot without these options",
        "kernel-parameters.txt, krun",
    )


def interrupts(host: HostFacts) -> HostFinding:
    """Whether a daemon moves interrupts between processors."""
    names = host.every("proc/[0-9]*/comm").values()
    running, hidden = "irqbalance" in names, hidden_processes(host.root / "proc")
    none = f"no irqbalance that is to be seen: {hidden}" if hidden else "no irqbalance"
    return HostFinding(
        "interrupts",
        "note" if running else "unseen" if hidden else "good",
        "irqbalance moves them" if running else none,
        "work with many packets or requests: which processor serves them changes every ten "
        "seconds, and with it the processor that has less time for servers",
        "systemctl stop irqbalance while weighing for long",
        "pyperf system tune",
    )


def address_space(host: HostFacts) -> HostFinding:
    """Whether memory is laid out anew in every process."""
    mode = host.number("proc/sys/kernel/randomize_va_space")
    level: Level = "unseen" if mode is None else "good" if mode == 2 else "note"
    return HostFinding(
        "address space layout",
        level,
        "it cannot be seen" if mode is None else f"randomize_va_space {mode}",
        "differences of less than a percent: a layout that is the same at every start is a luck "
        "that every epoch shares; drawn anew, it is scatter that the interval holds",
        "kernel.randomize_va_space = 2",
        "pyperf system tune (full); Mytkowicz et al., ASPLOS 2009",
    )


def sampling(host: HostFacts) -> HostFinding:
    """How often perf may interrupt a processor."""
    rate = host.number("proc/sys/kernel/perf_event_max_sample_rate")
    level: Level = "unseen"
    if rate is not None:
        level = "note" if rate > FASTEST_SAMPLING else "good"
    return HostFinding(
        "perf's sampling rate",
        level,
        "it cannot be seen" if rate is None else f"at most {rate} a second",
        "hosts with a profiler: each sample interrupts the processor for some microseconds",
        "kernel.perf_event_max_sample_rate = 1 while weighing",
        "pyperf system tune (1); the kernel begins with 100,000",
    )


def power(host: HostFacts) -> HostFinding:
    """Whether a laptop runs from its battery. What powers a device that is attached to it (scope
    Device: a mouse, a pen) says nothing of the machine."""
    supplies = {path: (host.text(f"{path}/type") or "").lower() for path in _supplies(host)}
    online = {path: host.text(f"{path}/online") for path in supplies}
    batteries = [path for path, kind in supplies.items() if kind == "battery"]
    # Ports for USB are there without a battery too, with nothing attached.
    mains = [path for path, kind in supplies.items() if kind in ("", "mains") and online[path]]
    # 2: a supply that agrees on its voltage, as USB-C has it.
    plugged = any(online[path] in ("1", "2") for path in supplies if path not in batteries)
    level: Level = "good"
    state = "mains" if plugged else "no battery"
    if not plugged and (batteries or mains):
        level, state = "warning", "battery"
    return HostFinding(
        "power supply",
        level,
        state,
        f"{_EVERY_TIME}: firmware lowers frequencies on battery",
        "plug it in",
        "pyperf system show; Documentation/ABI/testing/sysfs-class-power",
    )


def _supplies(host: HostFacts) -> list[str]:
    """Directories of the supplies of the machine itself, and not of a device."""
    every = entries_of(host.root / "sys/class/power_supply")
    paths = [str(path.relative_to(host.root)) for path in every]
    return [path for path in paths if host.text(f"{path}/scope") != "Device"]


CHECKS: tuple[Check, ...] = (
    *(governor, turbo, frequency_range, smt, heat, steal, quota, neighbours, numa, clock),
    *(autogroup, isolation, interrupts, address_space, sampling, power),
)
