-- Changes a word of a document that queries look for, and a number beside it.
\set id random(1, 1000 * :scale)
\set status random(1, 5)
UPDATE documents
   SET edits = edits + 1,
       doc = jsonb_set(jsonb_set(doc, '{counters,edits}', to_jsonb((doc #>> '{counters,edits}')::int + 1)),
                       '{status}',
                       to_jsonb((ARRAY['new', 'paid', 'packed', 'sent', 'closed'])[:status::int]))
 WHERE id = :id;
