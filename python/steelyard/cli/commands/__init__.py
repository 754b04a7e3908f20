"""The commands, one file each, with the lines by which `steelyard --help` lists them.

The lines stand here, so that listing the commands imports none of them; a test holds each to the
help of its command.
"""

COMMANDS = {
    "weigh": "Weigh the arms of a study against each other: a verdict, its interval, cause and "
    "doubts.",
    "calibrate": "Weigh equal arms and known weights: readings beside truths, and what to trust "
    "them for.",
    "judge": "Judge numbers from elsewhere: what they support, by the rules of a weighing.",
    "drive": "Put one server under load, as pgbench does, and show throughput and percentiles.",
    "scrub": "Read every page of a PostgreSQL 12 to 19 cluster, or of InnoDB, and find the "
    "damaged.",
    "drill": "Show what checksums catch and what they miss, on clusters that are made for it and "
    "removed.",
    "checksums": "Say how long `pg_checksums --enable` would take, how to avoid that, and what "
    "they cost.",
    "upgrade": "Rehearse an upgrade by pg_upgrade on a copy: may we, what it costs, what to do.",
    "doctor": "Say what on this host would spoil which kind of weighing, and what to do about it.",
    "probe": "Measure what the storage beneath a directory does, by fio: reads, writes, the log's "
    "path.",
    "tune": "Propose settings: each with its reason and source, and where sources disagree.",
    "studies": "List the built-in studies, or print one to copy.",
    "report": "Make report.html again from a record and print its path; or judge the record again.",
    "history": "List, compare, follow and export what was weighed before.",
    "fleet": "Show what many machines answered; bring their records together.",
    "reproduce": "List published studies, or repeat one: its weighings, and a page that sets both "
    "side by side.",
    "site": "Make the history as static pages: a wall, a page a question, comparisons, feeds, "
    "badges.",
    "serve": "Show the history in a browser of this machine, kept up to date, until Ctrl-C.",
    "engines": "List the engines found and the cache; add and remove engines.",
    "workloads": "List the workloads; load one into the cache or into a server.",
    "completion": "Print what makes a shell complete commands, options and studies: source it, or "
    "keep it.",
}
"""Name and help line, in the order in which they are listed."""
GROUPS = {
    "Weigh": ("weigh", "calibrate", "judge", "reproduce", "studies"),
    "Look after a database": ("scrub", "checksums", "upgrade", "drill", "tune"),
    "Look at a machine": ("doctor", "probe"),
    "Put under load": ("drive", "workloads"),
    "Read results": ("report", "history", "site", "serve", "fleet"),
    "Set up": ("engines", "completion"),
}
"""Purpose → its commands, in the order in which help lists them."""
_RECORDS = "reads the records"
FIRST_WORDS = {
    "weigh": "reads the question and finds engines",
    "calibrate": "finds engines",
    "judge": "reads the numbers",
    "report": "reads the record",
    **dict.fromkeys(("history", "fleet", "site", "serve"), _RECORDS),
    "reproduce": "reads the published studies",
    "engines": "looks for engines",
    "scrub": "reads the cluster",
    "checksums": "reads the cluster",
    "upgrade": "reads the cluster",
    "tune": "looks at this machine",
}
"""What a command is at first, where that takes longer than a moment."""
FOLDERS = {
    "history": "records",
    "fleet": "records",
    "reproduce": "records",
    "site": "records",
    "serve": "records",
    "report": "records",
}
"""Name → the folder of its file, of commands that do not stand in this one."""


def module_of(name: str) -> str:
    """The module that a command is imported from."""
    folder = FOLDERS.get(name)
    return f"steelyard.cli.commands.{f'{folder}.' if folder else ''}{name}"
