-- Order-Status.
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
-- 60 of 100 are known by their last name, the others (-1) by their number.
\if random(1, 100) <= 60
\set name ((random(0, 255) | random(0, 999)) + 210) % 1000
\else
\set name -1
\endif
\set customer ((random(0, 1023) | random(1, 3000)) + 259) % 3000 + 1
SELECT * FROM spec.order_status(:warehouse, :district, :name, :customer);
\if :thinking
\set pause int(least(100.0, -10.0 * ln(random(1, 1000000) / 1000000.0)) * 1000)
\sleep :pause ms
\endif
