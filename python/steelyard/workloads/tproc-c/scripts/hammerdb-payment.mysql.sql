-- Payment as in HammerDB: whole amounts, one constant for names in loading and driving.
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
-- 15 of 100 customers are of another warehouse; where there is none, of any district of this one.
\if random(1, 100) <= 15
\set customer_w (:warehouse + random(0, greatest(:scale - 2, 0))) % :scale + 1
\set customer_d random(1, 10)
\else
\set customer_w :warehouse
\set customer_d :district
\endif
-- 60 of 100 are known by their last name, the others (-1) by their number.
\if random(1, 100) <= 60
\set name ((random(0, 255) | random(0, 999)) + 123) % 1000
\else
\set name -1
\endif
\set customer random(1, 3000)
\set amount random(1, 5000)
CALL hammerdb_payment(:warehouse, :district, :customer_w, :customer_d, :name, :customer, :amount);
\if :thinking
\set pause int(least(120.0, -12.0 * ln(random(1, 1000000) / 1000000.0)) * 1000)
\sleep :pause ms
\endif
