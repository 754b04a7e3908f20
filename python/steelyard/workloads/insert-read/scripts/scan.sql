-- Reads the whole table by a sequential scan: the first one touches every new page.
\set rows 1000 * :scale + 10 * :scale * :added
SELECT sum(value) FROM measurements HAVING count(*) = :rows;
