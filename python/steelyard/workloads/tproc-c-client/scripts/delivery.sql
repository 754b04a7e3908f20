-- Delivery by client-side SQL: one statement a district, in the order of the districts.
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
\startpipeline
WITH oldest AS (
    SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 1
     ORDER BY no_o_id LIMIT 1 FOR UPDATE),
gone AS (
    DELETE FROM new_order USING oldest
     WHERE no_w_id = :warehouse AND no_d_id = 1 AND new_order.no_o_id = oldest.no_o_id
    RETURNING new_order.no_o_id),
carried AS (
    UPDATE orders SET o_carrier_id = :carrier FROM gone
     WHERE o_w_id = :warehouse AND o_d_id = 1 AND o_id = no_o_id RETURNING o_c_id),
lines AS (
    UPDATE order_line SET ol_delivery_d = now() FROM gone
     WHERE ol_w_id = :warehouse AND ol_d_id = 1 AND ol_o_id = no_o_id RETURNING ol_amount)
UPDATE customer
   SET c_balance = c_balance + (SELECT sum(ol_amount) FROM lines),
       c_delivery_cnt = c_delivery_cnt + 1
  FROM carried
 WHERE c_w_id = :warehouse AND c_d_id = 1 AND c_id = o_c_id
RETURNING c_id;
WITH oldest AS (
    SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 2
     ORDER BY no_o_id LIMIT 1 FOR UPDATE),
gone AS (
    DELETE FROM new_order USING oldest
     WHERE no_w_id = :warehouse AND no_d_id = 2 AND new_order.no_o_id = oldest.no_o_id
    RETURNING new_order.no_o_id),
carried AS (
    UPDATE orders SET o_carrier_id = :carrier FROM gone
     WHERE o_w_id = :warehouse AND o_d_id = 2 AND o_id = no_o_id RETURNING o_c_id),
lines AS (
    UPDATE order_line SET ol_delivery_d = now() FROM gone
     WHERE ol_w_id = :warehouse AND ol_d_id = 2 AND ol_o_id = no_o_id RETURNING ol_amount)
UPDATE customer
   SET c_balance = c_balance + (SELECT sum(ol_amount) FROM lines),
       c_delivery_cnt = c_delivery_cnt + 1
  FROM carried
 WHERE c_w_id = :warehouse AND c_d_id = 2 AND c_id = o_c_id
RETURNING c_id;
WITH oldest AS (
    SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 3
     ORDER BY no_o_id LIMIT 1 FOR UPDATE),
gone AS (
    DELETE FROM new_order USING oldest
     WHERE no_w_id = :warehouse AND no_d_id = 3 AND new_order.no_o_id = oldest.no_o_id
    RETURNING new_order.no_o_id),
carried AS (
    UPDATE orders SET o_carrier_id = :carrier FROM gone
     WHERE o_w_id = :warehouse AND o_d_id = 3 AND o_id = no_o_id RETURNING o_c_id),
lines AS (
    UPDATE order_line SET ol_delivery_d = now() FROM gone
     WHERE ol_w_id = :warehouse AND ol_d_id = 3 AND ol_o_id = no_o_id RETURNING ol_amount)
UPDATE customer
   SET c_balance = c_balance + (SELECT sum(ol_amount) FROM lines),
       c_delivery_cnt = c_delivery_cnt + 1
  FROM carried
 WHERE c_w_id = :warehouse AND c_d_id = 3 AND c_id = o_c_id
RETURNING c_id;
WITH oldest AS (
    SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 4
     ORDER BY no_o_id LIMIT 1 FOR UPDATE),
gone AS (
    DELETE FROM new_order USING oldest
     WHERE no_w_id = :warehouse AND no_d_id = 4 AND new_order.no_o_id = oldest.no_o_id
    RETURNING new_order.no_o_id),
carried AS (
    UPDATE orders SET o_carrier_id = :carrier FROM gone
     WHERE o_w_id = :warehouse AND o_d_id = 4 AND o_id = no_o_id RETURNING o_c_id),
lines AS (
    UPDATE order_line SET ol_delivery_d = now() FROM gone
     WHERE ol_w_id = :warehouse AND ol_d_id = 4 AND ol_o_id = no_o_id RETURNING ol_amount)
UPDATE customer
   SET c_balance = c_balance + (SELECT sum(ol_amount) FROM lines),
       c_delivery_cnt = c_delivery_cnt + 1
  FROM carried
 WHERE c_w_id = :warehouse AND c_d_id = 4 AND c_id = o_c_id
RETURNING c_id;
WITH oldest AS (
    SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 5
     ORDER BY no_o_id LIMIT 1 FOR UPDATE),
gone AS (
    DELETE FROM new_order USING oldest
     WHERE no_w_id = :warehouse AND no_d_id = 5 AND new_order.no_o_id = oldest.no_o_id
    RETURNING new_order.no_o_id),
carried AS (
    UPDATE orders SET o_carrier_id = :carrier FROM gone
     WHERE o_w_id = :warehouse AND o_d_id = 5 AND o_id = no_o_id RETURNING o_c_id),
lines AS (
    UPDATE order_line SET ol_delivery_d = now() FROM gone
     WHERE ol_w_id = :warehouse AND ol_d_id = 5 AND ol_o_id = no_o_id RETURNING ol_amount)
UPDATE customer
   SET c_balance = c_balance + (SELECT sum(ol_amount) FROM lines),
       c_delivery_cnt = c_delivery_cnt + 1
  FROM carried
 WHERE c_w_id = :warehouse AND c_d_id = 5 AND c_id = o_c_id
RETURNING c_id;
WITH oldest AS (
    SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 6
     ORDER BY no_o_id LIMIT 1 FOR UPDATE),
gone AS (
    DELETE FROM new_order USING oldest
     WHERE no_w_id = :warehouse AND no_d_id = 6 AND new_order.no_o_id = oldest.no_o_id
    RETURNING new_order.no_o_id),
carried AS (
    UPDATE orders SET o_carrier_id = :carrier FROM gone
     WHERE o_w_id = :warehouse AND o_d_id = 6 AND o_id = no_o_id RETURNING o_c_id),
lines AS (
    UPDATE order_line SET ol_delivery_d = now() FROM gone
     WHERE ol_w_id = :warehouse AND ol_d_id = 6 AND ol_o_id = no_o_id RETURNING ol_amount)
UPDATE customer
   SET c_balance = c_balance + (SELECT sum(ol_amount) FROM lines),
       c_delivery_cnt = c_delivery_cnt + 1
  FROM carried
 WHERE c_w_id = :warehouse AND c_d_id = 6 AND c_id = o_c_id
RETURNING c_id;
WITH oldest AS (
    SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 7
     ORDER BY no_o_id LIMIT 1 FOR UPDATE),
gone AS (
    DELETE FROM new_order USING oldest
     WHERE no_w_id = :warehouse AND no_d_id = 7 AND new_order.no_o_id = oldest.no_o_id
    RETURNING new_order.no_o_id),
carried AS (
    UPDATE orders SET o_carrier_id = :carrier FROM gone
     WHERE o_w_id = :warehouse AND o_d_id = 7 AND o_id = no_o_id RETURNING o_c_id),
lines AS (
    UPDATE order_line SET ol_delivery_d = now() FROM gone
     WHERE ol_w_id = :warehouse AND ol_d_id = 7 AND ol_o_id = no_o_id RETURNING ol_amount)
UPDATE customer
   SET c_balance = c_balance + (SELECT sum(ol_amount) FROM lines),
       c_delivery_cnt = c_delivery_cnt + 1
  FROM carried
 WHERE c_w_id = :warehouse AND c_d_id = 7 AND c_id = o_c_id
RETURNING c_id;
WITH oldest AS (
    SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 8
     ORDER BY no_o_id LIMIT 1 FOR UPDATE),
gone AS (
    DELETE FROM new_order USING oldest
     WHERE no_w_id = :warehouse AND no_d_id = 8 AND new_order.no_o_id = oldest.no_o_id
    RETURNING new_order.no_o_id),
carried AS (
    UPDATE orders SET o_carrier_id = :carrier FROM gone
     WHERE o_w_id = :warehouse AND o_d_id = 8 AND o_id = no_o_id RETURNING o_c_id),
lines AS (
    UPDATE order_line SET ol_delivery_d = now() FROM gone
     WHERE ol_w_id = :warehouse AND ol_d_id = 8 AND ol_o_id = no_o_id RETURNING ol_amount)
UPDATE customer
   SET c_balance = c_balance + (SELECT sum(ol_amount) FROM lines),
       c_delivery_cnt = c_delivery_cnt + 1
  FROM carried
 WHERE c_w_id = :warehouse AND c_d_id = 8 AND c_id = o_c_id
RETURNING c_id;
WITH oldest AS (
    SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 9
     ORDER BY no_o_id LIMIT 1 FOR UPDATE),
gone AS (
    DELETE FROM new_order USING oldest
     WHERE no_w_id = :warehouse AND no_d_id = 9 AND new_order.no_o_id = oldest.no_o_id
    RETURNING new_order.no_o_id),
carried AS (
    UPDATE orders SET o_carrier_id = :carrier FROM gone
     WHERE o_w_id = :warehouse AND o_d_id = 9 AND o_id = no_o_id RETURNING o_c_id),
lines AS (
    UPDATE order_line SET ol_delivery_d = now() FROM gone
     WHERE ol_w_id = :warehouse AND ol_d_id = 9 AND ol_o_id = no_o_id RETURNING ol_amount)
UPDATE customer
   SET c_balance = c_balance + (SELECT sum(ol_amount) FROM lines),
       c_delivery_cnt = c_delivery_cnt + 1
  FROM carried
 WHERE c_w_id = :warehouse AND c_d_id = 9 AND c_id = o_c_id
RETURNING c_id;
WITH oldest AS (
    SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = 10
     ORDER BY no_o_id LIMIT 1 FOR UPDATE),
gone AS (
    DELETE FROM new_order USING oldest
     WHERE no_w_id = :warehouse AND no_d_id = 10 AND new_order.no_o_id = oldest.no_o_id
    RETURNING new_order.no_o_id),
carried AS (
    UPDATE orders SET o_carrier_id = :carrier FROM gone
     WHERE o_w_id = :warehouse AND o_d_id = 10 AND o_id = no_o_id RETURNING o_c_id),
lines AS (
    UPDATE order_line SET ol_delivery_d = now() FROM gone
     WHERE ol_w_id = :warehouse AND ol_d_id = 10 AND ol_o_id = no_o_id RETURNING ol_amount)
UPDATE customer
   SET c_balance = c_balance + (SELECT sum(ol_amount) FROM lines),
       c_delivery_cnt = c_delivery_cnt + 1
  FROM carried
 WHERE c_w_id = :warehouse AND c_d_id = 10 AND c_id = o_c_id
RETURNING c_id;
COMMIT;
\endpipeline
\if :thinking
\set pause int(least(50.0, -5.0 * ln(random(1, 1000000) / 1000000.0)) * 1000)
\sleep :pause ms
\endif
