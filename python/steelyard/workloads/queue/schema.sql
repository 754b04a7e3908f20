-- Jobs that wait, and those that are finished. The latter have no key: a job that was taken twice
-- is there twice.
CREATE TABLE jobs (
    id bigserial NOT NULL, producer int NOT NULL, number bigint NOT NULL, payload text NOT NULL);

CREATE TABLE finished (
    place bigserial NOT NULL, id bigint NOT NULL, producer int NOT NULL, number bigint NOT NULL,
    consumer int NOT NULL,
    made timestamptz NOT NULL DEFAULT now());

CREATE SEQUENCE producers;
