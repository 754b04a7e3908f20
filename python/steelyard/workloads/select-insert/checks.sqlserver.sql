-- Every inserted row follows from the row that was read for it.
SELECT TOP (10) CONCAT('result ', r.id, ' does not follow from source row ', r.source_id)
  FROM results r LEFT JOIN source_rows s ON s.id = r.source_id
 WHERE s.id IS NULL OR r.value <> s.value + s.id OR r.payload <> s.payload;

SELECT CONCAT('source_rows has ', found, ' rows, not ', 1000 * :scale)
  FROM (SELECT COUNT_BIG(*) AS found FROM source_rows) counted
 WHERE found <> 1000 * :scale;
