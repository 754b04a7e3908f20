-- New-Order by client-side SQL. What depends on an answer waits for it; the rest is one pipeline.
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
BEGIN;
SELECT c_discount, c_last, c_credit, w_tax FROM warehouse, customer
 WHERE w_id = :warehouse AND c_w_id = :warehouse AND c_d_id = :district AND c_id = :customer;
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :warehouse AND d_id = :district
RETURNING d_next_o_id - 1 AS order_id \gset
-- An item that does not exist is only noticed when it is looked up, and so is here.
SELECT count(*) AS known FROM drawing.lines(:seed, :lines, :warehouse, :scale, :failing, false) l
  JOIN item ON i_id = l.item \gset
\if :known < :lines
ROLLBACK;
\else
\startpipeline
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
SELECT :order_id, :district, :warehouse, :customer, now(), :lines,
       bool_and(l.supplier = :warehouse)::int
  FROM drawing.lines(:seed, :lines, :warehouse, :scale, :failing, false) l;
INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (:order_id, :district, :warehouse);
-- In the order of their key, so that two orders never wait for each other crosswise.
SELECT 1 FROM stock
 WHERE (s_i_id, s_w_id) IN (
       SELECT item, supplier
         FROM drawing.lines(:seed, :lines, :warehouse, :scale, :failing, false))
 ORDER BY s_i_id, s_w_id FOR UPDATE;
UPDATE stock
   SET s_quantity = s_quantity - l.quantity + CASE WHEN s_quantity >= l.quantity + 10 THEN 0 ELSE 91 END,
       s_ytd = s_ytd + l.quantity,
       s_order_cnt = s_order_cnt + l.lines,
       s_remote_cnt = s_remote_cnt + CASE WHEN l.supplier = :warehouse THEN 0 ELSE l.lines END
  FROM (SELECT item, supplier, sum(quantity)::int AS quantity, count(*)::int AS lines
          FROM drawing.lines(:seed, :lines, :warehouse, :scale, :failing, false)
         GROUP BY item, supplier) l
 WHERE s_i_id = l.item AND s_w_id = l.supplier;
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
                        ol_amount, ol_dist_info)
SELECT :order_id, :district, :warehouse, l.number, l.item, l.supplier, l.quantity,
       l.quantity * i_price, drawing.district_of_stock(s, :district)
  FROM drawing.lines(:seed, :lines, :warehouse, :scale, :failing, false) l
  JOIN item ON i_id = l.item
  JOIN stock s ON s_i_id = l.item AND s_w_id = l.supplier;
COMMIT;
\endpipeline
\endif
\if :thinking
\set pause int(least(120.0, -12.0 * ln(random(1, 1000000) / 1000000.0)) * 1000)
\sleep :pause ms
\endif
