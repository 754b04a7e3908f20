-- What holds after any mix of the scripts. Every row that a statement returns is a violation.

-- No edit is lost, and none changes more than it says.
SELECT format('document %s was edited %s times, but says %s', id, edits, doc -> 'counters')
  FROM documents
 WHERE (doc #>> '{counters,edits}')::int IS DISTINCT FROM edits
 LIMIT 10;

SELECT format('document %s is not what it was: %s', id, left(doc::text, 200))
  FROM documents
 WHERE (doc -> 'customer')::int <> (id - 1) % (100 * :scale) + 1
    OR length(doc ->> 'note') <> 400 OR jsonb_array_length(doc -> 'tags') <> 3
    OR (doc ->> 'status') NOT IN ('new', 'paid', 'packed', 'sent', 'closed')
 LIMIT 10;

SELECT format('documents has %s rows, not %s', number, 1000 * :scale)
  FROM (SELECT count(*) AS number FROM documents) d
 WHERE number <> 1000 * :scale;
