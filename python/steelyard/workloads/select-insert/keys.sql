-- The two primary keys, made after the rows.
ALTER TABLE source_rows ADD PRIMARY KEY (id);
ALTER TABLE results ADD PRIMARY KEY (id);
