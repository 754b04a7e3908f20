-- The table of YCSB's JDBC binding. Rows come in another order than that of their keys, as YCSB's.
CREATE TABLE usertable (
    ycsb_key varchar(255) NOT NULL PRIMARY KEY,
    field0 text, field1 text, field2 text, field3 text, field4 text,
    field5 text, field6 text, field7 text, field8 text, field9 text);

-- What gives the numbers of inserted rows, for MySQL has no sequences.
CREATE TABLE usertable_numbers (number bigint NOT NULL AUTO_INCREMENT PRIMARY KEY);
