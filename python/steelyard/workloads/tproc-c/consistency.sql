-- The consistency conditions 5 to 10 and 12 of TPC-C (clause 3.3.2): they read every order, line,
-- payment and customer, so they are checked where that is asked for. Every row returned is a
-- violation. Condition 11 holds of freshly loaded data only.

-- 5: the orders without a carrier are those that await delivery.
SELECT format('condition 5: order %s, district %s, warehouse %s has carrier %s and %s a new order',
              o_id, o_d_id, o_w_id, coalesce(o_carrier_id::text, 'none'),
              CASE WHEN no_o_id IS NULL THEN 'is not' ELSE 'is' END)
  FROM orders
  LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
 WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)
 LIMIT 10;

-- 6 and 7: an order has as many lines as it says, delivered exactly where it has a carrier.
SELECT format('condition %s: order %s, district %s, warehouse %s has %s lines of %s, %s delivered',
              CASE WHEN lines IS DISTINCT FROM o_ol_cnt THEN 6 ELSE 7 END,
              o_id, o_d_id, o_w_id, coalesce(lines, 0), o_ol_cnt, coalesce(delivered, 0))
  FROM orders
  LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS lines, count(ol_delivery_d) AS delivered
               FROM order_line GROUP BY 1, 2, 3) l
       ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
 WHERE lines IS DISTINCT FROM o_ol_cnt
    OR delivered <> CASE WHEN o_carrier_id IS NULL THEN 0 ELSE lines END
 LIMIT 10;

-- 8: a warehouse has earned what was paid to it.
SELECT format('condition 8: warehouse %s has w_ytd %s, its history %s', w_id, w_ytd, paid)
  FROM warehouse
  LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY 1) h ON h_w_id = w_id
 WHERE w_ytd IS DISTINCT FROM paid
 LIMIT 10;

-- 9: so has a district.
SELECT format('condition 9: district %s of warehouse %s has d_ytd %s, its history %s',
              d_id, d_w_id, d_ytd, paid)
  FROM district
  LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY 1, 2) h
       ON h_w_id = d_w_id AND h_d_id = d_id
 WHERE d_ytd IS DISTINCT FROM paid
 LIMIT 10;

-- 10 and 12: a customer owes what was delivered to it less what it paid. Not so with HammerDB's
-- load: it gives an amount to what was delivered before, which no customer ever owed.
\if :profile_spec
SELECT format('condition %s: customer %s, district %s, warehouse %s has balance %s and paid %s; '
              'delivered for %s, history %s',
              CASE WHEN c_balance + c_ytd_payment <> delivered THEN 12 ELSE 10 END,
              c_id, c_d_id, c_w_id, c_balance, c_ytd_payment, delivered, paid)
  FROM (SELECT c_id, c_d_id, c_w_id, c_balance, c_ytd_payment,
               coalesce(delivered, 0) AS delivered, coalesce(paid, 0) AS paid
          FROM customer
          LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered
                       FROM orders
                       JOIN order_line
                            ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
                      WHERE ol_delivery_d IS NOT NULL
                      GROUP BY 1, 2, 3) l ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
          LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid
                       FROM history GROUP BY 1, 2, 3) h
               ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id) c
 WHERE c_balance <> delivered - paid
    OR c_balance + c_ytd_payment <> delivered
 LIMIT 10;
\endif
