-- The table that sysbench 1.0 prepares. InnoDB keeps rows in the primary key, so it is there before
-- the rows, which come in its order.
CREATE TABLE sbtest1 (
    id integer NOT NULL AUTO_INCREMENT PRIMARY KEY, k integer NOT NULL DEFAULT 0,
    c char(120) NOT NULL DEFAULT '', pad char(60) NOT NULL DEFAULT '');
