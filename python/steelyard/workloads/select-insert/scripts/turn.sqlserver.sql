-- One turn of the loop: the client inserts what it has read. Each statement is a transaction.
\set id random(1, 1000 * :scale)
SELECT id AS source_id, value, payload FROM source_rows WHERE id = :id \gset
INSERT INTO results (source_id, value, payload)
VALUES (:source_id, CAST(:value AS bigint) + :source_id, :payload);
