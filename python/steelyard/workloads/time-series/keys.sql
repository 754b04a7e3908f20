-- By device and time, and by time alone.
ALTER TABLE readings ADD PRIMARY KEY (device, at);
\if :time_index_brin
CREATE INDEX readings_at ON readings USING brin (at);
\else
CREATE INDEX readings_at ON readings (at);
\endif
