-- The nine tables, with HammerDB's columns and their order. No foreign keys, as there.
--
-- Every transaction changes a row of warehouse or district. Their pages leave room for the versions
-- of it: from full ones they would spread over new pages, and a planner that multiplies rows a page
-- by pages, while no vacuum counts anew, would take these hundred rows for thousands.

CREATE TABLE warehouse (
    w_id int NOT NULL, w_name varchar(10) NOT NULL, w_street_1 varchar(20) NOT NULL,
    w_street_2 varchar(20) NOT NULL, w_city varchar(20) NOT NULL, w_state char(2) NOT NULL,
    w_zip char(9) NOT NULL, w_tax numeric(4, 4) NOT NULL, w_ytd numeric(16, 2) NOT NULL)
    WITH (fillfactor = 10);

CREATE TABLE district (
    d_w_id int NOT NULL, d_next_o_id int NOT NULL, d_id smallint NOT NULL,
    d_ytd numeric(12, 2) NOT NULL, d_tax numeric(4, 4) NOT NULL, d_name varchar(10) NOT NULL,
    d_street_1 varchar(20) NOT NULL, d_street_2 varchar(20) NOT NULL, d_city varchar(20) NOT NULL,
    d_state char(2) NOT NULL, d_zip char(9) NOT NULL)
    WITH (fillfactor = 10);

CREATE TABLE customer (
    c_since timestamptz NOT NULL, c_id int NOT NULL, c_w_id int NOT NULL, c_d_id smallint NOT NULL,
    c_payment_cnt smallint NOT NULL, c_delivery_cnt smallint NOT NULL, c_first varchar(16) NOT NULL,
    c_middle char(2) NOT NULL, c_last varchar(16) NOT NULL, c_street_1 varchar(20) NOT NULL,
    c_street_2 varchar(20) NOT NULL, c_city varchar(20) NOT NULL, c_state char(2) NOT NULL,
    c_zip char(9) NOT NULL, c_phone char(16) NOT NULL, c_credit char(2) NOT NULL,
    c_credit_lim numeric(12, 2) NOT NULL, c_discount numeric(4, 4) NOT NULL,
    c_balance numeric(12, 2) NOT NULL, c_ytd_payment numeric(12, 2) NOT NULL,
    c_data varchar(500) NOT NULL);

CREATE TABLE history (
    h_date timestamptz NOT NULL, h_c_id int, h_c_w_id int NOT NULL, h_w_id int NOT NULL,
    h_c_d_id smallint NOT NULL, h_d_id smallint NOT NULL, h_amount numeric(6, 2) NOT NULL,
    h_data varchar(24) NOT NULL);

CREATE TABLE item (
    i_id int NOT NULL, i_im_id int NOT NULL, i_name varchar(24) NOT NULL,
    i_price numeric(5, 2) NOT NULL, i_data varchar(50) NOT NULL);

CREATE TABLE stock (
    s_i_id int NOT NULL, s_w_id int NOT NULL, s_ytd int NOT NULL, s_quantity smallint NOT NULL,
    s_order_cnt smallint NOT NULL, s_remote_cnt smallint NOT NULL, s_dist_01 char(24) NOT NULL,
    s_dist_02 char(24) NOT NULL, s_dist_03 char(24) NOT NULL, s_dist_04 char(24) NOT NULL,
    s_dist_05 char(24) NOT NULL, s_dist_06 char(24) NOT NULL, s_dist_07 char(24) NOT NULL,
    s_dist_08 char(24) NOT NULL, s_dist_09 char(24) NOT NULL, s_dist_10 char(24) NOT NULL,
    s_data varchar(50) NOT NULL);

CREATE TABLE orders (
    o_entry_d timestamptz NOT NULL, o_id int NOT NULL, o_w_id int NOT NULL, o_c_id int NOT NULL,
    o_d_id smallint NOT NULL, o_carrier_id smallint, o_ol_cnt smallint NOT NULL,
    o_all_local smallint NOT NULL);

CREATE TABLE new_order (
    no_w_id int NOT NULL, no_o_id int NOT NULL, no_d_id smallint NOT NULL);

\if :partitions > 1
CREATE TABLE order_line (
    ol_delivery_d timestamptz, ol_o_id int NOT NULL, ol_w_id int NOT NULL, ol_i_id int NOT NULL,
    ol_supply_w_id int NOT NULL, ol_d_id smallint NOT NULL, ol_number smallint NOT NULL,
    ol_quantity smallint NOT NULL, ol_amount numeric(6, 2), ol_dist_info char(24))
    PARTITION BY HASH (ol_w_id);
DO $$
BEGIN
    FOR part IN 0 .. :partitions - 1 LOOP
        EXECUTE format('CREATE TABLE ol_%s PARTITION OF order_line
                        FOR VALUES WITH (MODULUS %s, REMAINDER %s)', part, :partitions, part);
    END LOOP;
END $$;
\else
CREATE TABLE order_line (
    ol_delivery_d timestamptz, ol_o_id int NOT NULL, ol_w_id int NOT NULL, ol_i_id int NOT NULL,
    ol_supply_w_id int NOT NULL, ol_d_id smallint NOT NULL, ol_number smallint NOT NULL,
    ol_quantity smallint NOT NULL, ol_amount numeric(6, 2), ol_dist_info char(24));
\endif
