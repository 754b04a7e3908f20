-- sysbench's secondary index; the primary key is in schema.mysql.sql.
CREATE INDEX k_1 ON sbtest1 (k);
