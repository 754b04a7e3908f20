-- Numbers go on behind the rows that are there, which begin with 0.
INSERT INTO usertable_numbers VALUES (1000 * :scale - 1);
