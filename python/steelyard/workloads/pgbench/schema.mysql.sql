-- The tables of pgbench 18 (pgbench.c, initCreateTables). InnoDB keeps rows in the primary key, so
-- the keys are there before the rows, which come in their order.
CREATE TABLE pgbench_history (
    tid int, bid int, aid int, delta int, mtime datetime(6), filler char(22));
CREATE TABLE pgbench_tellers (
    tid int NOT NULL PRIMARY KEY, bid int, tbalance int, filler char(84));
CREATE TABLE pgbench_accounts (
    aid int NOT NULL PRIMARY KEY, bid int, abalance int, filler char(84));
CREATE TABLE pgbench_branches (
    bid int NOT NULL PRIMARY KEY, bbalance int, filler char(88));
