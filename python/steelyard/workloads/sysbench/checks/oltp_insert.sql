-- What also holds where this is the only script that writes: rows are there for the ids that were
-- given, but for those of inserts that failed.
SELECT format('sbtest1 has %s rows, but ids up to %s were given', r.number, s.last_value)
  FROM (SELECT count(*) AS number FROM sbtest1) r, sbtest1_id_seq s
 WHERE r.number < 1000 * :scale OR s.last_value > 2000 + 1000 * :scale AND r.number = 1000 * :scale;
