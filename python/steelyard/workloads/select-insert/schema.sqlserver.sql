-- What is read, and what is inserted: an insert depends on the row that was read. Rows are kept in
-- the clustered keys, so the keys are there before the rows, which come in their order.
CREATE TABLE source_rows (
    id bigint NOT NULL PRIMARY KEY CLUSTERED, part int NOT NULL, value int NOT NULL,
    payload nvarchar(255) NOT NULL);

CREATE TABLE results (
    id bigint NOT NULL IDENTITY PRIMARY KEY CLUSTERED, source_id bigint NOT NULL,
    value bigint NOT NULL, payload nvarchar(255) NOT NULL,
    made datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME());
