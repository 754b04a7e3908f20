-- Reads a document by its key.
\set id random(1, 1000 * :scale)
SELECT doc FROM documents WHERE id = :id;
