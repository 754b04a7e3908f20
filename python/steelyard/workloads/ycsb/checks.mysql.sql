-- What holds after any mix of the scripts. Every row that a statement returns is a violation.

-- Rows come from the load or have a number, and none goes.
SELECT CONCAT('usertable has ', r.number, ' rows, but numbers up to ', n.highest, ' were given')
  FROM (SELECT COUNT(*) AS number FROM usertable) r,
       (SELECT MAX(number) AS highest FROM usertable_numbers) n
 WHERE r.number < 1000 * :scale OR r.number <> n.highest + 1;

-- Every field is a hundred bytes, and was written for the row that it stands in.
SELECT CONCAT('row "', ycsb_key, '" has a field of another row, or of another length')
  FROM usertable
 WHERE field0 NOT LIKE CONCAT('1', RIGHT(ycsb_key, 6), '%') OR LENGTH(field0) <> 100
    OR field1 NOT LIKE CONCAT('1', RIGHT(ycsb_key, 6), '%') OR LENGTH(field1) <> 100
    OR field2 NOT LIKE CONCAT('1', RIGHT(ycsb_key, 6), '%') OR LENGTH(field2) <> 100
    OR field3 NOT LIKE CONCAT('1', RIGHT(ycsb_key, 6), '%') OR LENGTH(field3) <> 100
    OR field4 NOT LIKE CONCAT('1', RIGHT(ycsb_key, 6), '%') OR LENGTH(field4) <> 100
    OR field5 NOT LIKE CONCAT('1', RIGHT(ycsb_key, 6), '%') OR LENGTH(field5) <> 100
    OR field6 NOT LIKE CONCAT('1', RIGHT(ycsb_key, 6), '%') OR LENGTH(field6) <> 100
    OR field7 NOT LIKE CONCAT('1', RIGHT(ycsb_key, 6), '%') OR LENGTH(field7) <> 100
    OR field8 NOT LIKE CONCAT('1', RIGHT(ycsb_key, 6), '%') OR LENGTH(field8) <> 100
    OR field9 NOT LIKE CONCAT('1', RIGHT(ycsb_key, 6), '%') OR LENGTH(field9) <> 100
 LIMIT 10;
