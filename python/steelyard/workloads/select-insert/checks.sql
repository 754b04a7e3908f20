-- Every inserted row follows from the row that was read for it.
SELECT format('result %s does not follow from source row %s', r.id, r.source_id)
  FROM results r LEFT JOIN source_rows s ON s.id = r.source_id
 WHERE s.id IS NULL OR r.value <> s.value::bigint + s.id OR r.payload <> s.payload
 LIMIT 10;

SELECT format('source_rows has %s rows, not %s', found, 1000 * :scale)
  FROM (SELECT count(*) AS found FROM source_rows) counted
 WHERE found <> 1000 * :scale;
