-- A reading of each device at each tick, in the order of time.
CREATE TABLE readings (at timestamptz NOT NULL, device int NOT NULL, value float8 NOT NULL);

CREATE SEQUENCE ticks MINVALUE 0;
