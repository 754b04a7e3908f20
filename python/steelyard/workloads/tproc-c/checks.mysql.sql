-- The consistency conditions 1 to 4 of TPC-C (clause 3.3.2), as in checks.sql. Every row returned
-- is a violation.

-- 1: a warehouse has earned what its districts have.
SELECT CONCAT('condition 1: warehouse ', w_id, ' has w_ytd ', w_ytd, ', its districts ',
              COALESCE(total, 'none'))
  FROM warehouse
  LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS total FROM district GROUP BY d_w_id) AS d
       ON d_w_id = w_id
 WHERE NOT w_ytd <=> total
 LIMIT 10;

-- 2: the next order number of a district follows its largest, also among those not delivered.
SELECT CONCAT('condition 2: district ', d_id, ' of warehouse ', d_w_id, ' awaits order ',
              d_next_o_id, ', the largest are ', COALESCE(entered, 'none'), ' and ',
              COALESCE(waiting, 'none'))
  FROM (SELECT d_id, d_w_id, d_next_o_id,
               (SELECT MAX(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) AS entered,
               (SELECT MAX(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)
               AS waiting
          FROM district) AS d
 WHERE NOT d_next_o_id - 1 <=> entered
    OR d_next_o_id - 1 <> waiting
 LIMIT 10;

-- 3: the orders of a district that are not delivered have no gaps.
SELECT CONCAT('condition 3: district ', no_d_id, ' of warehouse ', no_w_id, ' has ', COUNT(*),
              ' new orders from ', MIN(no_o_id), ' to ', MAX(no_o_id))
  FROM new_order
 GROUP BY no_w_id, no_d_id
HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)
 LIMIT 10;

-- 4: every order has its lines.
SELECT CONCAT('condition 4: district ', d, ' of warehouse ', w, ' has ', SUM(said),
              ' lines by its orders, ', SUM(found), ' there')
  FROM (SELECT o_w_id AS w, o_d_id AS d, SUM(o_ol_cnt) AS said, 0 AS found
          FROM orders GROUP BY o_w_id, o_d_id
        UNION ALL
        SELECT ol_w_id, ol_d_id, 0, COUNT(*) FROM order_line GROUP BY ol_w_id, ol_d_id) AS counted
 GROUP BY w, d
HAVING SUM(said) <> SUM(found)
 LIMIT 10;

SELECT CONCAT(what, ' has ', found, ' rows, not ', expected)
  FROM (SELECT 'warehouse' AS what, COUNT(*) AS found, :scale AS expected FROM warehouse
        UNION ALL SELECT 'district', COUNT(*), 10 * :scale FROM district
        UNION ALL SELECT 'item', COUNT(*), 100000 FROM item) AS counted
 WHERE found <> expected;
