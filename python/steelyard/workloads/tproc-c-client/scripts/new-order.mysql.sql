-- New-Order by client-side SQL. What the client draws is kept in a variable of its session.
-- A client has its own warehouse, or any one for each transaction.
\if :all_warehouses
\set warehouse random(1, :scale)
\else
\set warehouse :client_id % :scale + 1
\endif
\if :thinking
\sleep 18 s
\endif
\set district random(1, 10)
\set customer ((random(0, 1023) | random(1, 3000)) + 259) % 3000 + 1
\set lines random(5, 15)
\set seed random(1, 9000000000000000000)
\set failing random(1, 100) = 1
SET @drawn = drawing_lines(:seed, :lines, :warehouse, :scale, :failing, FALSE);
BEGIN;
SELECT c_discount, c_last, c_credit, w_tax FROM warehouse, customer
 WHERE w_id = :warehouse AND c_w_id = :warehouse AND c_d_id = :district AND c_id = :customer;
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :warehouse AND d_id = :district;
SELECT d_next_o_id - 1 AS order_id FROM district
 WHERE d_w_id = :warehouse AND d_id = :district \gset
-- An item that does not exist is only noticed when it is looked up, and so is here.
SELECT COUNT(*) AS known FROM drawing_places
  JOIN item ON n <= :lines AND i_id = SUBSTRING(@drawn, 16 * n - 15, 6) DIV 1 \gset
\if :known < :lines
ROLLBACK;
\else
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
VALUES (:order_id, :district, :warehouse, :customer, UTC_TIMESTAMP(6), :lines,
        LOCATE('R', @drawn) = 0);
INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (:order_id, :district, :warehouse);
-- In the order of their key, so that two orders never wait for each other crosswise.
SELECT 1 FROM drawing_places
  STRAIGHT_JOIN stock ON s_i_id = SUBSTRING(@drawn, 16 * n - 15, 6) DIV 1
                         AND s_w_id = SUBSTRING(@drawn, 16 * n - 9, 5) DIV 1
 WHERE n <= :lines
   FOR UPDATE;
UPDATE stock
  JOIN (SELECT SUBSTRING(@drawn, 16 * n - 15, 6) DIV 1 AS item_id,
               SUBSTRING(@drawn, 16 * n - 9, 5) DIV 1 AS supplier,
               SUM(SUBSTRING(@drawn, 16 * n - 2, 2) DIV 1) AS quantity, COUNT(*) AS line_count
          FROM drawing_places WHERE n <= :lines
         GROUP BY item_id, supplier) AS l ON s_i_id = item_id AND s_w_id = supplier
   SET s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 END,
       s_ytd = s_ytd + quantity,
       s_order_cnt = s_order_cnt + line_count,
       s_remote_cnt = s_remote_cnt + CASE WHEN supplier = :warehouse THEN 0 ELSE line_count END;
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
                        ol_amount, ol_dist_info)
SELECT :order_id, :district, :warehouse, SUBSTRING(@drawn, 16 * n - 4, 2), s_i_id, s_w_id,
       SUBSTRING(@drawn, 16 * n - 2, 2), SUBSTRING(@drawn, 16 * n - 2, 2) DIV 1 * i_price,
       ELT(:district, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07,
           s_dist_08, s_dist_09, s_dist_10)
  FROM drawing_places
  JOIN item ON i_id = SUBSTRING(@drawn, 16 * n - 15, 6) DIV 1
  JOIN stock ON s_i_id = i_id AND s_w_id = SUBSTRING(@drawn, 16 * n - 9, 5) DIV 1
 WHERE n <= :lines;
COMMIT;
\endif
\if :thinking
\set pause int(least(120.0, -12.0 * ln(random(1, 1000000) / 1000000.0)) * 1000)
\sleep :pause ms
\endif
