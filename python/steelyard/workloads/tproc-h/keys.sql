-- Eight primary keys and an index on every foreign key, as HammerDB has them; no index on days.
\if :schema_hammerdb
ALTER TABLE lineitem ADD PRIMARY KEY (l_linenumber, l_orderkey);
\else
ALTER TABLE lineitem ADD PRIMARY KEY (l_orderkey, l_linenumber);
\endif
CREATE INDEX lineitem_part_supp_fkidx ON lineitem (l_partkey, l_suppkey);
CREATE INDEX lineitem_orderkey_fkidx ON lineitem (l_orderkey);
ALTER TABLE orders ADD PRIMARY KEY (o_orderkey);
CREATE INDEX orders_customer_fkidx ON orders (o_custkey);
ALTER TABLE partsupp ADD PRIMARY KEY (ps_partkey, ps_suppkey);
CREATE INDEX partsupp_part_fkidx ON partsupp (ps_partkey);
CREATE INDEX partsupp_supplier_fkidx ON partsupp (ps_suppkey);
ALTER TABLE part ADD PRIMARY KEY (p_partkey);
ALTER TABLE customer ADD PRIMARY KEY (c_custkey);
CREATE INDEX customer_nation_fkidx ON customer (c_nationkey);
ALTER TABLE supplier ADD PRIMARY KEY (s_suppkey);
CREATE INDEX supplier_nation_fkidx ON supplier (s_nationkey);
ALTER TABLE nation ADD PRIMARY KEY (n_nationkey);
CREATE INDEX nation_regionkey_fkidx ON nation (n_regionkey);
ALTER TABLE region ADD PRIMARY KEY (r_regionkey);
