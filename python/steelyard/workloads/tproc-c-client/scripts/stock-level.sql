-- Stock-Level by client-side SQL.
-- A client has its own warehouse, or any one for each transaction.
\if :all_warehouses
\set warehouse random(1, :scale)
\else
\set warehouse :client_id % :scale + 1
\endif
\if :thinking
\sleep 2 s
\endif
\set district :client_id % 10 + 1
\set threshold random(10, 20)
BEGIN;
SELECT d_next_o_id AS next_order FROM district
 WHERE d_w_id = :warehouse AND d_id = :district \gset
SELECT count(DISTINCT s_i_id) FROM order_line, stock
 WHERE ol_w_id = :warehouse AND ol_d_id = :district
   AND ol_o_id BETWEEN :next_order - 20 AND :next_order - 1
   AND s_w_id = :warehouse AND s_i_id = ol_i_id AND s_quantity < :threshold;
COMMIT;
\if :thinking
\set pause int(least(50.0, -5.0 * ln(random(1, 1000000) / 1000000.0)) * 1000)
\sleep :pause ms
\endif
