-- Reads the ten documents of a customer, through the index on all that documents contain.
\set customer random(1, 100 * :scale)
SELECT id, doc ->> 'status' FROM documents
 WHERE doc @> jsonb_build_object('customer', :customer::int);
