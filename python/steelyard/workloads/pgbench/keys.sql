-- The keys of pgbench 18 (pgbench.c, initCreatePKeys), made after the rows and the vacuum.
ALTER TABLE pgbench_branches ADD PRIMARY KEY (bid);
ALTER TABLE pgbench_tellers ADD PRIMARY KEY (tid);
ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid);
