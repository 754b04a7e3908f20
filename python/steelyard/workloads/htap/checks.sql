-- The consistency conditions 1 to 4 of TPC-C (clause 3.3.2). Every row returned is a violation.

-- 1: a warehouse has earned what its districts have.
SELECT format('condition 1: warehouse %s has w_ytd %s, its districts %s', w_id, w_ytd, total)
  FROM warehouse
  LEFT JOIN (SELECT d_w_id AS w_id, sum(d_ytd) AS total FROM district GROUP BY d_w_id) d
       USING (w_id)
 WHERE w_ytd IS DISTINCT FROM total
 LIMIT 10;

-- 2: the next order number of a district follows its largest, also among those not delivered.
SELECT format('condition 2: district %s of warehouse %s awaits order %s, the largest are %s and %s',
              d_id, d_w_id, d_next_o_id, o.largest, n.largest)
  FROM district
  LEFT JOIN LATERAL (SELECT max(o_id) AS largest FROM orders
                      WHERE o_w_id = d_w_id AND o_d_id = d_id) o ON true
  LEFT JOIN LATERAL (SELECT max(no_o_id) AS largest FROM new_order
                      WHERE no_w_id = d_w_id AND no_d_id = d_id) n ON true
 WHERE d_next_o_id - 1 IS DISTINCT FROM o.largest
    OR d_next_o_id - 1 <> n.largest
 LIMIT 10;

-- 3: the orders of a district that are not delivered have no gaps.
SELECT format('condition 3: district %s of warehouse %s has %s new orders from %s to %s',
              no_d_id, no_w_id, count(*), min(no_o_id), max(no_o_id))
  FROM new_order
 GROUP BY no_w_id, no_d_id
HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)
 LIMIT 10;

-- 4: every order has its lines.
SELECT format('condition 4: district %s of warehouse %s has %s lines by its orders, %s there',
              coalesce(o.d, l.d), coalesce(o.w, l.w), o.lines, l.lines)
  FROM (SELECT o_w_id AS w, o_d_id AS d, sum(o_ol_cnt) AS lines FROM orders GROUP BY 1, 2) o
  FULL JOIN (SELECT ol_w_id AS w, ol_d_id AS d, count(*) AS lines FROM order_line GROUP BY 1, 2) l
       USING (w, d)
 WHERE o.lines IS DISTINCT FROM l.lines
 LIMIT 10;

SELECT format('%s has %s rows, not %s', what, found, expected)
  FROM (SELECT 'warehouse' AS what, count(*) AS found, :scale AS expected FROM warehouse
        UNION ALL SELECT 'district', count(*), 10 * :scale FROM district
        UNION ALL SELECT 'item', count(*), 100000 FROM item) counted
 WHERE found <> expected;

-- What the queries read beside the orders stays as it was loaded.
SELECT format('%s has %s rows, not %s', what, number, expected)
  FROM (SELECT 'region' AS what, count(*) AS number, 5 AS expected FROM region
        UNION ALL SELECT 'nation', count(*), 62 FROM nation
        UNION ALL SELECT 'supplier', count(*), 10000 FROM supplier) counted
 WHERE number <> expected;

-- Only queries that exist have ended.
SELECT format('query %s was asked %s times', query, count(*))
  FROM asked WHERE query NOT BETWEEN 1 AND 22 GROUP BY query;
