-- The keys and indexes of keys.sql. In InnoDB the primary key is the table: its rows lie in its
-- order, so the rows of an order lie together, those of an item in all warehouses do, and a
-- secondary index ends in the primary key. Made after the rows, so each table is built anew, sorted
-- and dense, however its rows came; that takes as much space again for a while. history has no key,
-- as in HammerDB: InnoDB numbers its rows itself, in the order in which they come.
ALTER TABLE order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);
ALTER TABLE stock ADD PRIMARY KEY (s_i_id, s_w_id);
ALTER TABLE customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id),
    ADD UNIQUE INDEX customer_i2 (c_w_id, c_d_id, c_last, c_first, c_id);
ALTER TABLE orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id),
    ADD UNIQUE INDEX orders_i2 (o_w_id, o_d_id, o_c_id, o_id);
ALTER TABLE new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id);
ALTER TABLE item ADD PRIMARY KEY (i_id);
ALTER TABLE district ADD PRIMARY KEY (d_w_id, d_id);
ALTER TABLE warehouse ADD PRIMARY KEY (w_id);
