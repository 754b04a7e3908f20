-- The key, made after the rows: YCSB itself inserts into an index that is there.
ALTER TABLE usertable ADD PRIMARY KEY (ycsb_key);
