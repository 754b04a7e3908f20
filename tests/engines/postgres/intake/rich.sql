-- A database with all that a restore treats otherwise: roles, policies, odd names, rules, routines.
CREATE SCHEMA "we;ird \ name";
CREATE TABLE "we;ird \ name"."t'1" (a int, "b""q" text, c bytea);
INSERT INTO "we;ird \ name"."t'1" VALUES
  (1, E'line\n\\d+\n\\.\nend', '\x00ff'), (2, E'\\N', NULL), (3, NULL, ''),
  (4, E'tab\tcr\rbs\\ ;''quote'' $$ /* -- ', 'abc');
CREATE FUNCTION cut(text) RETURNS text LANGUAGE sql AS $_$ SELECT regexp_replace($1, '
\d+', 'x') $_$;
CREATE FUNCTION small(int) RETURNS int LANGUAGE sql
  BEGIN ATOMIC SELECT CASE WHEN $1 > 0 THEN 1 ELSE 2 END; SELECT 3; END;
CREATE TABLE base (id serial PRIMARY KEY, k int, v text);
INSERT INTO base (k, v) SELECT n, 'v' || n FROM generate_series(1, 300) AS n;
CREATE VIEW shown AS SELECT * FROM base;
CREATE RULE added AS ON INSERT TO shown
  DO INSTEAD (INSERT INTO base (k, v) VALUES (new.k, ';'); UPDATE base SET v = ')' WHERE k = new.k);
CREATE MATERIALIZED VIEW counted AS SELECT count(*) FROM base;
CREATE TABLE parted (a int PRIMARY KEY, b text) PARTITION BY RANGE (a);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE ROLE alice;
CREATE ROLE "we""ird";
ALTER TABLE base ENABLE ROW LEVEL SECURITY;
CREATE POLICY hers ON base TO alice, "we""ird" USING (k > 0);
GRANT SELECT ON base TO alice;
ALTER TABLE base OWNER TO alice;
ALTER DEFAULT PRIVILEGES FOR ROLE alice GRANT SELECT ON TABLES TO "we""ird";
CREATE FOREIGN DATA WRAPPER wrapper;
CREATE SERVER elsewhere FOREIGN DATA WRAPPER wrapper;
CREATE USER MAPPING FOR alice SERVER elsewhere OPTIONS (user 'bob', password 'S3cret');
CREATE PUBLICATION published FOR TABLE base;
CREATE SUBSCRIPTION fetched CONNECTION 'host=nowhere password=S3cret' PUBLICATION p
  WITH (connect = false);
SELECT lo_from_bytea(4711, '\xdeadbeef');
CREATE FUNCTION watch() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN NULL; END $$;
CREATE EVENT TRIGGER watcher ON ddl_command_end EXECUTE FUNCTION watch();
COMMENT ON TABLE base IS 'a comment; with '' \! id';
COMMENT ON DATABASE rich IS 'ours';
ALTER DATABASE rich SET work_mem = '64MB';
ALTER ROLE alice IN DATABASE rich SET work_mem = '65MB';
