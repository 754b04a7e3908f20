-- Rows of one width, so that it is known which of them share a page; nothing else may touch them.
-- No parallel scan either: a sequential one is one process from the first page to the last.
CREATE TABLE measurements (
    id bigint NOT NULL, part int NOT NULL, value int NOT NULL, payload text NOT NULL)
    WITH (autovacuum_enabled = off, parallel_workers = 0);

CREATE TABLE visits (id bigint NOT NULL, made timestamptz NOT NULL DEFAULT now());
