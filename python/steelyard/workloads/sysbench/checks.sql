-- What holds after any mix of the scripts. Every row that a statement returns is a violation.

-- Ids come from the load or from the sequence.
SELECT format('sbtest1 has %s rows and ids from %s to %s, but ids up to %s were given',
              r.number, r.lowest, r.highest, s.last_value)
  FROM (SELECT count(*) AS number, min(id) AS lowest, max(id) AS highest FROM sbtest1) r,
       sbtest1_id_seq s
 WHERE r.lowest < 1 OR r.highest > s.last_value OR r.number > s.last_value;

-- Every text is of groups of eleven digits, whoever wrote it.
SELECT format('row %s of sbtest1 has c "%s" and pad "%s"', id, c, pad) FROM sbtest1
 WHERE c !~ '^([0-9]{11}-){9}[0-9]{11} *$' OR pad !~ '^([0-9]{11}-){4}[0-9]{11} *$' OR k < 1
 LIMIT 10;
