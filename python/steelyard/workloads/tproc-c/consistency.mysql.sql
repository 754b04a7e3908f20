-- The consistency conditions 5 to 10 and 12 of TPC-C (clause 3.3.2), as in consistency.sql. Every
-- row returned is a violation. Condition 11 holds of freshly loaded data only.

-- 5: the orders without a carrier are those that await delivery.
SELECT CONCAT('condition 5: order ', o_id, ', district ', o_d_id, ', warehouse ', o_w_id,
              ' has carrier ', COALESCE(o_carrier_id, 'none'), ' and ',
              CASE WHEN no_o_id IS NULL THEN 'is not' ELSE 'is' END, ' a new order')
  FROM orders
  LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
 WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)
 LIMIT 10;

-- 6 and 7: an order has as many lines as it says, delivered exactly where it has a carrier.
SELECT CONCAT('condition ', CASE WHEN found <=> o_ol_cnt THEN 7 ELSE 6 END, ': order ', o_id,
              ', district ', o_d_id, ', warehouse ', o_w_id, ' has ', COALESCE(found, 0),
              ' lines of ', o_ol_cnt, ', ', COALESCE(delivered, 0), ' delivered')
  FROM orders
  LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS found, COUNT(ol_delivery_d) AS delivered
               FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l
       ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
 WHERE NOT found <=> o_ol_cnt
    OR delivered <> CASE WHEN o_carrier_id IS NULL THEN 0 ELSE found END
 LIMIT 10;

-- 8: a warehouse has earned what was paid to it.
SELECT CONCAT('condition 8: warehouse ', w_id, ' has w_ytd ', w_ytd, ', its history ',
              COALESCE(paid, 'none'))
  FROM warehouse
  LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id) AS h
       ON h_w_id = w_id
 WHERE NOT w_ytd <=> paid
 LIMIT 10;

-- 9: so has a district.
SELECT CONCAT('condition 9: district ', d_id, ' of warehouse ', d_w_id, ' has d_ytd ', d_ytd,
              ', its history ', COALESCE(paid, 'none'))
  FROM district
  LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid
               FROM history GROUP BY h_w_id, h_d_id) AS h
       ON h_w_id = d_w_id AND h_d_id = d_id
 WHERE NOT d_ytd <=> paid
 LIMIT 10;

-- 10 and 12: a customer owes what was delivered to it less what it paid. Not so with HammerDB's
-- load: it gives an amount to what was delivered before, which no customer ever owed.
\if :profile_spec
SELECT CONCAT('condition ', CASE WHEN c_balance + c_ytd_payment <> delivered THEN 12 ELSE 10 END,
              ': customer ', c_id, ', district ', c_d_id, ', warehouse ', c_w_id, ' has balance ',
              c_balance, ' and paid ', c_ytd_payment, '; delivered for ', delivered, ', history ',
              paid)
  FROM (SELECT c_id, c_d_id, c_w_id, c_balance, c_ytd_payment,
               COALESCE(delivered, 0) AS delivered, COALESCE(paid, 0) AS paid
          FROM customer
          LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered
                       FROM orders
                       JOIN order_line
                            ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
                      WHERE ol_delivery_d IS NOT NULL
                      GROUP BY o_w_id, o_d_id, o_c_id) AS l
               ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
          LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid
                       FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h
               ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id) AS c
 WHERE c_balance <> delivered - paid
    OR c_balance + c_ytd_payment <> delivered
 LIMIT 10;
\endif
