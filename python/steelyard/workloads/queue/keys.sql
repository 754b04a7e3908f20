-- By this key the oldest job is found.
ALTER TABLE jobs ADD PRIMARY KEY (id);
