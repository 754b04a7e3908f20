-- Keys of what load.sql made, and statistics.
ALTER TABLE region ADD PRIMARY KEY (r_regionkey);
ALTER TABLE nation ADD PRIMARY KEY (n_nationkey);
ALTER TABLE supplier ADD PRIMARY KEY (su_suppkey);
VACUUM (ANALYZE) region, nation, supplier, asked;
