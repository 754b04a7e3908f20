-- Changes a number inside of a document.
\set id random(1, 1000 * :scale)
UPDATE documents
   SET edits = edits + 1,
       doc = jsonb_set(doc, '{counters,edits}', to_jsonb((doc #>> '{counters,edits}')::int + 1))
 WHERE id = :id;
