-- Payment.
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
-- 60 of 100 are known by their last name, the others (-1) by their number.
\if random(1, 100) <= 60
\set name ((random(0, 255) | random(0, 999)) + 210) % 1000
\else
\set name -1
\endif
\set customer ((random(0, 1023) | random(1, 3000)) + 259) % 3000 + 1
\set cents random(100, 500000)
SELECT spec.payment(:warehouse, :district, :customer_w, :customer_d, :name, :customer, :cents);
\if :thinking
\set pause int(least(120.0, -12.0 * ln(random(1, 1000000) / 1000000.0)) * 1000)
\sleep :pause ms
\endif
