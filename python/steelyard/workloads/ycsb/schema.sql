-- The table of YCSB's JDBC binding; the key follows the rows.
CREATE TABLE usertable (
    ycsb_key varchar(255) NOT NULL,
    field0 text, field1 text, field2 text, field3 text, field4 text,
    field5 text, field6 text, field7 text, field8 text, field9 text);

CREATE SEQUENCE usertable_numbers MINVALUE 0;
