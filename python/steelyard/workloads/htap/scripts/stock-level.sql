-- Stock-Level: always of the client's own district.
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
SELECT spec.stock_level(:warehouse, :district, :threshold);
\if :thinking
\set pause int(least(50.0, -5.0 * ln(random(1, 1000000) / 1000000.0)) * 1000)
\sleep :pause ms
\endif
