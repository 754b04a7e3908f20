"""Lists the words of headings by what they mean. A heading is read word by word (`heading.py`)."""

from __future__ import annotations

LATENCY_WORDS = {"latency", "latencies", "lat", "rtt", "rt", "clat"}
TIME_WORDS = {
    *("time", "times", "duration", "durations", "elapsed", "runtime", "wall", "took", "walltime"),
    *("wallclock", "wallclocktime"),
    *("ms_taken", "exectime", "mean_exec_time", "realtime", "cputime"),
}
WEAK_TIME_WORDS = {"time", "times", "duration", "durations", "runtime"}
"""Alone they may also say how long a run was, or when it was."""
STRONG_TIME_QUALIFIERS = {
    *("real", "exec", "execution", "query", "queries", "wall", "response", "service", "req"),
    *("request", "statement", "transaction", "txn", "op", "operation", "completion", "job"),
}
"""With one of them before it a time was measured."""
RATE_WORDS = {"throughput", "goodput", "bandwidth", "bw", "rate", "speed"}
WEAK_RATE_WORDS = {"rate", "speed"}
"""A rate of something: of work only where a noun of work, or nothing, stands beside it."""

MEAN_WORDS = {"avg", "average", "mean", "averages", "avrg", "geomean"}
MEDIAN_WORDS = {"median", "med"}
EXTREME_WORDS = {
    "min": ("min", "minimum", "best", "fastest", "lowest", "least"),
    "max": ("max", "maximum", "worst", "slowest", "highest", "peak"),
    "first": ("first", "initial", "cold"),
    "last": ("last", "final"),
    "total": ("sum", "cumulative", "cum"),
    "range": ("range", "iqr", "spread"),
}
TOTAL_WORDS = {"total", "totals", "sum", "cumulative", "cum", "accumulated", "summed"}
"""Over all calls: of a time no mean."""
SPREAD_WORDS = {
    *("stddev", "stdev", "std", "stdv", "sd", "sdev", "deviation", "var", "variance", "cv", "rsd"),
    *("mad", "sem", "stderr", "ci", "confidence", "margin", "jitter", "dev", "sigma"),
}
PERCENTILE_WORDS = {"percentile", "percentiles", "pct", "quantile", "ptile", "pctl", "perc"}

COUNTED_FAILURES = {
    *("error", "errors", "err", "errs", "fail", "fails", "failed", "failure", "failures"),
    *("abort", "aborts", "aborted", "retry", "retries", "retried", "rollback", "rollbacks"),
    *("deadlock", "deadlocks", "timeout", "timeouts", "skipped", "dropped", "conflicts"),
    *("exceptions", "rejected", "lost", "serialization"),
}
"""Transactions that did not simply succeed."""
BAD_WORDS = COUNTED_FAILURES | {
    *("skip", "drop", "drops", "miss", "misses", "missed", "conflict", "stall", "stalls"),
    *("exception", "rejects", "reconn", "reconnects", "reconnections", "killed", "crashes"),
    *("crash", "loss", "invalid", "wrong", "late", "throttled", "unavailable", "evictions"),
    *("eviction", "cancelled", "canceled", "broken", "bad"),
}
"""What went wrong: less is better, and it is no rate of work."""
GOOD_OUTCOMES = {"success", "succeeded", "successes", "successful", "ok", "passed"}
ERRORS_OF_EITHER = {"error", "errors", "err", "errs"}
"""Of transactions, or of a number: how far off it may be."""
ERROR_OF_NUMBER = SPREAD_WORDS | {
    *("score", "relative", "rel", "standard", "mean", "avg", "estimate", "sampling", "rms"),
    *("measurement", "prediction", "absolute", "abs", "rounding"),
}
"""Beside an error, of a number."""
FRACTION_WORDS = {"rate", "ratio", "percent", "percentage", "fraction", "share", "pct", "%"}
SHARE_WORDS = {
    *("ratio", "percent", "percentage", "fraction", "share", "pct", "%", "proportion", "mix"),
}
MIXED_WORDS = {
    *("read", "reads", "write", "writes", "update", "updates", "insert", "inserts", "select"),
    *("selects", "delete", "deletes", "scan", "scans", "lookup", "lookups", "rw", "ro", "dml"),
    *("neworder", "payment", "mix", "rmw"),
}
"""Of a share: what a load was mixed of."""
DERIVED_WORDS = {
    *("%", "ratio", "diff", "delta", "change", "speedup", "relative", "rel", "percent", "pct"),
    *("percentage", "difference", "improvement", "gain", "overhead", "normalized", "scaled"),
    *("vs", "ratios", "diffs", "deltas", "changes", "speedups", "differences", "improvements"),
    *("gains", "gained", "overheads", "degradation", "degradations", "penalty", "penalties"),
    *("reduction", "reductions", "reduced", "regression", "regressions", "saved", "saving"),
    *("savings", "increase", "increased", "decrease", "decreased", "slowdown", "slowdowns"),
    *("uplift", "lift", "benefit", "advantage", "disadvantage", "decline", "growth", "worsening"),
    *("deterioration", "faster", "slower"),
}
"""Computed from other columns."""
CHANGED_WORDS = {
    *("increased", "decreased", "reduced", "faster", "slower", "regression", "saved", "gained"),
}
"""Of them those that alone are names of arms: "normal" and "reduced"."""

PARAMETER_WORDS = {
    *("scale", "scalefactor", "sf", "scaling", "size", "sizes", "worker", "workers", "warehouse"),
    *("warehouses", "terminals", "tables", "partitions", "shards", "nodes", "replicas", "cores"),
    *("cpus", "vcpus", "buffers", "mem", "memory", "ram", "cache", "depth", "iodepth", "numjobs"),
    *("bs", "blocksize", "batchsize", "fillfactor", "protocol", "querymode", "isolation", "limit"),
    *("threshold", "target", "interval", "warmup", "ramp", "rampup", "think", "sleep", "budget"),
    *("measurement", "delay_ms", "parallel", "parallelism", "degree", "dop", "pool", "poolsize"),
    *("pipeline", "prepared", "columns", "cols", "width", "cardinality", "selectivity", "payload"),
    *("density", "skew", "theta", "zipf", "port", "seed", "forks", "config_id", "setting"),
    *("length", "len", "param", "parameter", "level", "ratio_r", "dataset", "datasize", "gb_data"),
    *("checkpoint", "wal_size", "hugepages", "jit", "compression", "fsync", "numa", "machine"),
    *("instance", "cpu_model", "kernel", "schema", "hour", "weekday", "n_rows", "nrows", "numrows"),
    *(
        "client",
        "clients",
        "connection",
        "connections",
        "conns",
        "concurrency",
        "thread",
        "threads",
    ),
    *("user", "users", "vu", "vus", "sessions", "terminal", "jobs", "thds", "numthreads", "conn"),
    *("qd", "queuedepth", "procs", "nproc", "processes", "instances", "vcpu", "core", "offset"),
}
"""What was asked for, not what came of it."""
LOAD_WORDS = {
    *("scale", "scalefactor", "sf", "scaling", "size", "worker", "workers", "warehouse"),
    *("warehouses", "terminals", "terminal", "tables", "iodepth", "numjobs", "bs", "blocksize"),
    *(
        "client",
        "clients",
        "connection",
        "connections",
        "conns",
        "concurrency",
        "thread",
        "threads",
    ),
    *("user", "users", "vu", "vus", "thds", "numthreads", "dataset", "datasize", "querymode"),
    *("protocol", "payload", "rows", "nrows", "n_rows", "numrows", "conn", "sessions", "depth"),
    *("percent", "skew", "theta", "zipf", "batchsize", "qd", "queuedepth", "procs", "nproc"),
    *("processes", "instances", "ratio", "pct", "percentage", "fraction", "proportion", "share"),
    *("%", "mix", "records", "tuples", "items", "documents", "docs"),
}
"""Parameters of the load: where the arms differ in one, it explains any difference."""
CLIENT_WORDS = {
    *("clients", "client", "connections", "concurrency", "threads", "users", "vus", "vu", "thds"),
    *("conns", "conn", "terminals"),
}
COUNT_WORDS = {
    *("count", "counts", "samples", "sample", "iterations", "iters", "loops", "reps", "runs"),
    *("repetitions", "trials", "processed", "executed", "executions", "completed", "done", "n"),
    *("transactions", "txns", "queries", "requests", "operations", "rows", "records", "calls"),
    *("bytes", "hits", "tuples", "pages", "blocks", "inserts", "updates", "deletes", "commits"),
    *("byte", "kb", "mb", "gb", "kib", "mib", "gib", "tries", "attempts", "invocations", "num"),
    *("number", "statements", "events", "items", "sent", "received", "allocs", "responses"),
}
"""Amounts that grow with how long was measured."""
CODE_WORDS = {
    *("code", "status", "pid", "tid", "id", "ids", "guid", "uuid", "worker_id", "statuscode"),
    *("exit", "exitcode", "returncode", "rc", "oid", "hash", "line", "lineno", "phase", "type"),
    *("sentbytes", "grpthreads", "allthreads", "httpcode", "httpstatus"),
}
"""Names made of digits."""
MONEY_WORDS = {
    *("usd", "eur", "gbp", "dollar", "dollars", "euro", "euros", "cent", "cents", "price", "cost"),
}
COST_WORDS = MONEY_WORDS | {
    *("cpu", "usr", "user_time", "sys", "system", "iowait", "wal", "disk", "cs", "ctx", "context"),
    *("idle", "steal", "faults", "fault", "energy", "watts", "joules", "power"),
    *("lock", "locks", "wait", "waits", "waited", "lag", "queue", "gc", "rss", "swap", "network"),
    *("connect", "connecting", "setup", "load", "build", "plan", "planning", "parse", "init"),
    *(
        "think_time",
        "schedule",
        "dns",
        "dialup",
        "tls",
        "prepare",
        "vacuum",
        "analyze",
        "commit_lag",
    ),
}
"""Other things than the work itself: measured too, never in its place."""
MACHINE_WORDS = {
    *("temp", "temperature", "celsius", "mhz", "ghz", "freq", "frequency", "rpm", "loadavg"),
    *("humidity", "voltage"),
}
"""Of the machine while the work ran; behind them "cpu" or a unit may stand."""
CLOCK_WORDS = {
    *("timestamp", "timestamps", "ts", "date", "datetime", "when", "epoch_time", "unix_time"),
    *("time_stamp", "unixtime", "epochtime", "epoch_s", "epoch_ms", "clock", "second", "sec_no"),
    *("tick", "ticks", "moment", "collected", "t_s", "elapsed_s_since_start", "relative_time"),
    *("ts_s", "ts_ms", "ts_us", "ts_ns", "minute", "measured_at", "recorded_at", "created_at"),
    *("at", "interval_start", "time_sec"),
}
START_WORDS = {
    *("start", "started", "begin", "began", "start_time", "starttime", "started_at", "begin_time"),
    *("start_ts", "run_started", "order", "seq", "sequence", "position", "started_on", "launched"),
}
"""When each measurement began: a row is a whole one."""
END_WORDS = {
    *("end", "ended", "ended_at", "end_time", "endtime", "finish", "finished", "finished_at"),
    *("stop", "stopped", "end_ts", "finish_time", "stop_time"),
}
COUNTER_WORDS = {
    *("rep", "repetition", "repeat", "run", "run_id", "run_no", "iteration", "iter", "row"),
    *("trial", "attempt", "index", "no", "nr", "#", "k", "i", "run_number", "rep_no", "runid"),
    *("id", "n", "number", "idx", "repno", "runno", "try", "loop", "step", "cycle", "fork"),
}
BLOCK_WORDS = {"block", "epoch", "round", "pair", "day", "session", "batch"}
ARM_WORDS = {
    *("arm", "arms", "group", "variant", "treatment", "condition", "config", "configuration"),
    *("setting", "mode", "version", "build", "system", "candidate", "engine", "side", "branch"),
    *("db", "dbms", "database", "server", "release", "commit_id", "product", "implementation"),
    *("impl", "pg", "pgversion", "pg_version", "server_version", "revision", "rev", "sha", "tool"),
    *("method", "algorithm", "patch", "patched", "experiment", "scenario_arm", "vendor", "flavor"),
}
NUMBERING_WORDS = {"no", "nr", "number", "num", "id", "idx", "index", "#"}
"""Behind the name of a repetition: "trial_no"."""
ARM_SUFFIXES = {"version", "ver", "variant", "release", "branch", "arm", "treatment"}
"""Behind any word: "postgres_version"."""
LABEL_WORDS = {
    *("query", "queries_name", "query_id", "queryid", "query_name", "qid", "test", "tests", "name"),
    *("benchmark", "bench", "workload", "script", "statement", "label", "operation", "op_name"),
    *("case", "testcase", "scenario", "endpoint", "command", "function", "task", "sql", "stmt"),
    *("url", "method_name", "transaction_name", "transaction_type", "benchmark_name", "test_name"),
    *("query_no", "query_number", "qnum", "question", "kernel_name", "dataset_name", "subtest"),
}
"""What the row is about: rows of one label belong together, and labels tell no order."""
METRIC_NAME_WORDS = {
    *("metric", "measure", "quantity", "measurement", "metric_name", "measure_name", "stat"),
    *("statistic", "indicator", "kpi", "counter", "metricname", "variable", "metric_type"),
}
UNIT_WORDS = {
    *("unit", "units", "uom", "time_unit", "unit_name", "score_unit", "metric_unit"),
    *("rate_unit", "throughput_unit", "duration_unit", "latency_unit"),
}
VALUE_WORDS = {
    "value",
    "values",
    "result",
    "results",
    "metric_value",
    "measured",
    "figure",
    "score",
}
QUALIFIERS = {
    *("total", "overall", "real", "wall", "client", "server", "query", "exec", "execution", "the"),
    *("of", "in", "ms", "excl", "including", "incl", "excluding", "end", "response", "run", "per"),
    *("transaction", "request", "read", "write", "select", "insert", "update", "commit", "net"),
    *("measured", "mean", "avg", "service", "resp", "completion", "op", "operation", "txn", "time"),
    *("query_time", "without", "connections", "establishing", "sort", "statement", "elapsed"),
    *("req", "tx", "transactions", "requests", "queries", "operations", "rows", "new", "order"),
    *("ops", "http", "sql", "job", "test", "bench", "benchmark", "steady", "sustained", "achieved"),
    *("io", "random", "sequential", "scan", "lookup", "batch", "latency", "throughput", "rate"),
}
"""Words that leave a metric what it is."""
REPETITION_WORDS = {
    *("run", "rep", "repetition", "repeat", "trial", "attempt", "try", "iteration", "iter", "loop"),
    *("runid", "repno", "runno"),
}
"""Of a column that numbers rows: each of them is a measurement of its own."""
