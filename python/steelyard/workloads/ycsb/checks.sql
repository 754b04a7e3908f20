-- What holds after any mix of the scripts. Every row that a statement returns is a violation.

-- Rows come from the load or from the sequence, and none goes.
SELECT format('usertable has %s rows, but %s were loaded and %s inserted',
              r.number, 1000 * :scale, s.last_value + 1 - 1000 * :scale)
  FROM (SELECT count(*) AS number FROM usertable) r, usertable_numbers s
 WHERE r.number < 1000 * :scale OR r.number > s.last_value + 1;

-- Every field is a hundred bytes, and was written for the row that it stands in.
SELECT format('row "%s" has "%s" in field %s', ycsb_key, f.value, f.field)
  FROM usertable,
       LATERAL (VALUES (0, field0), (1, field1), (2, field2), (3, field3),
                   (4, field4), (5, field5), (6, field6), (7, field7),
                   (8, field8), (9, field9)) f (field, value)
 WHERE f.value IS NULL OR length(f.value) <> 100
    OR left(f.value, 7) <> '1' || right(ycsb_key, 6)
 LIMIT 10;
