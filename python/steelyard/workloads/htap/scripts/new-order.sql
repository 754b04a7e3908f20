-- New-Order: 5 to 15 lines; 1 order in 100 has an item that does not exist.
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
CALL spec.new_order(:warehouse, :district, :customer, :lines, :seed, :scale, :failing, NULL);
\if :thinking
\set pause int(least(120.0, -12.0 * ln(random(1, 1000000) / 1000000.0)) * 1000)
\sleep :pause ms
\endif
