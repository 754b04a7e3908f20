-- Payment by client-side SQL.
-- A client has its own warehouse, or any one for each transaction.
\if :all_warehouses
\set warehouse random(1, :scale)
\else
\set warehouse :client_id % :scale + 1
\endif
\if :thinking
\sleep 3 s
\endif
\set district random(1, 10)
-- 15 of 100 customers pay at another warehouse than their own, where there is one.
\if random(1, 100) <= 15 and :scale > 1
\set customer_w (:warehouse + random(0, :scale - 2)) % :scale + 1
\set customer_d random(1, 10)
\else
\set customer_w :warehouse
\set customer_d :district
\endif
\set cents random(100, 500000)
BEGIN;
-- 60 of 100 are known by their last name, the others by their number.
\if random(1, 100) <= 60
\set name ((random(0, 255) | random(0, 999)) + 210) % 1000
SELECT SUBSTRING_INDEX(SUBSTRING_INDEX(GROUP_CONCAT(c_id ORDER BY c_first), ',',
                                       (COUNT(*) + 1) DIV 2), ',', -1) DIV 1 AS payer
  FROM customer
 WHERE c_w_id = :customer_w AND c_d_id = :customer_d AND c_last = drawing_last_name(:name) \gset
\else
\set payer ((random(0, 1023) | random(1, 3000)) + 259) % 3000 + 1
SELECT c_balance FROM customer
 WHERE c_w_id = :customer_w AND c_d_id = :customer_d AND c_id = :payer;
\endif
UPDATE warehouse SET w_ytd = w_ytd + :cents / 100 WHERE w_id = :warehouse;
SELECT w_name FROM warehouse WHERE w_id = :warehouse;
UPDATE district SET d_ytd = d_ytd + :cents / 100 WHERE d_w_id = :warehouse AND d_id = :district;
SELECT d_name FROM district WHERE d_w_id = :warehouse AND d_id = :district;
UPDATE customer
   SET c_balance = c_balance - :cents / 100,
       c_ytd_payment = c_ytd_payment + :cents / 100,
       c_payment_cnt = c_payment_cnt + 1,
       c_data = CASE c_credit WHEN 'BC'
                THEN LEFT(CONCAT_WS(' ', c_id, c_d_id, c_w_id, :district, :warehouse,
                                    CAST(:cents / 100 AS decimal(22, 16)), c_data), 500)
                ELSE c_data END
 WHERE c_w_id = :customer_w AND c_d_id = :customer_d AND c_id = :payer;
SELECT c_balance FROM customer
 WHERE c_w_id = :customer_w AND c_d_id = :customer_d AND c_id = :payer;
INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
SELECT :customer_d, :customer_w, :payer, :district, :warehouse, UTC_TIMESTAMP(6), :cents / 100,
       CONCAT(w_name, '    ', d_name)
  FROM warehouse, district WHERE w_id = :warehouse AND d_w_id = :warehouse AND d_id = :district;
COMMIT;
\if :thinking
\set pause int(least(120.0, -12.0 * ln(random(1, 1000000) / 1000000.0)) * 1000)
\sleep :pause ms
\endif
