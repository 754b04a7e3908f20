-- Delivery by client-side SQL: five statements a district, in the order of the districts.
-- A client has its own warehouse, or any one for each transaction.
\if :all_warehouses
\set warehouse random(1, :scale)
\else
\set warehouse :client_id % :scale + 1
\endif
\if :thinking
\sleep 2 s
\endif
\set carrier random(1, 10)
BEGIN;
SELECT COALESCE(MAX(no_o_id), 0) AS order_id
  FROM (SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 1
         ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS oldest \gset
\if :order_id > 0
DELETE FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 1 AND no_o_id = :order_id;
UPDATE orders SET o_carrier_id = :carrier
 WHERE o_w_id = :warehouse AND o_d_id = 1 AND o_id = :order_id;
UPDATE order_line SET ol_delivery_d = UTC_TIMESTAMP(6)
 WHERE ol_w_id = :warehouse AND ol_d_id = 1 AND ol_o_id = :order_id;
UPDATE orders JOIN customer ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id
   SET c_balance = c_balance + (SELECT SUM(ol_amount) FROM order_line
                                 WHERE ol_w_id = :warehouse AND ol_d_id = 1 AND ol_o_id = :order_id),
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE o_w_id = :warehouse AND o_d_id = 1 AND o_id = :order_id;
\endif
SELECT COALESCE(MAX(no_o_id), 0) AS order_id
  FROM (SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 2
         ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS oldest \gset
\if :order_id > 0
DELETE FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 2 AND no_o_id = :order_id;
UPDATE orders SET o_carrier_id = :carrier
 WHERE o_w_id = :warehouse AND o_d_id = 2 AND o_id = :order_id;
UPDATE order_line SET ol_delivery_d = UTC_TIMESTAMP(6)
 WHERE ol_w_id = :warehouse AND ol_d_id = 2 AND ol_o_id = :order_id;
UPDATE orders JOIN customer ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id
   SET c_balance = c_balance + (SELECT SUM(ol_amount) FROM order_line
                                 WHERE ol_w_id = :warehouse AND ol_d_id = 2 AND ol_o_id = :order_id),
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE o_w_id = :warehouse AND o_d_id = 2 AND o_id = :order_id;
\endif
SELECT COALESCE(MAX(no_o_id), 0) AS order_id
  FROM (SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 3
         ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS oldest \gset
\if :order_id > 0
DELETE FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 3 AND no_o_id = :order_id;
UPDATE orders SET o_carrier_id = :carrier
 WHERE o_w_id = :warehouse AND o_d_id = 3 AND o_id = :order_id;
UPDATE order_line SET ol_delivery_d = UTC_TIMESTAMP(6)
 WHERE ol_w_id = :warehouse AND ol_d_id = 3 AND ol_o_id = :order_id;
UPDATE orders JOIN customer ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id
   SET c_balance = c_balance + (SELECT SUM(ol_amount) FROM order_line
                                 WHERE ol_w_id = :warehouse AND ol_d_id = 3 AND ol_o_id = :order_id),
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE o_w_id = :warehouse AND o_d_id = 3 AND o_id = :order_id;
\endif
SELECT COALESCE(MAX(no_o_id), 0) AS order_id
  FROM (SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 4
         ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS oldest \gset
\if :order_id > 0
DELETE FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 4 AND no_o_id = :order_id;
UPDATE orders SET o_carrier_id = :carrier
 WHERE o_w_id = :warehouse AND o_d_id = 4 AND o_id = :order_id;
UPDATE order_line SET ol_delivery_d = UTC_TIMESTAMP(6)
 WHERE ol_w_id = :warehouse AND ol_d_id = 4 AND ol_o_id = :order_id;
UPDATE orders JOIN customer ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id
   SET c_balance = c_balance + (SELECT SUM(ol_amount) FROM order_line
                                 WHERE ol_w_id = :warehouse AND ol_d_id = 4 AND ol_o_id = :order_id),
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE o_w_id = :warehouse AND o_d_id = 4 AND o_id = :order_id;
\endif
SELECT COALESCE(MAX(no_o_id), 0) AS order_id
  FROM (SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 5
         ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS oldest \gset
\if :order_id > 0
DELETE FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 5 AND no_o_id = :order_id;
UPDATE orders SET o_carrier_id = :carrier
 WHERE o_w_id = :warehouse AND o_d_id = 5 AND o_id = :order_id;
UPDATE order_line SET ol_delivery_d = UTC_TIMESTAMP(6)
 WHERE ol_w_id = :warehouse AND ol_d_id = 5 AND ol_o_id = :order_id;
UPDATE orders JOIN customer ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id
   SET c_balance = c_balance + (SELECT SUM(ol_amount) FROM order_line
                                 WHERE ol_w_id = :warehouse AND ol_d_id = 5 AND ol_o_id = :order_id),
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE o_w_id = :warehouse AND o_d_id = 5 AND o_id = :order_id;
\endif
SELECT COALESCE(MAX(no_o_id), 0) AS order_id
  FROM (SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 6
         ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS oldest \gset
\if :order_id > 0
DELETE FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 6 AND no_o_id = :order_id;
UPDATE orders SET o_carrier_id = :carrier
 WHERE o_w_id = :warehouse AND o_d_id = 6 AND o_id = :order_id;
UPDATE order_line SET ol_delivery_d = UTC_TIMESTAMP(6)
 WHERE ol_w_id = :warehouse AND ol_d_id = 6 AND ol_o_id = :order_id;
UPDATE orders JOIN customer ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id
   SET c_balance = c_balance + (SELECT SUM(ol_amount) FROM order_line
                                 WHERE ol_w_id = :warehouse AND ol_d_id = 6 AND ol_o_id = :order_id),
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE o_w_id = :warehouse AND o_d_id = 6 AND o_id = :order_id;
\endif
SELECT COALESCE(MAX(no_o_id), 0) AS order_id
  FROM (SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 7
         ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS oldest \gset
\if :order_id > 0
DELETE FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 7 AND no_o_id = :order_id;
UPDATE orders SET o_carrier_id = :carrier
 WHERE o_w_id = :warehouse AND o_d_id = 7 AND o_id = :order_id;
UPDATE order_line SET ol_delivery_d = UTC_TIMESTAMP(6)
 WHERE ol_w_id = :warehouse AND ol_d_id = 7 AND ol_o_id = :order_id;
UPDATE orders JOIN customer ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id
   SET c_balance = c_balance + (SELECT SUM(ol_amount) FROM order_line
                                 WHERE ol_w_id = :warehouse AND ol_d_id = 7 AND ol_o_id = :order_id),
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE o_w_id = :warehouse AND o_d_id = 7 AND o_id = :order_id;
\endif
SELECT COALESCE(MAX(no_o_id), 0) AS order_id
  FROM (SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 8
         ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS oldest \gset
\if :order_id > 0
DELETE FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 8 AND no_o_id = :order_id;
UPDATE orders SET o_carrier_id = :carrier
 WHERE o_w_id = :warehouse AND o_d_id = 8 AND o_id = :order_id;
UPDATE order_line SET ol_delivery_d = UTC_TIMESTAMP(6)
 WHERE ol_w_id = :warehouse AND ol_d_id = 8 AND ol_o_id = :order_id;
UPDATE orders JOIN customer ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id
   SET c_balance = c_balance + (SELECT SUM(ol_amount) FROM order_line
                                 WHERE ol_w_id = :warehouse AND ol_d_id = 8 AND ol_o_id = :order_id),
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE o_w_id = :warehouse AND o_d_id = 8 AND o_id = :order_id;
\endif
SELECT COALESCE(MAX(no_o_id), 0) AS order_id
  FROM (SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 9
         ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS oldest \gset
\if :order_id > 0
DELETE FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 9 AND no_o_id = :order_id;
UPDATE orders SET o_carrier_id = :carrier
 WHERE o_w_id = :warehouse AND o_d_id = 9 AND o_id = :order_id;
UPDATE order_line SET ol_delivery_d = UTC_TIMESTAMP(6)
 WHERE ol_w_id = :warehouse AND ol_d_id = 9 AND ol_o_id = :order_id;
UPDATE orders JOIN customer ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id
   SET c_balance = c_balance + (SELECT SUM(ol_amount) FROM order_line
                                 WHERE ol_w_id = :warehouse AND ol_d_id = 9 AND ol_o_id = :order_id),
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE o_w_id = :warehouse AND o_d_id = 9 AND o_id = :order_id;
\endif
SELECT COALESCE(MAX(no_o_id), 0) AS order_id
  FROM (SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 10
         ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS oldest \gset
\if :order_id > 0
DELETE FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 10 AND no_o_id = :order_id;
UPDATE orders SET o_carrier_id = :carrier
 WHERE o_w_id = :warehouse AND o_d_id = 10 AND o_id = :order_id;
UPDATE order_line SET ol_delivery_d = UTC_TIMESTAMP(6)
 WHERE ol_w_id = :warehouse AND ol_d_id = 10 AND ol_o_id = :order_id;
UPDATE orders JOIN customer ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id
   SET c_balance = c_balance + (SELECT SUM(ol_amount) FROM order_line
                                 WHERE ol_w_id = :warehouse AND ol_d_id = 10 AND ol_o_id = :order_id),
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE o_w_id = :warehouse AND o_d_id = 10 AND o_id = :order_id;
\endif
COMMIT;
\if :thinking
\set pause int(least(50.0, -5.0 * ln(random(1, 1000000) / 1000000.0)) * 1000)
\sleep :pause ms
\endif
