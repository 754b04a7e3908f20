-- The key, and an index on what documents contain.
ALTER TABLE documents ADD PRIMARY KEY (id);
\if :gin_jsonb_path_ops
CREATE INDEX documents_doc ON documents USING gin (doc jsonb_path_ops);
\else
CREATE INDEX documents_doc ON documents USING gin (doc jsonb_ops);
\endif
