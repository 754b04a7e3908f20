-- What is read, and what is inserted: an insert depends on the row that was read.
CREATE TABLE source_rows (
    id bigint NOT NULL, part int NOT NULL, value int NOT NULL, payload text NOT NULL);

CREATE TABLE results (
    id bigserial NOT NULL, source_id bigint NOT NULL, value bigint NOT NULL, payload text NOT NULL,
    made timestamptz NOT NULL DEFAULT now());
