-- The eight tables for MySQL and MariaDB, with the columns of schema.sql: those of TPC-H, or with
-- HammerDB's order and types on PostgreSQL, where all numbers are numeric and days timestamps: here
-- decimals that hold them. Never compare results of the two. Texts are the generator's: ASCII,
-- compared by their bytes, as in PostgreSQL.

\if :schema_hammerdb
CREATE TABLE lineitem (
    l_shipdate datetime(6), l_orderkey decimal(12, 0) NOT NULL, l_discount decimal(15, 2) NOT NULL,
    l_extendedprice decimal(15, 2) NOT NULL, l_suppkey decimal(12, 0) NOT NULL,
    l_quantity decimal(15, 2) NOT NULL, l_returnflag char(1), l_partkey decimal(12, 0) NOT NULL,
    l_linestatus char(1), l_tax decimal(15, 2) NOT NULL, l_commitdate datetime(6),
    l_receiptdate datetime(6), l_shipmode char(10), l_linenumber decimal(12, 0) NOT NULL,
    l_shipinstruct char(25), l_comment varchar(44))
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
CREATE TABLE orders (
    o_orderdate datetime(6), o_orderkey decimal(12, 0) NOT NULL, o_custkey decimal(12, 0) NOT NULL,
    o_orderpriority char(15), o_shippriority decimal(12, 0), o_clerk char(15),
    o_orderstatus char(1), o_totalprice decimal(15, 2), o_comment varchar(79))
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
CREATE TABLE partsupp (
    ps_partkey decimal(12, 0) NOT NULL, ps_suppkey decimal(12, 0) NOT NULL,
    ps_supplycost decimal(15, 2) NOT NULL, ps_availqty decimal(12, 0), ps_comment varchar(199))
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
CREATE TABLE part (
    p_partkey decimal(12, 0) NOT NULL, p_type varchar(25), p_size decimal(12, 0), p_brand char(10),
    p_name varchar(55), p_container char(10), p_mfgr char(25), p_retailprice decimal(15, 2),
    p_comment varchar(23))
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
CREATE TABLE customer (
    c_custkey decimal(12, 0) NOT NULL, c_mktsegment char(10), c_nationkey decimal(12, 0),
    c_name varchar(25), c_address varchar(40), c_phone char(15), c_acctbal decimal(15, 2),
    c_comment varchar(118))
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
CREATE TABLE supplier (
    s_suppkey decimal(12, 0) NOT NULL, s_nationkey decimal(12, 0), s_comment varchar(102),
    s_name char(25), s_address varchar(40), s_phone char(15), s_acctbal decimal(15, 2))
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
CREATE TABLE nation (
    n_nationkey decimal(12, 0) NOT NULL, n_name char(25), n_regionkey decimal(12, 0),
    n_comment varchar(152))
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
CREATE TABLE region (
    r_regionkey decimal(12, 0) NOT NULL, r_name char(25), r_comment varchar(152))
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
\else
CREATE TABLE lineitem (
    l_orderkey bigint NOT NULL, l_partkey bigint NOT NULL, l_suppkey bigint NOT NULL,
    l_linenumber int NOT NULL, l_quantity decimal(15, 2) NOT NULL,
    l_extendedprice decimal(15, 2) NOT NULL, l_discount decimal(15, 2) NOT NULL,
    l_tax decimal(15, 2) NOT NULL, l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL,
    l_shipdate date NOT NULL, l_commitdate date NOT NULL, l_receiptdate date NOT NULL,
    l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL, l_comment varchar(44) NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
CREATE TABLE orders (
    o_orderkey bigint NOT NULL, o_custkey bigint NOT NULL, o_orderstatus char(1) NOT NULL,
    o_totalprice decimal(15, 2) NOT NULL, o_orderdate date NOT NULL,
    o_orderpriority char(15) NOT NULL, o_clerk char(15) NOT NULL, o_shippriority int NOT NULL,
    o_comment varchar(79) NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
CREATE TABLE partsupp (
    ps_partkey bigint NOT NULL, ps_suppkey bigint NOT NULL, ps_availqty int NOT NULL,
    ps_supplycost decimal(15, 2) NOT NULL, ps_comment varchar(199) NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
CREATE TABLE part (
    p_partkey bigint NOT NULL, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL,
    p_brand char(10) NOT NULL, p_type varchar(25) NOT NULL, p_size int NOT NULL,
    p_container char(10) NOT NULL, p_retailprice decimal(15, 2) NOT NULL,
    p_comment varchar(23) NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
CREATE TABLE customer (
    c_custkey bigint NOT NULL, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL,
    c_nationkey bigint NOT NULL, c_phone char(15) NOT NULL, c_acctbal decimal(15, 2) NOT NULL,
    c_mktsegment char(10) NOT NULL, c_comment varchar(117) NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
CREATE TABLE supplier (
    s_suppkey bigint NOT NULL, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL,
    s_nationkey bigint NOT NULL, s_phone char(15) NOT NULL, s_acctbal decimal(15, 2) NOT NULL,
    s_comment varchar(101) NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
CREATE TABLE nation (
    n_nationkey bigint NOT NULL, n_name char(25) NOT NULL, n_regionkey bigint NOT NULL,
    n_comment varchar(152) NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
CREATE TABLE region (
    r_regionkey bigint NOT NULL, r_name char(25) NOT NULL, r_comment varchar(152) NOT NULL)
    ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;
\endif
