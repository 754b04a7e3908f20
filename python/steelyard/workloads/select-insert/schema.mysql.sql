-- What is read, and what is inserted: an insert depends on the row that was read. InnoDB keeps rows
-- in the primary key, so the keys are there before the rows, which come in their order.
CREATE TABLE source_rows (
    id bigint NOT NULL PRIMARY KEY, part int NOT NULL, value int NOT NULL,
    payload varchar(255) NOT NULL);

CREATE TABLE results (
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, source_id bigint NOT NULL,
    value bigint NOT NULL, payload varchar(255) NOT NULL,
    made timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6));
