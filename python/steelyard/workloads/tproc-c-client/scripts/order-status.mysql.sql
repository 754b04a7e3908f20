-- Order-Status by client-side SQL.
-- A client has its own warehouse, or any one for each transaction.
\if :all_warehouses
\set warehouse random(1, :scale)
\else
\set warehouse :client_id % :scale + 1
\endif
\if :thinking
\sleep 2 s
\endif
\set district random(1, 10)
START TRANSACTION READ ONLY;
\if random(1, 100) <= 60
\set name ((random(0, 255) | random(0, 999)) + 210) % 1000
SELECT SUBSTRING_INDEX(SUBSTRING_INDEX(GROUP_CONCAT(c_id ORDER BY c_first), ',',
                                       (COUNT(*) + 1) DIV 2), ',', -1) DIV 1 AS asker
  FROM customer
 WHERE c_w_id = :warehouse AND c_d_id = :district AND c_last = drawing_last_name(:name) \gset
\else
\set asker ((random(0, 1023) | random(1, 3000)) + 259) % 3000 + 1
\endif
SELECT o_id AS order_id FROM orders
 WHERE o_w_id = :warehouse AND o_d_id = :district AND o_c_id = :asker
 ORDER BY o_id DESC LIMIT 1 \gset
SELECT c_balance, c_first, c_middle, c_last FROM customer
 WHERE c_w_id = :warehouse AND c_d_id = :district AND c_id = :asker;
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
 WHERE ol_w_id = :warehouse AND ol_d_id = :district AND ol_o_id = :order_id;
COMMIT;
\if :thinking
\set pause int(least(100.0, -10.0 * ln(random(1, 1000000) / 1000000.0)) * 1000)
\sleep :pause ms
\endif
