-- What holds after loading, and after refresh functions too.

SELECT format('%s has %s rows, not %s', what, found, expected)
  FROM (SELECT 'region' AS what, count(*) AS found, 5 AS expected FROM region
        UNION ALL SELECT 'nation', count(*), 25 FROM nation
        UNION ALL SELECT 'supplier', count(*), 100 * :scale FROM supplier
        UNION ALL SELECT 'part', count(*), 2000 * :scale FROM part
        UNION ALL SELECT 'partsupp', count(*), 8000 * :scale FROM partsupp
        UNION ALL SELECT 'customer', count(*), 1500 * :scale FROM customer) counted
 WHERE found <> expected;

-- As many orders are deleted as are inserted, by pairs of refresh functions.
SELECT format('orders has %s rows, not %s more than %s', found, inserted - deleted, 15000 * :scale)
  FROM (SELECT count(*) AS found FROM orders) o, refreshed
 WHERE found <> 15000 * :scale + inserted - deleted;

SELECT format('order %s has no line', o_orderkey)
  FROM orders
 WHERE NOT EXISTS (SELECT FROM lineitem WHERE l_orderkey = o_orderkey)
 LIMIT 10;
