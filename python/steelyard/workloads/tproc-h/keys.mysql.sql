-- The keys and indexes of keys.sql: eight primary keys, an index on every foreign key, none on
-- days. In InnoDB the primary key is the table: lines lie by their order, or in HammerDB's schema
-- by their number, and a secondary index ends in the primary key. Made after the rows, so each
-- table is built anew, sorted and dense; that takes as much space again for a while.
\if :schema_hammerdb
ALTER TABLE lineitem ADD PRIMARY KEY (l_linenumber, l_orderkey),
    ADD INDEX lineitem_part_supp_fkidx (l_partkey, l_suppkey),
    ADD INDEX lineitem_orderkey_fkidx (l_orderkey);
\else
ALTER TABLE lineitem ADD PRIMARY KEY (l_orderkey, l_linenumber),
    ADD INDEX lineitem_part_supp_fkidx (l_partkey, l_suppkey),
    ADD INDEX lineitem_orderkey_fkidx (l_orderkey);
\endif
ALTER TABLE orders ADD PRIMARY KEY (o_orderkey), ADD INDEX orders_customer_fkidx (o_custkey);
ALTER TABLE partsupp ADD PRIMARY KEY (ps_partkey, ps_suppkey),
    ADD INDEX partsupp_part_fkidx (ps_partkey), ADD INDEX partsupp_supplier_fkidx (ps_suppkey);
ALTER TABLE part ADD PRIMARY KEY (p_partkey);
ALTER TABLE customer ADD PRIMARY KEY (c_custkey), ADD INDEX customer_nation_fkidx (c_nationkey);
ALTER TABLE supplier ADD PRIMARY KEY (s_suppkey), ADD INDEX supplier_nation_fkidx (s_nationkey);
ALTER TABLE nation ADD PRIMARY KEY (n_nationkey), ADD INDEX nation_regionkey_fkidx (n_regionkey);
ALTER TABLE region ADD PRIMARY KEY (r_regionkey);
