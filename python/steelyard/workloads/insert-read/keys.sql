-- The index by which rows are read.
ALTER TABLE measurements ADD PRIMARY KEY (id);
