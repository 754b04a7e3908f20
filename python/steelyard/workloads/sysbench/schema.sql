-- The table that sysbench 1.0 prepares; keys follow the rows. Rows of fixed texts, 35 to a page.
CREATE TABLE sbtest1 (
    id serial NOT NULL, k integer NOT NULL DEFAULT 0, c char(120) NOT NULL DEFAULT '',
    pad char(60) NOT NULL DEFAULT '');
