-- The nine tables for MySQL and MariaDB: HammerDB's columns and their order, as in schema.sql. No
-- foreign keys, as there. Times are UTC, in DATETIME(6), which no session's time zone changes and
-- no UPDATE touches, as it would a TIMESTAMP of MySQL 5.7. Texts are the generator's: ASCII,
-- compared by their bytes, so that names sort here as they do in PostgreSQL.
--
-- InnoDB has no fill factor for single tables and needs none: it keeps old versions apart.

CREATE TABLE warehouse (
    w_id int NOT NULL, w_name varchar(10) NOT NULL, w_street_1 varchar(20) NOT NULL,
    w_street_2 varchar(20) NOT NULL, w_city varchar(20) NOT NULL, w_state char(2) NOT NULL,
    w_zip char(9) NOT NULL, w_tax decimal(4, 4) NOT NULL, w_ytd decimal(16, 2) NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;

CREATE TABLE district (
    d_w_id int NOT NULL, d_next_o_id int NOT NULL, d_id smallint NOT NULL,
    d_ytd decimal(12, 2) NOT NULL, d_tax decimal(4, 4) NOT NULL, d_name varchar(10) NOT NULL,
    d_street_1 varchar(20) NOT NULL, d_street_2 varchar(20) NOT NULL, d_city varchar(20) NOT NULL,
    d_state char(2) NOT NULL, d_zip char(9) NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;

CREATE TABLE customer (
    c_since datetime(6) NOT NULL, c_id int NOT NULL, c_w_id int NOT NULL, c_d_id smallint NOT NULL,
    c_payment_cnt smallint NOT NULL, c_delivery_cnt smallint NOT NULL, c_first varchar(16) NOT NULL,
    c_middle char(2) NOT NULL, c_last varchar(16) NOT NULL, c_street_1 varchar(20) NOT NULL,
    c_street_2 varchar(20) NOT NULL, c_city varchar(20) NOT NULL, c_state char(2) NOT NULL,
    c_zip char(9) NOT NULL, c_phone char(16) NOT NULL, c_credit char(2) NOT NULL,
    c_credit_lim decimal(12, 2) NOT NULL, c_discount decimal(4, 4) NOT NULL,
    c_balance decimal(12, 2) NOT NULL, c_ytd_payment decimal(12, 2) NOT NULL,
    c_data varchar(500) NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;

CREATE TABLE history (
    h_date datetime(6) NOT NULL, h_c_id int, h_c_w_id int NOT NULL, h_w_id int NOT NULL,
    h_c_d_id smallint NOT NULL, h_d_id smallint NOT NULL, h_amount decimal(6, 2) NOT NULL,
    h_data varchar(24) NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;

CREATE TABLE item (
    i_id int NOT NULL, i_im_id int NOT NULL, i_name varchar(24) NOT NULL,
    i_price decimal(5, 2) NOT NULL, i_data varchar(50) NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;

CREATE TABLE stock (
    s_i_id int NOT NULL, s_w_id int NOT NULL, s_ytd int NOT NULL, s_quantity smallint NOT NULL,
    s_order_cnt smallint NOT NULL, s_remote_cnt smallint NOT NULL, s_dist_01 char(24) NOT NULL,
    s_dist_02 char(24) NOT NULL, s_dist_03 char(24) NOT NULL, s_dist_04 char(24) NOT NULL,
    s_dist_05 char(24) NOT NULL, s_dist_06 char(24) NOT NULL, s_dist_07 char(24) NOT NULL,
    s_dist_08 char(24) NOT NULL, s_dist_09 char(24) NOT NULL, s_dist_10 char(24) NOT NULL,
    s_data varchar(50) NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;

CREATE TABLE orders (
    o_entry_d datetime(6) NOT NULL, o_id int NOT NULL, o_w_id int NOT NULL, o_c_id int NOT NULL,
    o_d_id smallint NOT NULL, o_carrier_id smallint, o_ol_cnt smallint NOT NULL,
    o_all_local smallint NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;

CREATE TABLE new_order (
    no_w_id int NOT NULL, no_o_id int NOT NULL, no_d_id smallint NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;

-- HASH of MySQL is the remainder: warehouses go to the partitions in turn.
\if :partitions > 1
CREATE TABLE order_line (
    ol_delivery_d datetime(6), ol_o_id int NOT NULL, ol_w_id int NOT NULL, ol_i_id int NOT NULL,
    ol_supply_w_id int NOT NULL, ol_d_id smallint NOT NULL, ol_number smallint NOT NULL,
    ol_quantity smallint NOT NULL, ol_amount decimal(6, 2), ol_dist_info char(24))
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin
    PARTITION BY HASH (ol_w_id) PARTITIONS :partitions;
\else
CREATE TABLE order_line (
    ol_delivery_d datetime(6), ol_o_id int NOT NULL, ol_w_id int NOT NULL, ol_i_id int NOT NULL,
    ol_supply_w_id int NOT NULL, ol_d_id smallint NOT NULL, ol_number smallint NOT NULL,
    ol_quantity smallint NOT NULL, ol_amount decimal(6, 2), ol_dist_info char(24))
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
\endif
