-- What holds after loading, and after refresh functions too, as in checks.sql.

SELECT CONCAT(what, ' has ', found, ' rows, not ', expected)
  FROM (SELECT 'region' AS what, COUNT(*) AS found, 5 AS expected FROM region
        UNION ALL SELECT 'nation', COUNT(*), 25 FROM nation
        UNION ALL SELECT 'supplier', COUNT(*), 100 * :scale FROM supplier
        UNION ALL SELECT 'part', COUNT(*), 2000 * :scale FROM part
        UNION ALL SELECT 'partsupp', COUNT(*), 8000 * :scale FROM partsupp
        UNION ALL SELECT 'customer', COUNT(*), 1500 * :scale FROM customer) AS counted
 WHERE found <> expected;

-- As many orders are deleted as are inserted, by pairs of refresh functions.
SELECT CONCAT('orders has ', found, ' rows, not ', inserted - deleted, ' more than ',
              15000 * :scale)
  FROM (SELECT COUNT(*) AS found FROM orders) AS o, refreshed
 WHERE found <> 15000 * :scale + inserted - deleted;

SELECT CONCAT('order ', o_orderkey, ' has no line')
  FROM orders
 WHERE NOT EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey)
 LIMIT 10;
