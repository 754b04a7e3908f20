-- Numbers go on behind the rows that are there, which begin with 0.
SELECT setval('usertable_numbers', 1000 * :scale - 1);
