-- Documents of about 600 bytes, and beside each how often it was edited, which it says itself too.
CREATE TABLE documents (id bigint NOT NULL, edits int NOT NULL, doc jsonb NOT NULL);
