-- The eight tables, with the columns of TPC-H: keys as bigint and days as date, in the order of the
-- specification; or with HammerDB's order and types: all numbers numeric, days timestamp. Columns
-- that stand first are the cheap ones to read. Never compare results of the two.

\if :schema_hammerdb
CREATE TABLE lineitem (
    l_shipdate timestamp, l_orderkey numeric NOT NULL, l_discount numeric NOT NULL,
    l_extendedprice numeric NOT NULL, l_suppkey numeric NOT NULL, l_quantity numeric NOT NULL,
    l_returnflag char(1), l_partkey numeric NOT NULL, l_linestatus char(1), l_tax numeric NOT NULL,
    l_commitdate timestamp, l_receiptdate timestamp, l_shipmode char(10),
    l_linenumber numeric NOT NULL, l_shipinstruct char(25), l_comment varchar(44));
CREATE TABLE orders (
    o_orderdate timestamp, o_orderkey numeric NOT NULL, o_custkey numeric NOT NULL,
    o_orderpriority char(15), o_shippriority numeric, o_clerk char(15), o_orderstatus char(1),
    o_totalprice numeric, o_comment varchar(79));
CREATE TABLE partsupp (
    ps_partkey numeric NOT NULL, ps_suppkey numeric NOT NULL, ps_supplycost numeric NOT NULL,
    ps_availqty numeric, ps_comment varchar(199));
CREATE TABLE part (
    p_partkey numeric NOT NULL, p_type varchar(25), p_size numeric, p_brand char(10),
    p_name varchar(55), p_container char(10), p_mfgr char(25), p_retailprice numeric,
    p_comment varchar(23));
CREATE TABLE customer (
    c_custkey numeric NOT NULL, c_mktsegment char(10), c_nationkey numeric, c_name varchar(25),
    c_address varchar(40), c_phone char(15), c_acctbal numeric, c_comment varchar(118));
CREATE TABLE supplier (
    s_suppkey numeric NOT NULL, s_nationkey numeric, s_comment varchar(102), s_name char(25),
    s_address varchar(40), s_phone char(15), s_acctbal numeric);
CREATE TABLE nation (
    n_nationkey numeric NOT NULL, n_name char(25), n_regionkey numeric, n_comment varchar(152));
CREATE TABLE region (r_regionkey numeric NOT NULL, r_name char(25), r_comment varchar(152));
\else
CREATE TABLE lineitem (
    l_orderkey bigint NOT NULL, l_partkey bigint NOT NULL, l_suppkey bigint NOT NULL,
    l_linenumber int NOT NULL, l_quantity numeric(15, 2) NOT NULL,
    l_extendedprice numeric(15, 2) NOT NULL, l_discount numeric(15, 2) NOT NULL,
    l_tax numeric(15, 2) NOT NULL, l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL,
    l_shipdate date NOT NULL, l_commitdate date NOT NULL, l_receiptdate date NOT NULL,
    l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL, l_comment varchar(44) NOT NULL);
CREATE TABLE orders (
    o_orderkey bigint NOT NULL, o_custkey bigint NOT NULL, o_orderstatus char(1) NOT NULL,
    o_totalprice numeric(15, 2) NOT NULL, o_orderdate date NOT NULL,
    o_orderpriority char(15) NOT NULL, o_clerk char(15) NOT NULL, o_shippriority int NOT NULL,
    o_comment varchar(79) NOT NULL);
CREATE TABLE partsupp (
    ps_partkey bigint NOT NULL, ps_suppkey bigint NOT NULL, ps_availqty int NOT NULL,
    ps_supplycost numeric(15, 2) NOT NULL, ps_comment varchar(199) NOT NULL);
CREATE TABLE part (
    p_partkey bigint NOT NULL, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL,
    p_brand char(10) NOT NULL, p_type varchar(25) NOT NULL, p_size int NOT NULL,
    p_container char(10) NOT NULL, p_retailprice numeric(15, 2) NOT NULL,
    p_comment varchar(23) NOT NULL);
CREATE TABLE customer (
    c_custkey bigint NOT NULL, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL,
    c_nationkey bigint NOT NULL, c_phone char(15) NOT NULL, c_acctbal numeric(15, 2) NOT NULL,
    c_mktsegment char(10) NOT NULL, c_comment varchar(117) NOT NULL);
CREATE TABLE supplier (
    s_suppkey bigint NOT NULL, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL,
    s_nationkey bigint NOT NULL, s_phone char(15) NOT NULL, s_acctbal numeric(15, 2) NOT NULL,
    s_comment varchar(101) NOT NULL);
CREATE TABLE nation (
    n_nationkey bigint NOT NULL, n_name char(25) NOT NULL, n_regionkey bigint NOT NULL,
    n_comment varchar(152) NOT NULL);
CREATE TABLE region (
    r_regionkey bigint NOT NULL, r_name char(25) NOT NULL, r_comment varchar(152) NOT NULL);
\endif
